import { assert, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { OpenCl } from "../../src/opencl.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import { DeviceContext } from "../../src/services/device/DeviceContext.ts"
import * as Lease from "../../src/services/lease/Lease.ts"
import { allocate, onDevice, read, reasonOf } from "../support/openClDevice.ts"
import { describeWith } from "../support/required.ts"

describeWith(["opencl"], "OpenCL raw handles", () => {
  it.effect("gives the cl_mem of leases and buffers that are alive and its own", () =>
    onDevice((watched) =>
      Effect.gen(function*() {
        const cl = yield* OpenCl.OpenCl
        const lease = yield* BufferPool.allocate(100)
        assert.strictEqual(typeof (yield* OpenCl.handle(lease)), "bigint")
        yield* Lease.release(lease)
        strictEqual(yield* reasonOf(cl.handleUnsafe(lease)), "Released")
        strictEqual(yield* reasonOf(OpenCl.handle(yield* BufferPool.allocate(0))), "InvalidRequest")
        const other = yield* Layer.build(OpenCl.layerFrom(watched.api))
        const foreign = yield* Effect.provide(DeviceContext.use((d) => d.createBuffer(64, 13)), other)
        strictEqual(yield* reasonOf(OpenCl.handle(foreign)), "ForeignDevice")
      }).pipe(Effect.scoped, Effect.provide(BufferPool.layer()))
    ))

  it.effect("counts a command of one's own as recorded work", () =>
    onDevice((watched) =>
      Effect.gen(function*() {
        const { api, enqueueUnsafe } = yield* OpenCl.OpenCl
        const x = yield* allocate(4)
        const memory = yield* OpenCl.handle(x)
        const data = Uint8Array.of(1, 2, 3, 4).buffer
        yield* enqueueUnsafe({
          label: "mine",
          call: "clEnqueueWriteBuffer",
          memory: data,
          enqueue: (queue, event) => api.clEnqueueWriteBuffer(queue, memory, 0, 0, 4, data, 0, null, event)
        })
        deepStrictEqual(yield* read(x), [1, 2, 3, 4])
        const error = yield* Effect.flip(enqueueUnsafe({ label: "bad", call: "clEnqueueMine", enqueue: () => -30 }))
        assert.include(error.message, "clEnqueueMine failed (CL_INVALID_VALUE -30)")
        assert.include(error.message, "bad")
        strictEqual(watched.count("clEnqueueWriteBuffer"), 1)
      })
    ))
})

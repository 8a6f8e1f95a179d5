/** `Reconnecting.layer` over each backend: a job continues with its kernels on a newly opened device. */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import type { DriverObjects } from "../../src/domain/device/DriverObjects.ts"
import type { GpuError } from "../../src/domain/GpuError.ts"
import * as Kernel from "../../src/domain/kernel/Kernel.ts"
import { VectorArg } from "../../src/domain/kernel/KernelArgument.ts"
import { Host } from "../../src/host.ts"
import { OpenCl } from "../../src/opencl.ts"
import * as Reconnecting from "../../src/services/backend/reconnecting/Reconnecting.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import { DeviceContext } from "../../src/services/device/DeviceContext.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import { WebGpu } from "../../src/webgpu.ts"
import { describeWith } from "../support/required.ts"

const double = Kernel.make({
  name: "double",
  args: [VectorArg("f32", "x")],
  body: {
    wgsl: "x[i] = 2.0 * x[i];",
    opencl: "x[i] = 2.0f * x[i];",
    host: (from, to, { x }) => {
      for (let i = from; i < to; i++) x[i] = 2 * x[i]!
    }
  }
})

const goesOn = (layer: Layer.Layer<Reconnecting.Reconnecting, GpuError>) =>
  Effect.gen(function*() {
    const devices: Array<DriverObjects> = []
    const job = Effect.gen(function*() {
      const { driverObjects, status } = yield* DeviceContext
      devices.push(driverObjects)
      const x = yield* BufferPool.allocate(16)
      yield* CommandQueue.write(x, Float32Array.of(1, 2, 3, 4))
      yield* CommandQueue.dispatch(double, { x }, 4)
      if (devices.length < 3) status.lose("unplugged")
      return Array.from(yield* CommandQueue.read(x, Float32Array))
    }).pipe(Effect.scoped)
    yield* Effect.gen(function*() {
      const again = Effect.retry(Reconnecting.provide(job), { while: Reconnecting.isDeviceLost, times: 5 })
      deepStrictEqual(yield* again, [2, 4, 6, 8])
      strictEqual(yield* Reconnecting.generation, 3)
      assert.isAbove(devices[2]!.live, 0)
    }).pipe(Effect.provide(layer))
    deepStrictEqual(devices.map(({ liveByKind }) => liveByKind), [{}, {}, {}])
  })

const pool: BufferPool.BufferPoolOptions = { maxBytes: 4096 }

describe("a job goes on", () => {
  it.live("on the host", () => goesOn(Reconnecting.layer(Host.layer(), { pool })))
})

describeWith(["webgpu"], "a job goes on", () => {
  it.live("on WebGPU", () => goesOn(Reconnecting.layer(WebGpu.layer({ label: "again" }), { pool })))
})

describeWith(["opencl"], "a job goes on", () => {
  it.live("on OpenCL", () => goesOn(Reconnecting.layer(OpenCl.layer({ device: 0 }), { pool })))
})

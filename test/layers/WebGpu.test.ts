import { assert, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Kernel from "../../src/domain/kernel/Kernel.ts"
import { ScalarArg, VectorArg } from "../../src/domain/kernel/KernelArgument.ts"
import * as SizePolicy from "../../src/domain/pool/SizePolicy.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import type * as PooledBuffer from "../../src/services/buffers/PooledBuffer.ts"
import { DeviceContext } from "../../src/services/device/DeviceContext.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import { WebGpu } from "../../src/webgpu.ts"
import { describeWith } from "../support/required.ts"

type Services = WebGpu.Services | BufferPool.BufferPool | Scope.Scope

const pooled = BufferPool.layer({ sizePolicy: SizePolicy.sizeClasses(0) }).pipe(Layer.provideMerge(WebGpu.layer()))

/** Each test opens a device of its own, and proves that closing it leaves nothing behind. */
const onGpu = <A, E>(test: Effect.Effect<A, E, Services>) =>
  Effect.gen(function*() {
    const used = Effect.flatMap(DeviceContext, (device) => Effect.as(Effect.scoped(test), device))
    const { driverObjects } = yield* Effect.provide(used, pooled)
    deepStrictEqual(driverObjects.liveByKind, {})
    assert.isAbove(driverObjects.created, 0)
  })

const upload = Effect.fnUntraced(function*(data: Float32Array | Uint32Array | Int32Array | Uint8Array, label?: string) {
  const buffer = yield* BufferPool.allocate(data.byteLength, { label })
  yield* CommandQueue.write(buffer, data)
  return buffer
})

const addScalar = Kernel.make({
  name: "add",
  args: [VectorArg("u32", "x"), ScalarArg("u32", "a")],
  body: { wgsl: "x[i] = x[i] + a;" }
})

describeWith(["webgpu"], "WebGpu on a device", () => {
  it.live("passes every kind of argument, and an argument that the body does not use", () =>
    onGpu(Effect.gen(function*() {
      const kernel = Kernel.make({
        name: "all",
        args: [
          VectorArg("f32", "x", { access: "read", withOffset: true }),
          VectorArg("f32", "same", { access: "read" }),
          ScalarArg("i32", "b"),
          VectorArg("u32", "unused", { access: "read" }),
          VectorArg("f32", "y", { access: "write" }),
          ScalarArg("f32", "a"),
          ScalarArg("u32", "c")
        ],
        preamble: { wgsl: "fn twice(v: f32) -> f32 { return v + v; }" },
        body: {
          wgsl: `y[i] = twice(x[x_offset + i] + same[0]) + a + f32(b) + f32(c);
if (i == 0u) { y[3] = f32(x_length); y[4] = f32(count); y[5] = f32(x_offset); y[6] = f32(arrayLength(&y)); }`
        }
      })
      const x = yield* upload(Float32Array.of(1, 2, 3, 4, 5))
      const unused = yield* BufferPool.allocate(5)
      const y = yield* upload(new Float32Array(7))
      yield* CommandQueue.dispatch(
        kernel,
        { x: { buffer: x, offset: 2 }, same: x, b: -3, unused, y, a: 0.5, c: 4_000_000_000 },
        1
      )
      const base = Math.fround(Math.fround(8.5 - 3) + 4_000_000_000)
      deepStrictEqual(Array.from(yield* CommandQueue.read(y, Float32Array)), [base, 0, 0, 5, 1, 2, 7])
    })))

  it.live("splits more than 65,535 workgroups over two dimensions and runs each item once", () =>
    onGpu(Effect.gen(function*() {
      const count = 200_001
      const kernel = Kernel.make({
        name: "each",
        args: [VectorArg("u32", "x")],
        body: { wgsl: "x[i] = x[i] + 1u;" },
        workgroupSize: 1
      })
      const x = yield* upload(new Uint32Array(count + 10))
      yield* CommandQueue.dispatch(kernel, { x }, count)
      const result = yield* CommandQueue.read(x, Uint32Array)
      assert.isTrue(result.subarray(0, count).every((value) => value === 1))
      assert.isTrue(result.subarray(count).every((value) => value === 0))
    })))

  it.live("refuses more items than the grid can hold, names the most, and keeps the block", () =>
    onGpu(Effect.gen(function*() {
      const { device } = yield* WebGpu.WebGpu
      const kernel = Kernel.make({
        name: "one",
        args: [VectorArg("u32", "x")],
        body: { wgsl: "x[0] = 1u;" },
        workgroupSize: 1
      })
      const largest = device.limits.maxComputeWorkgroupsPerDimension
      const refused = BufferPool.use(64, (x) => CommandQueue.dispatch(kernel, { x }, 0xffffffff))
      const { reason } = yield* Effect.flip(refused)
      assert(reason._tag === "LimitExceeded")
      deepStrictEqual(
        [reason.operation, reason.limitName, reason.requested, reason.limit],
        ["CommandQueue.dispatch", "maxDispatchItems", 0xffffffff, largest ** 2]
      )
      strictEqual((yield* BufferPool.stats).heldBlocks, 1)
    })))

  it.live("keeps the scalars of every dispatch apart, also when the ring grows and is written again", () =>
    onGpu(Effect.gen(function*() {
      const names = Array.from({ length: 100 }, (_, index) => `s${index}`)
      const kernel: Kernel.Kernel = Kernel.make({
        name: "wide",
        args: [VectorArg("u32", "x"), ...names.map((name) => ScalarArg("u32", name))],
        body: { wgsl: "x[s0] = s0 * 1000u + s99;" }
      })
      const x = yield* upload(new Uint32Array(300))
      const scalars = Object.fromEntries(names.map((name) => [name, 0]))
      for (let index = 0; index < 300; index++) {
        yield* CommandQueue.dispatch(kernel, { ...scalars, x, s0: index, s99: index + 1 }, 1)
        if (index % 100 === 50) yield* CommandQueue.flush
      }
      const expected = Array.from({ length: 300 }, (_, index) => index * 1001 + 1)
      deepStrictEqual(Array.from(yield* CommandQueue.read(x, Uint32Array)), expected)
    })))

  it.live("runs dispatches, copies, fills and writes in queue order", () =>
    onGpu(Effect.gen(function*() {
      const x = yield* upload(Uint32Array.of(1, 2))
      const y = yield* BufferPool.allocate(8)
      const z = yield* BufferPool.allocate(8)
      yield* CommandQueue.dispatch(addScalar, { x, a: 10 }, 2)
      yield* CommandQueue.copy(x, y)
      yield* CommandQueue.write(x, Uint32Array.of(5, 6))
      yield* CommandQueue.dispatch(addScalar, { x, a: 1 }, 1)
      yield* CommandQueue.copy(x, z)
      yield* CommandQueue.fill(x, 0)
      yield* CommandQueue.dispatch(addScalar, { x, a: 3 }, 2)
      yield* CommandQueue.dispatch(addScalar, { x, a: 4 }, 1)
      const all = yield* Effect.forEach([x, y, z], (buffer) => CommandQueue.read(buffer, Uint32Array))
      deepStrictEqual(all.map((values) => Array.from(values)), [[7, 3], [11, 12], [6, 6]])
    })))

  it.live("gives a released block to a new owner after the work recorded on it", () =>
    onGpu(Effect.gen(function*() {
      const kept = yield* BufferPool.allocate(16)
      const first = yield* Effect.scoped(Effect.gen(function*() {
        const x = yield* upload(Uint32Array.of(1, 1, 1, 1))
        yield* CommandQueue.dispatch(addScalar, { x, a: 110 }, 4)
        yield* CommandQueue.copy(x, kept)
        return yield* WebGpu.handle(x)
      }))
      const next = yield* upload(Uint32Array.of(222, 222, 222, 222))
      strictEqual(yield* WebGpu.handle(next), first)
      deepStrictEqual(Array.from(yield* CommandQueue.read(kept, Uint32Array)), [111, 111, 111, 111])
    })))

  it.live("fills with any pattern, in order, at any size, without touching the neighbourhood", () =>
    onGpu(Effect.gen(function*() {
      const big = 5 * 1024 * 1024 + 12
      const x = yield* BufferPool.allocate(big)
      const y = yield* BufferPool.allocate(15)
      yield* CommandQueue.fill(x, 0xffffffff)
      yield* CommandQueue.fill(y, Uint8Array.of(4))
      yield* CommandQueue.fill(x, 0x0a0b0c0d, { offset: 8, size: big - 16 })
      yield* CommandQueue.fill(y, 0, { offset: 4, size: 4 })
      const words = yield* CommandQueue.read(x, Uint32Array)
      deepStrictEqual(Array.from(words.subarray(0, 2)), [0xffffffff, 0xffffffff])
      assert.isTrue(words.subarray(2, -2).every((word) => word === 0x0a0b0c0d))
      deepStrictEqual(Array.from(words.subarray(-2)), [0xffffffff, 0xffffffff])
      deepStrictEqual(Array.from(yield* CommandQueue.read(y, Uint8Array)), [
        4,
        4,
        4,
        4,
        0,
        0,
        0,
        0,
        4,
        4,
        4,
        4,
        4,
        4,
        4
      ])
    })))

  it.live("writes and reads lengths that are no multiple of 4", () =>
    onGpu(Effect.gen(function*() {
      const data = Uint8Array.from({ length: 4099 }, (_, index) => index * 7)
      const x = yield* upload(data)
      yield* CommandQueue.write(x, Uint8Array.of(1, 2, 3), { offset: 4096 })
      data.set([1, 2, 3], 4096)
      deepStrictEqual(yield* CommandQueue.read(x, Uint8Array), data)
      deepStrictEqual(yield* CommandQueue.read(x, Uint8Array, { offset: 4092 }), data.slice(4092))
    })))

  it.live("binds the requested size of a larger block, so that arrayLength answers for the lease", () =>
    onGpu(Effect.gen(function*() {
      const out = yield* BufferPool.allocate(4)
      const lengthOf = Kernel.make({
        name: "lengthOf",
        args: [VectorArg("f32", "x", { access: "read" }), VectorArg("u32", "out")],
        body: { wgsl: "out[0] = arrayLength(&x);" }
      })
      const length = Effect.fnUntraced(function*(x: PooledBuffer.PooledBuffer) {
        yield* CommandQueue.dispatch(lengthOf, { x, out }, 1)
        return (yield* CommandQueue.read(out, Uint32Array))[0]
      })
      const first = yield* Effect.scoped(Effect.gen(function*() {
        const x = yield* BufferPool.allocate(150 * 4)
        strictEqual(yield* length(x), 150)
        return yield* WebGpu.handle(x)
      }))
      const x = yield* BufferPool.allocate(250 * 4)
      strictEqual(yield* WebGpu.handle(x), first)
      strictEqual(yield* length(x), 250)
      const { buffer, offset, size } = yield* WebGpu.binding(x)
      strictEqual(buffer, yield* WebGpu.handle(x))
      deepStrictEqual([offset, size], [0, 1000])
      strictEqual(x.capacity, 1024)
    })))

  it.live("orders a program's own submits after flush", () =>
    onGpu(Effect.gen(function*() {
      const { device, queue } = yield* WebGpu.WebGpu
      const x = yield* upload(Uint32Array.of(1, 2))
      yield* CommandQueue.dispatch(addScalar, { x, a: 10 }, 2)
      const buffer = yield* WebGpu.handle(x)
      yield* CommandQueue.flush
      const encoder = device.createCommandEncoder()
      encoder.clearBuffer(buffer, 4, 4)
      queue.submit([encoder.finish()])
      yield* CommandQueue.dispatch(addScalar, { x, a: 100 }, 2)
      deepStrictEqual(Array.from(yield* CommandQueue.read(x, Uint32Array)), [111, 100])
    })))

  it.live("says why released, zero-byte and foreign leases have no handle", () =>
    onGpu(Effect.gen(function*() {
      const x = yield* Effect.scoped(BufferPool.allocate(16))
      strictEqual((yield* Effect.flip(WebGpu.handle(x))).reason._tag, "Released")
      const empty = yield* BufferPool.allocate(0)
      strictEqual((yield* Effect.flip(WebGpu.binding(empty))).reason._tag, "InvalidRequest")
      const { message } = yield* Effect.flip(WebGpu.handle(empty))
      strictEqual(
        message,
        "WebGpu.handle: a buffer of no bytes has no memory. Leave it out, or allocate at least one byte."
      )
      const mine = yield* BufferPool.allocate(16)
      const foreign = Effect.provide(Effect.flip(WebGpu.handle(mine)), WebGpu.layer({ flags: ["backend=null"] }))
      strictEqual((yield* foreign).reason._tag, "ForeignDevice")
    })))
})

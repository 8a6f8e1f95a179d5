/**
 * The calls of copies: several where a copy is larger than one call may be, which a lowered limit shows, and in the short form.
 */
import { it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { create } from "webgpu"
import * as BufferUsage from "../../src/domain/BufferUsage.ts"
import { largestCopy, shortForm } from "../../src/layers/WebGpu/commands/ByteCopies.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import * as MemoryObjects from "../../src/services/queue/MemoryObjects.ts"
import * as StagingPool from "../../src/services/staging/StagingPool.ts"
import { WebGpu } from "../../src/webgpu.ts"
import { describeWith } from "../support/required.ts"

/** Dawn crashes when this object is collected while anything made from it is in use. */
const gpu = create([])

const opened = Effect.acquireRelease(
  Effect.promise(async () => (await gpu.requestAdapter())!.requestDevice()),
  (device) => Effect.sync(() => device.destroy())
)

/** The bytes of each copy between buffers that the device is asked for, and of each buffer that is mapped at its creation. */
const noted = (device: GPUDevice) => {
  const copies: Array<number> = []
  const mapped: Array<number> = []
  const createBuffer = device.createBuffer.bind(device)
  const createCommandEncoder = device.createCommandEncoder.bind(device)
  device.createBuffer = (descriptor) => {
    if (descriptor.mappedAtCreation === true) mapped.push(descriptor.size)
    return createBuffer(descriptor)
  }
  device.createCommandEncoder = (descriptor) => {
    const encoder = createCommandEncoder(descriptor)
    const copy = encoder.copyBufferToBuffer.bind(encoder) as (...args: ReadonlyArray<unknown>) => undefined
    encoder.copyBufferToBuffer = (...args: ReadonlyArray<unknown>) => {
      copies.push(Number(args.at(-1)))
      return copy(...args)
    }
    return encoder
  }
  return { copies, mapped }
}

const lowered = Effect.acquireRelease(
  Effect.sync(() => {
    const { bytes } = largestCopy
    largestCopy.bytes = 64
    return bytes
  }),
  (bytes) => Effect.sync(() => largestCopy.bytes = bytes)
)

/** The numbers of arguments of the copies that the encoders of a device are asked for. Old encoders need all five. */
const formsOf = (device: GPUDevice, isOld: boolean) => {
  const forms: Array<number> = []
  const createCommandEncoder = device.createCommandEncoder.bind(device)
  device.createCommandEncoder = (descriptor) => {
    const encoder = createCommandEncoder(descriptor)
    const copy = encoder.copyBufferToBuffer.bind(encoder) as (...args: ReadonlyArray<unknown>) => undefined
    encoder.copyBufferToBuffer = (...args: ReadonlyArray<unknown>) => {
      forms.push(args.length)
      if (isOld && args.length < 5) throw new TypeError(`5 arguments required, but only ${args.length} present`)
      return copy(...args)
    }
    return encoder
  }
  return forms
}

const numbers = Uint32Array.from({ length: 50 }, (_, at) => at + 1)

describeWith(["webgpu"], "a copy over the largest that one call may make", () => {
  it("is over 1 GiB: Dawn on lavapipe ends the process at 2 GiB", () => {
    strictEqual(largestCopy.bytes, 2 ** 30)
  })

  it.live("is several calls in every command, and has all bytes", () =>
    Effect.gen(function*() {
      yield* lowered
      const device = yield* opened
      const { copies, mapped } = noted(device)
      const pools = Layer.merge(BufferPool.layer(), StagingPool.layer())
      yield* Effect.gen(function*() {
        const [x, y] = [yield* BufferPool.allocate(200), yield* BufferPool.allocate(200)]
        yield* CommandQueue.write(x, numbers)
        yield* CommandQueue.copy(x, y)
        yield* CommandQueue.flush
        deepStrictEqual(copies.splice(0), [64, 64, 64, 8])
        // Through memory of the staging pool, by the same command.
        deepStrictEqual(yield* CommandQueue.read(y, Uint32Array), numbers)
        deepStrictEqual(copies.splice(0), [64, 64, 64, 8])

        yield* CommandQueue.fill(y, 0)
        yield* CommandQueue.copyRect(x, y, { region: [100, 2] })
        yield* CommandQueue.flush
        deepStrictEqual(copies.splice(0), [64, 64, 64, 8])
        const rows = { region: [80, 2], buffer: { rowPitch: 100 } } as const
        const read = yield* CommandQueue.readRect(y, Uint32Array, rows)
        deepStrictEqual(Array.from(read), [...numbers.subarray(0, 20), ...numbers.subarray(25, 45)])
        deepStrictEqual(copies.splice(0), [64, 64, 52])

        strictEqual(mapped.length, 0)
        const made = yield* MemoryObjects.fromHost(numbers, { usage: BufferUsage.copySrc })
        const small = yield* MemoryObjects.fromHost(numbers.subarray(0, 16), { usage: BufferUsage.copySrc })
        deepStrictEqual(mapped, [64])
        deepStrictEqual(yield* CommandQueue.read(made, Uint32Array), numbers)
        deepStrictEqual(yield* CommandQueue.read(small, Uint32Array), numbers.subarray(0, 16))
      }).pipe(Effect.scoped, Effect.provide(pools.pipe(Layer.provideMerge(WebGpu.layerFromDevice(device)))))
    }).pipe(Effect.scoped))

  it.live("is so in a read without a staging pool, from any offset", () =>
    Effect.gen(function*() {
      yield* lowered
      const device = yield* opened
      const { copies } = noted(device)
      yield* Effect.gen(function*() {
        const x = yield* BufferPool.allocate(200)
        yield* CommandQueue.write(x, numbers)
        deepStrictEqual(yield* CommandQueue.read(x, Uint32Array, { offset: 8 }), numbers.subarray(2))
        deepStrictEqual(copies, [64, 64, 64])
      }).pipe(
        Effect.scoped,
        Effect.provide(BufferPool.layer().pipe(Layer.provideMerge(WebGpu.layerFromDevice(device))))
      )
    }).pipe(Effect.scoped))

  it.live("has the short form from start to start, where encoders have it", () =>
    Effect.gen(function*() {
      const copies = Effect.gen(function*() {
        const [x, y] = [yield* BufferPool.allocate(200), yield* BufferPool.allocate(200)]
        yield* CommandQueue.write(x, numbers)
        yield* CommandQueue.copy(x, y, { sourceOffset: 8, size: 192 })
        yield* CommandQueue.copy(x, y)
        yield* CommandQueue.copy(x, y)
        deepStrictEqual(yield* CommandQueue.read(y, Uint32Array), numbers)
      }).pipe(Effect.scoped)
      const copyOn = (device: GPUDevice) =>
        Effect.provide(copies, BufferPool.layer().pipe(Layer.provideMerge(WebGpu.layerFromDevice(device))))
      const [young, old] = [yield* opened, yield* opened]
      yield* Effect.addFinalizer(() => Effect.sync(() => shortForm.isThere = true))
      const youngForms = formsOf(young, false)
      yield* copyOn(young)
      deepStrictEqual(youngForms, [5, 3, 3, 3])
      const oldForms = formsOf(old, true)
      yield* copyOn(old)
      deepStrictEqual(oldForms, [5, 3, 5, 5, 5])
    }).pipe(Effect.scoped))
})

/** Reads on WebGPU: in the submit of the commands before them, through buffers that are kept from read to read. */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as fc from "fast-check"
import * as Kernel from "../../src/domain/kernel/Kernel.ts"
import { ScalarArg, VectorArg } from "../../src/domain/kernel/KernelArgument.ts"
import { DeviceContext } from "../../src/services/device/DeviceContext.ts"
import { QueueDriver } from "../../src/services/device/QueueDriver.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import { WebGpu } from "../../src/webgpu.ts"
import { runs } from "../support/explore.ts"
import { create, held, mebi, onDevice } from "../support/nullDevice.ts"
import { describeWith } from "../support/required.ts"
import type { Watched } from "../support/watchedGpu.ts"

const add = Kernel.make({
  name: "add",
  args: [VectorArg("u32", "x"), ScalarArg("u32", "a")],
  body: { wgsl: "x[i] += a * (i + 1u);" }
})

/** The calls of an effect. */
const callsOf = Effect.fnUntraced(function*<A, E, R>({ calls }: Watched, effect: Effect.Effect<A, E, R>) {
  const before = new Map(calls)
  yield* effect
  const made = [...calls].map(([name, count]) => [name, count - (before.get(name) ?? 0)] as const)
  return Object.fromEntries(made.filter(([, count]) => count > 0))
})

const stagingOf = Effect.map(DeviceContext, ({ driverObjects }) => driverObjects.liveByKind.staging ?? 0)

describe("WebGpu reads", () => {
  for (const dispatches of [1, 2, 3]) {
    it.live(`go with ${dispatches} dispatches in one submit and one set of error scopes`, () =>
      onDevice({}, (watched) =>
        Effect.gen(function*() {
          const x = yield* held(256)
          const step = (a: number) =>
            Effect.gen(function*() {
              for (let index = 0; index < dispatches; index++) yield* CommandQueue.dispatch(add, { x, a }, 64)
              yield* CommandQueue.read(x, Uint32Array)
            })
          yield* step(1)
          const again = {
            "GPUDevice.pushErrorScope": 3,
            "GPUDevice.createCommandEncoder": 1,
            "GPUCommandEncoder.beginComputePass": 1,
            "GPUComputePassEncoder.setPipeline": 1,
            "GPUComputePassEncoder.setBindGroup": dispatches,
            "GPUComputePassEncoder.dispatchWorkgroups": dispatches,
            "GPUComputePassEncoder.end": 1,
            "GPUCommandEncoder.copyBufferToBuffer": 1,
            "GPUCommandEncoder.finish": 1,
            "GPUQueue.submit": 1,
            "GPUDevice.popErrorScope": 3
          }
          deepStrictEqual(yield* callsOf(watched, step(1)), again)
          deepStrictEqual(yield* callsOf(watched, step(2)), { ...again, "GPUQueue.writeBuffer": 1 })
          deepStrictEqual(yield* callsOf(watched, step(2)), again)
        })))
  }

  it.live("keep few buffers: none above 1 MiB, 4 MiB in all, and none that 64 submits did not use", () =>
    onDevice({}, () =>
      Effect.gen(function*() {
        const x = yield* held(2 * mebi)
        const read = (bytes: number) => CommandQueue.read(x, Uint8Array, { length: bytes })
        yield* read(2 * mebi)
        strictEqual(yield* stagingOf, 0)
        yield* Effect.replicateEffect(read(mebi), 10, { concurrency: "unbounded" })
        strictEqual(yield* stagingOf, 4)
        yield* read(1024)
        yield* read(mebi)
        strictEqual(yield* stagingOf, 4)
        for (let submits = 0; submits < 63; submits++) {
          yield* Effect.andThen(CommandQueue.fill(x, 0), CommandQueue.flush)
        }
        strictEqual(yield* stagingOf, 4)
        yield* Effect.andThen(CommandQueue.fill(x, 0), CommandQueue.flush)
        strictEqual(yield* stagingOf, 0)
      })))

  it.live("give their buffers back when memory is reclaimed, and at a loss", () =>
    onDevice({}, () =>
      Effect.gen(function*() {
        const { device } = yield* WebGpu.WebGpu
        const { status } = yield* DeviceContext
        const driver = yield* QueueDriver
        const x = yield* held(256)
        yield* CommandQueue.read(x, Uint8Array)
        strictEqual(yield* stagingOf, 1)
        yield* driver.reclaim
        strictEqual(yield* stagingOf, 0)
        yield* CommandQueue.read(x, Uint8Array)
        device.destroy()
        yield* Effect.callback<void>((resume) => void status.onLost(() => resume(Effect.void)))
        strictEqual(yield* stagingOf, 0)
      })))

  it.live("leave no buffer that is being mapped to another read", () => {
    const maps: Array<GPUMapMode> = []
    let pending = 0
    const bends = {
      "GPUDevice.createBuffer": (proceed: () => unknown) => {
        const buffer = proceed() as GPUBuffer
        const mapAsync = buffer.mapAsync.bind(buffer)
        buffer.mapAsync = async (...args) => {
          strictEqual(buffer.mapState, "unmapped")
          maps.push(args[0] as never)
          pending += 1
          try {
            return await mapAsync(...args)
          } finally {
            pending -= 1
          }
        }
        return buffer
      }
    }
    return onDevice(bends, () =>
      Effect.gen(function*() {
        const x = yield* held(256)
        yield* CommandQueue.read(x, Uint8Array)
        strictEqual(yield* stagingOf, 1)
        const given = yield* Effect.forkChild(CommandQueue.read(x, Uint8Array), { startImmediately: true })
        yield* Fiber.interrupt(given)
        strictEqual(pending, 1)
        strictEqual(yield* stagingOf, 0)
        yield* CommandQueue.read(x, Uint8Array)
        yield* CommandQueue.finish
        deepStrictEqual([maps.length, pending, yield* stagingOf], [3, 0, 1])
      }))
  })

  /** A copy into a destroyed buffer is recorded, after a read has left its buffer to the next one. */
  const failing = Effect.gen(function*() {
    const [a, b] = [yield* held(256, "a"), yield* held(256, "b")]
    yield* CommandQueue.read(a, Uint8Array)
    ;(yield* WebGpu.handle(b)).destroy()
    yield* CommandQueue.copy(a, b, { size: 64 })
    return a
  })

  it.live("fail with the commands of their submit, once, and harm nothing later", () =>
    onDevice({}, () =>
      Effect.gen(function*() {
        const a = yield* failing
        const error = yield* Effect.flip(CommandQueue.read(a, Uint8Array))
        if (error.reason._tag !== "DriverError") throw error
        deepStrictEqual(error.reason.commands, ["copy 64 B a -> b", "read 256 B a"])
        assert.include(error.message, `[Buffer "b"] used in submit while destroyed`)
        strictEqual(yield* stagingOf, 0)
        yield* CommandQueue.finish
        yield* CommandQueue.read(a, Uint8Array)
      })))

  it.live("fail, too, where a finish has reported the commands", () =>
    onDevice({}, () =>
      Effect.gen(function*() {
        const a = yield* failing
        const read = yield* Effect.forkChild(Effect.flip(CommandQueue.read(a, Uint8Array)), { startImmediately: true })
        const finished = yield* Effect.flip(CommandQueue.finish)
        const error = yield* Fiber.join(read)
        for (const { message } of [finished, error]) {
          assert.include(message, `[Buffer "b"] used in submit while destroyed`)
        }
      })))

  it.live("leave the failures of their submit to the next finish where they are given up", () =>
    onDevice({}, () =>
      Effect.gen(function*() {
        const a = yield* failing
        const read = yield* Effect.forkChild(CommandQueue.read(a, Uint8Array), { startImmediately: true })
        yield* Fiber.interrupt(read)
        assert.include((yield* Effect.flip(CommandQueue.finish)).message, "copy 64 B a -> b")
        yield* CommandQueue.read(a, Uint8Array)
      })))

  it.live("spoil no command where the driver has no memory for their buffer", () =>
    onDevice({}, (watched) =>
      Effect.gen(function*() {
        const x = yield* create(200 * mebi)
        const small = yield* held(256)
        yield* held(200 * mebi)
        yield* CommandQueue.fill(small, 7)
        const error = yield* Effect.flip(CommandQueue.read(x, Uint8Array))
        strictEqual(error.reason._tag, "OutOfMemory")
        strictEqual(watched.count("GPUQueue.submit"), 2)
        yield* CommandQueue.finish
        yield* DeviceContext.use((device) => device.destroyBufferUnsafe(x))
      })))
})

describeWith(["webgpu"], "WebGpu reads, on a driver", () => {
  const size = 4096

  /** Words to add to, or to read, by how many fibers, of which some are interrupted. */
  const step = fc.record({
    a: fc.nat({ max: 3 }),
    items: fc.integer({ min: 1, max: size / 4 }),
    reads: fc.array(
      fc.record({
        offset: fc.nat({ max: size / 4 - 1 }),
        length: fc.integer({ min: 1, max: size / 4 }),
        isInterrupted: fc.boolean()
      }),
      { maxLength: 3 }
    )
  })

  it("see exactly the commands before them, whichever buffers they are read through", () =>
    fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), (steps) => {
        const program = Effect.gen(function*() {
          const x = yield* held(size)
          yield* CommandQueue.fill(x, 0)
          const model = new Uint32Array(size / 4)
          const pending: Array<{ readonly fiber: Fiber.Fiber<Uint32Array, unknown>; readonly expected: Uint32Array }> =
            []
          for (const { a, items, reads } of steps) {
            yield* CommandQueue.dispatch(add, { x, a }, items)
            for (let i = 0; i < items; i++) model[i]! += a * (i + 1)
            for (const { isInterrupted, length, offset } of reads) {
              const end = Math.min(model.length, offset + length)
              const read = CommandQueue.read(x, Uint32Array, { offset: 4 * offset, length: end - offset })
              const fiber = yield* Effect.forkChild(read, { startImmediately: true })
              if (isInterrupted) yield* Fiber.interrupt(fiber)
              else pending.push({ fiber, expected: model.slice(offset, end) })
            }
          }
          for (const { expected, fiber } of pending) deepStrictEqual(yield* Fiber.join(fiber), expected)
          yield* CommandQueue.finish
        })
        return Effect.runPromise(Effect.provide(Effect.scoped(program), WebGpu.layer()))
      }),
      { numRuns: runs(100, 10) }
    ), 120_000)
})

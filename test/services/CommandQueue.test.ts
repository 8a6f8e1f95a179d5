import { assert, describe, it } from "@effect/vitest"
import { strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import { constVoid } from "effect/Function"
import * as GpuError from "../../src/domain/GpuError.ts"
import * as Kernel from "../../src/domain/kernel/Kernel.ts"
import { VectorArg } from "../../src/domain/kernel/KernelArgument.ts"
import { Host } from "../../src/host.ts"
import { driverError } from "../../src/layers/Host/HostDevice.ts"
import type { BufferLike } from "../../src/services/buffers/BufferLike.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import * as Mapping from "../../src/services/buffers/mapping/Mapping.ts"
import type { PooledBuffer } from "../../src/services/buffers/PooledBuffer.ts"
import * as SubRegion from "../../src/services/buffers/SubRegion.ts"
import { DeviceContext } from "../../src/services/device/DeviceContext.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import { hasStats, layer, open, tagOf } from "../support/hostPool.ts"
import { withDrivers } from "../support/withDrivers.ts"

/** A pool whose driver refuses every command for one reason. */
const refusing = (error: GpuError.GpuError) => {
  const refuse = () => Exit.fail(error)
  return open({
    over: (host) =>
      withDrivers(host, {
        queue: () => ({ writeUnsafe: refuse, copyUnsafe: refuse, fillUnsafe: refuse, dispatchUnsafe: refuse })
      })
  })
}

const kernel = Kernel.make({ name: "k", args: [VectorArg("u32", "x")], body: { host: () => {} } })

type Call = (lease: PooledBuffer) => Effect.Effect<void, GpuError.GpuError, CommandQueue.CommandQueue>

const commands: Readonly<Record<string, Call>> = {
  write: (lease) => CommandQueue.write(lease, new Uint8Array(64)),
  fill: (lease) => CommandQueue.fill(lease, 0),
  dispatch: (lease) => CommandQueue.dispatch(kernel, { x: lease }, 1)
}

const overLimit = GpuError.make(
  new GpuError.LimitExceeded({ operation: "test", requested: 2, limitName: "maxDispatchItems", limit: 1 })
)

describe("CommandQueue", () => {
  it.effect("knows its device", () =>
    Effect.gen(function*() {
      const { info } = yield* CommandQueue.CommandQueue
      strictEqual(info, (yield* DeviceContext).info)
    }).pipe(Effect.provide(Host.layer())))
})

describe("a block whose command the driver refused", () => {
  const cases = [
    [GpuError.outOfMemory(64), 0],
    [driverError("test", "no such memory", []), 0],
    [overLimit, 1],
    [GpuError.invalidRequest("test", "wrong", "Do otherwise."), 1]
  ] as const

  for (const [error, heldBlocks] of cases) {
    it.effect(`${heldBlocks === 0 ? "goes back to the driver" : "stays in the pool"} after ${error.reason._tag}`, () =>
      Effect.gen(function*() {
        for (const command of Object.values(commands)) {
          const opened = yield* refusing(error)
          yield* Effect.gen(function*() {
            strictEqual(yield* tagOf(BufferPool.use(64, command)), error.reason._tag)
            yield* hasStats({ heldBlocks, driverFrees: 1 - heldBlocks, activeBlocks: 0 })
          }).pipe(Effect.provide(opened.context))
          yield* opened.closePool
          yield* opened.closeHost
        }
      }))
  }

  it.effect("stays in the pool with the other one of a refused copy, or goes with it", () =>
    Effect.gen(function*() {
      for (const [error, heldBlocks] of cases) {
        const opened = yield* refusing(error)
        const copy = BufferPool.use(64, (from) => BufferPool.use(64, (to) => CommandQueue.copy(from, to)))
        yield* Effect.gen(function*() {
          strictEqual(yield* tagOf(copy), error.reason._tag)
          yield* hasStats({ heldBlocks: 2 * heldBlocks, activeBlocks: 0 })
        }).pipe(Effect.provide(opened.context))
        yield* opened.closePool
        yield* opened.closeHost
      }
    }))
})

describe("the message of a command beyond its buffer", () => {
  const calls: ReadonlyArray<
    readonly [
      problem: string,
      call: (x: PooledBuffer, y: PooledBuffer) => Effect.Effect<
        unknown,
        GpuError.GpuError,
        CommandQueue.CommandQueue
      >
    ]
  > = [
    ["offset 68 is outside the buffer of 64 bytes", (x) => CommandQueue.read(x, Float32Array, { offset: 68 })],
    ["offset 68 is outside the buffer of 64 bytes", (x) => CommandQueue.fill(x, 0, { offset: 68 })],
    ["sourceOffset 68 is outside the source of 64 bytes", (x, y) => CommandQueue.copy(x, y, { sourceOffset: 68 })],
    ["targetOffset 68 is outside the target of 64 bytes", (x, y) => CommandQueue.copy(y, x, { targetOffset: 68 })],
    ["offset NaN is no whole number of bytes", (x) => CommandQueue.read(x, Float32Array, { offset: NaN })],
    ["length NaN is no whole number of Float32Array", (x) => CommandQueue.read(x, Float32Array, { length: NaN })],
    ["size NaN is no whole number of bytes", (x) => CommandQueue.fill(x, 0, { size: NaN })],
    ["offset 8 is no multiple of the pattern's 16 bytes", (x) => CommandQueue.fill(x, wide, { offset: 8 })],
    ["the 24 bytes to fill are no multiple of the pattern's 16", (x) => CommandQueue.fill(x, wide, { size: 24 })],
    ["the 64 bytes to fill are no multiple of the pattern's 128", (x) => CommandQueue.fill(x, new Float64Array(16))]
  ]
  const wide = new Float64Array(2)

  it.effect("names only what the call passed", () =>
    Effect.gen(function*() {
      const [x, y] = [yield* BufferPool.allocate(64), yield* BufferPool.allocate(64)]
      for (const [problem, call] of calls) assert.include(yield* messageOf(call(x, y)), `: ${problem}`)
    }).pipe(Effect.scoped, Effect.provide(layer())))
})

describe("a copy within one buffer", () => {
  it.effect("is refused in the same words whether it is of bytes or of rectangles", () =>
    Effect.gen(function*() {
      const x = yield* BufferPool.allocate(64)
      const region = yield* SubRegion.make(x, { offset: 0, size: 32 })
      const other = yield* SubRegion.make(x, { offset: 32, size: 32 })
      const cases = [
        [x, x, "the same buffer"],
        [region, region, "the same buffer"],
        [region, other, "sub-regions of one buffer"],
        [x, region, "sub-regions of one buffer"]
      ] as const
      for (const [source, target, what] of cases) {
        for (const copy of [CommandQueue.copy(source, target, { size: 4 }), copyRow(source, target)]) {
          assert.include((yield* Effect.flip(copy)).message, `: source and target are ${what}. WebGPU forbids a copy`)
        }
      }
    }).pipe(Effect.scoped, Effect.provide(layer())))
})

const copyRow = (source: BufferLike, target: BufferLike) => CommandQueue.copyRect(source, target, { region: [4] })

const messageOf = <A, R>(effect: Effect.Effect<A, GpuError.GpuError, R>) =>
  Effect.map(Effect.flip(effect), ({ message }) => message)

describe("an offset that is no multiple of 4", () => {
  it.effect("is refused with the advice to open the device otherwise, where that helps", () =>
    Effect.gen(function*() {
      const x = yield* BufferPool.allocate(64)
      assert.include(yield* messageOf(CommandQueue.fill(x, 0, { offset: 2 })), "opened with byteGranular: true.")
      assert.include(yield* messageOf(CommandQueue.readRect(x, Uint8Array, { region: [3] })), "byteGranular: true.")
      const withoutAdvice = /offset 2 is no multiple of 4 bytes\. Start at a multiple of 4 bytes\.$/
      assert.match(yield* messageOf(Mapping.map(x, Uint8Array, { offset: 2 })), withoutAdvice)
      assert.match(yield* messageOf(SubRegion.make(x, { offset: 2, size: 4 })), withoutAdvice)
    }).pipe(Effect.scoped, Effect.provide(layer())))
})

describe("a service made of a queue", () => {
  it.effect("keeps the operations that it does not replace", () =>
    Effect.gen(function*() {
      const queue = yield* CommandQueue.CommandQueue
      const replaced = CommandQueue.CommandQueue.of({ ...queue, flush: Effect.void })
      const lease = yield* BufferPool.allocate(4)
      yield* replaced.fill(lease, 7)
      strictEqual((yield* replaced.read(lease, Uint32Array))[0], 7)
    }).pipe(Effect.scoped, Effect.provide(layer())))
})

describe("more reads at one time than a driver can have", () => {
  it.effect("wait for the reads before them, and begin in order", () =>
    Effect.gen(function*() {
      const answers: Array<() => void> = []
      const { context } = yield* open({
        over: (host) =>
          withDrivers(host, {
            queue: ({ readUnsafe }) => ({
              readUnsafe: (source, offset, bytes, answer) => {
                let giveUp: () => void = constVoid
                answers.push(() => void (giveUp = readUnsafe(source, offset, bytes, answer)))
                return () => giveUp()
              }
            })
          })
      })
      yield* Effect.gen(function*() {
        const x = yield* BufferPool.allocate(4)
        const read = (at: number) => Effect.as(CommandQueue.read(x, Uint8Array), at)
        const fibers = yield* Effect.forEach(
          Array.from({ length: 20_000 }, (_, at) => at),
          (at) => Effect.forkChild(read(at), { startImmediately: true })
        )
        strictEqual(answers.length, 16_384)
        yield* Fiber.interruptAll([fibers[16_384]!, fibers[0]!])
        strictEqual(answers.length, 16_385)
        for (let at = 0; at < answers.length; at++) {
          answers[at]!()
          if (at % 64 === 0) yield* Effect.yieldNow
        }
        while (answers.length < 19_999) yield* Effect.yieldNow
        const done = yield* Fiber.joinAll(fibers.filter((_, at) => at !== 0 && at !== 16_384))
        strictEqual(done.length, 19_998)
      }).pipe(Effect.scoped, Effect.provide(context))
    }))

  it.effect("begin one after another where the driver answers within the call", () =>
    Effect.gen(function*() {
      let begun = 0
      let answerFirst = constVoid
      const { context } = yield* open({
        over: (host) =>
          withDrivers(host, {
            queue: () => ({
              readUnsafe: (_source, _offset, bytes, answer) => {
                const done = () => answer(Exit.succeed(new ArrayBuffer(bytes)))
                if (begun++ < 16_384) answerFirst = done
                else done()
                return constVoid
              }
            })
          })
      })
      yield* Effect.gen(function*() {
        const x = yield* BufferPool.allocate(4)
        const fibers = yield* Effect.forEach(
          Array.from({ length: 24_000 }),
          () => Effect.forkChild(CommandQueue.read(x, Uint8Array), { startImmediately: true })
        )
        answerFirst()
        strictEqual(begun, 24_000)
        yield* Fiber.joinAll(fibers.slice(16_383))
        yield* Fiber.interruptAll(fibers)
      }).pipe(Effect.scoped, Effect.provide(context))
    }))
})

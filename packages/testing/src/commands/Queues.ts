/**
 * Several queues of one device: their order, their ends, and memory that one after another uses.
 *
 * @internal
 */
import { BufferPool, CommandQueue, Mapping, QueueEvent } from "effect-gpu-pool"
import { PoolStrategy } from "effect-gpu-pool/allocators"
import { DeviceContext } from "effect-gpu-pool/DeviceContext"
import { type GpuError, isGpuError } from "effect-gpu-pool/GpuError"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import { type ConformanceTest, inGroup, scaled, type TestServices } from "../ConformanceTest.ts"
import * as Expect from "../Expect.ts"
import { forSeeds, seeds } from "../Random.ts"
import { actAt } from "../StoppedFiber.ts"
import * as Kernels from "./Kernels.ts"
import * as ReuseRace from "./ReuseRace.ts"

const test = inGroup("several queues")

/** Runs a program with further queues. A device that has only one queue must say so, and share it. */
const withQueues = <A, E>(
  count: number,
  f: (queues: ReadonlyArray<CommandQueue.Queue>) => Effect.Effect<A, E, TestServices | Scope.Scope>
): Effect.Effect<void, E | GpuError, TestServices> =>
  Effect.scoped(Effect.gen(function*() {
    const first = yield* CommandQueue.make({ label: "further" }).pipe(
      Effect.catchReason("GpuError", "Unsupported", () => Effect.undefined)
    )
    if (first !== undefined) {
      const others = yield* Effect.replicateEffect(CommandQueue.make({ share: true }), count - 1)
      return yield* Effect.asVoid(f([first, ...others]))
    }
    const shared = yield* CommandQueue.make({ share: true })
    Expect.isTrue("the one queue is shared", shared === (yield* CommandQueue.CommandQueue))
  }))

const word = (queue: CommandQueue.Queue, x: Parameters<CommandQueue.Queue["read"]>[0]) =>
  Effect.map(queue.read(x, Uint32Array, { length: 1 }), (words) => words[0])

/** A lease that a queue has used. */
const used = (on: CommandQueue.Queue) =>
  CommandQueue.on(Effect.scoped(Effect.flatMap(BufferPool.allocate(64), (x) => CommandQueue.fill(x, 1))), on)

/** The driver's objects, save the parts of slabs, which a pool keeps. */
const objectsButParts = DeviceContext.useSync(({ driverObjects: { live, liveByKind: { part = 0 } } }) => live - part)

export const tests: ReadonlyArray<ConformanceTest> = [
  test("a further queue runs every kind of command", function*() {
    yield* withQueues(
      1,
      Effect.fnUntraced(function*([queue]) {
        const job = Effect.gen(function*() {
          const x = yield* BufferPool.allocate(16)
          const y = yield* BufferPool.allocate(16)
          yield* CommandQueue.write(x, Uint32Array.of(1, 2, 3, 4))
          yield* CommandQueue.copy(x, y)
          yield* CommandQueue.dispatch(Kernels.iota, { y: x, start: 7 }, 2)
          const mapped = yield* Mapping.map(y, Uint32Array, { access: "readwrite" })
          mapped.data[0] = 9
          yield* Mapping.unmap(mapped)
          const sum = yield* CommandQueue.readView(
            x,
            Uint32Array,
            (view) => Effect.sync(() => view.reduce((a, b) => a + b))
          )
          return [...(yield* CommandQueue.read(x, Uint32Array)), ...(yield* CommandQueue.read(y, Uint32Array)), sum]
        })
        Expect.same("both buffers", yield* CommandQueue.on(Effect.scoped(job), queue!), [7, 8, 3, 4, 9, 2, 3, 4, 22])
      })
    )
  }),
  test("a queue waits for an event of another on the device", function*() {
    const items = yield* scaled(20_000, 100)
    yield* withQueues(
      2,
      Effect.fnUntraced(function*([one, two]) {
        const work = yield* BufferPool.allocate(4 * items)
        const x = yield* BufferPool.allocate(4)
        for (let round = 1; round <= 5; round++) {
          yield* one!.dispatch(Kernels.busy, { y: work }, items)
          yield* one!.fill(x, round)
          yield* CommandQueue.on(CommandQueue.after(Effect.void, [yield* one!.event]), two!)
          Expect.equal("the word of the other queue", yield* word(two!, x), round)
          const seen = yield* two!.event
          yield* CommandQueue.on(CommandQueue.after(one!.fill(x, 0), [seen]), one!)
          yield* QueueEvent.wait(yield* one!.event)
        }
      })
    )
  }),
  test("a new queue begins after everything before", function*() {
    const items = yield* scaled(20_000, 100)
    const work = yield* BufferPool.allocate(4 * items)
    const x = yield* BufferPool.allocate(4)
    yield* CommandQueue.dispatch(Kernels.busy, { y: work }, items)
    yield* CommandQueue.fill(x, 3)
    yield* withQueues(1, ([queue]) => Effect.map(word(queue!, x), (found) => Expect.equal("the first word", found, 3)))
  }),
  test("each owner reads what it wrote, on three queues", { heavy: true }, function*() {
    const operations = yield* scaled(2000, 50)
    const busyItems = yield* scaled(4000, 16)
    yield* withQueues(
      2,
      (further) =>
        Effect.flatMap(
          CommandQueue.CommandQueue,
          (first) =>
            forSeeds(
              seeds(3),
              (random) => ReuseRace.run(random, { operations, busyItems, queues: [first, ...further] })
            )
        )
    )
  }),
  test("a queue that ends has run its commands, and answers Released", function*() {
    const x = yield* BufferPool.allocate(4)
    yield* CommandQueue.finish
    const before = yield* objectsButParts
    yield* withQueues(
      1,
      Effect.fnUntraced(function*() {
        const late = yield* Effect.scoped(Effect.tap(CommandQueue.make({ label: "late" }), (queue) => queue.fill(x, 5)))
        const tries: ReadonlyArray<Effect.Effect<unknown, GpuError>> = [
          late.fill(x, 1),
          late.write(x, new Uint8Array(4)),
          late.read(x, Uint32Array),
          late.finish,
          late.flush,
          late.dispatch(Kernels.iota, { y: x, start: 0 }, 1)
        ]
        for (const tried of tries) {
          const error = yield* Effect.flip(tried)
          Expect.equal("the reason", error.reason._tag, "Released")
          Expect.isTrue("the label is told", error.message.includes(`"late"`))
        }
        Expect.equal("the word that it wrote", yield* Effect.flatMap(CommandQueue.CommandQueue, (q) => word(q, x)), 5)
      })
    )
    Expect.equal("driver objects", yield* objectsButParts, before)
  }),
  test("reads of a queue that ends fail, and the queue is gone", function*() {
    const items = yield* scaled(20_000, 100)
    yield* withQueues(
      1,
      Effect.fnUntraced(function*() {
        const work = yield* BufferPool.allocate(4 * items)
        const reads = yield* Effect.scoped(Effect.gen(function*() {
          const queue = yield* CommandQueue.make()
          yield* queue.dispatch(Kernels.busy, { y: work }, items)
          return yield* Effect.forkDetach(queue.read(work, Uint32Array), { startImmediately: true })
        }))
        const exit = yield* Fiber.await(reads)
        // On a fast device the read may have succeeded.
        if (Exit.isFailure(exit)) {
          const error = yield* Effect.flip(exit)
          Expect.equal("the reason", isGpuError(error) ? error.reason._tag : error, "Released")
        }
      })
    )
  }),
  test("memory is freed while a queue closes, at any step of that", function*() {
    const free = Effect.all([BufferPool.freeHeld, Effect.scoped(BufferPool.allocate(512)), BufferPool.freeHeld])
    yield* withQueues(
      1,
      Effect.fnUntraced(function*() {
        const x = yield* BufferPool.allocate(64)
        let step = 0
        for (let isOver = false; !isOver; step++) {
          yield* Effect.scoped(BufferPool.allocate(256))
          const scope = yield* Scope.make()
          const queue = yield* Scope.provide(CommandQueue.make(), scope)
          yield* queue.fill(x, step)
          isOver = (yield* actAt(Scope.close(scope, Exit.void), step, free)) === undefined
        }
        Expect.isTrue(`${step} steps`, step > 10)
        Expect.equal("what the last queue wrote", (yield* CommandQueue.read(x, Uint32Array))[0], step - 1)
      })
    )
  }),
  test("statistics and held blocks of a queue are its own", { pool: { strategy: PoolStrategy.blocks } }, function*() {
    yield* withQueues(
      1,
      Effect.fnUntraced(function*([queue]) {
        yield* BufferPool.freeHeld
        const first = yield* CommandQueue.CommandQueue
        yield* used(first)
        yield* Effect.scoped(Effect.andThen(BufferPool.allocate(64), used(queue!)))
        const held = Effect.all([BufferPool.statsOf(first), BufferPool.statsOf(queue!)]).pipe(
          Effect.map((all) => all.map(({ heldBlocks }) => heldBlocks))
        )
        Expect.same("held blocks of both", yield* held, [1, 1])
        yield* BufferPool.freeHeldOf(queue!)
        Expect.same("after the second's were freed", yield* held, [1, 0])
        yield* used(queue!)
        Expect.same("the block has changed its queue", yield* held, [0, 1])
        Expect.equal("leases of the second queue", (yield* BufferPool.statsOf(queue!)).leases, 1)
      })
    )
  })
]

/**
 * Scenes of several queues: each owner reads what it wrote, whatever the other queues still have to do, and no queue is
 * left open.
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as Expect from "../../../packages/testing/src/Expect.ts"
import * as Kernel from "../../../src/domain/kernel/Kernel.ts"
import { VectorArg } from "../../../src/domain/kernel/KernelArgument.ts"
import * as BufferPool from "../../../src/services/buffers/BufferPool.ts"
import * as CommandQueue from "../../../src/services/queue/CommandQueue.ts"
import type { Scene, Stage } from "../Stage.ts"

/** Stores 1000 in every element, one in each task of the event loop. */
const slow = Kernel.make({
  name: "slow",
  args: [VectorArg("u32", "y")],
  body: { host: (from, to, { y }) => void y.fill(1000, from, to) }
})

/** An owner that leaves commands running; the next owner must not see their results. */
const owner = (stage: Stage, value: number) =>
  Effect.scoped(Effect.gen(function*() {
    const lease = yield* Effect.flatMap(BufferPool.allocate(16), stage.share)
    yield* CommandQueue.fill(lease, value)
    Expect.numbers("what the owner wrote", yield* CommandQueue.read(lease, Uint32Array), new Uint32Array(4).fill(value))
    yield* CommandQueue.dispatch(slow, { y: lease }, 4)
  }))

/** Room for the scene and for an intruder that keeps a block. */
const roomy = { host: { rangeItems: 1 }, pool: { maxBytes: 64 } } as const

/** Room for one owner at a time. */
const tight = {
  host: { rangeItems: 1 },
  pool: { maxBytes: 16, onExhausted: "wait" },
  without: ["the next owner"]
} as const

const onOwnQueue = (stage: Stage, value: number) =>
  Effect.scoped(Effect.flatMap(CommandQueue.make(), (queue) => CommandQueue.on(owner(stage, value), queue)))

export const queues: ReadonlyArray<Scene> = [
  { ...roomy, name: "a job runs on a queue of its own", run: (stage) => onOwnQueue(stage, 1) },
  {
    ...roomy,
    name: "a block goes from queue to queue",
    run: (stage) =>
      Effect.gen(function*() {
        const queue = yield* CommandQueue.make()
        yield* owner(stage, 1)
        yield* CommandQueue.on(owner(stage, 2), queue)
        yield* owner(stage, 3)
      })
  },
  {
    ...tight,
    name: "two jobs on queues of their own share one block",
    run: (stage) =>
      Effect.all([onOwnQueue(stage, 1), onOwnQueue(stage, 2)], { concurrency: "unbounded", discard: true })
  },
  {
    ...roomy,
    name: "one queue waits for another",
    run: (stage) =>
      Effect.gen(function*() {
        const queue = yield* CommandQueue.make()
        const lease = yield* Effect.flatMap(BufferPool.allocate(16), stage.share)
        yield* CommandQueue.dispatch(slow, { y: lease }, 4)
        const event = yield* CommandQueue.event
        const found = yield* CommandQueue.read(lease, Uint32Array).pipe(
          CommandQueue.after([event]),
          CommandQueue.on(queue)
        )
        Expect.numbers("what the other queue wrote", found, new Uint32Array(4).fill(1000))
      })
  },
  {
    ...roomy,
    name: "a queue closes under its user",
    mayFail: ["Released"],
    run: (stage) =>
      Effect.gen(function*() {
        const scope = yield* Effect.acquireRelease(Scope.make(), Scope.close)
        const queue = yield* Scope.provide(CommandQueue.make(), scope)
        yield* Effect.all([CommandQueue.on(owner(stage, 1), queue), Scope.close(scope, Exit.void)], {
          concurrency: "unbounded"
        })
        yield* owner(stage, 2)
      })
  }
]

/**
 * What the fibers of a soak do with a pool. A fiber that has leases waits for more with a time limit, within a
 * reservation, or for as long as the pool lets it.
 */
import { Effect, Exit, Fiber, Scope } from "effect"
import { BufferPool, type GpuError, Lease, LeaseHolder } from "effect-gpu-pool"
import * as Random from "../Random.ts"
import { type Ground, pause, size } from "./Ground.ts"

type Action = (ground: Ground, next: () => number) => Effect.Effect<void, GpuError.GpuError>

const briefly = (next: () => number) => ({ onExhausted: "wait", waitAtMost: Random.integer(next, 0, 40) } as const)

const allocate: Action = ({ pool }, next) =>
  Effect.scoped(Effect.andThen(pool.allocate(size(next), { label: "allocate" }), pause(next)))

const use: Action = ({ pool }, next) => pool.use(size(next), () => pause(next), { label: "use" })

const wait: Action = ({ pool }, next) => pool.use(size(next), () => pause(next), { onExhausted: "wait", label: "wait" })

const waitAtMost: Action = ({ pool }, next) =>
  Effect.scoped(Effect.andThen(pool.allocate(size(next), { ...briefly(next), label: "waitAtMost" }), pause(next)))

const timeout: Action = ({ pool }, next) =>
  pool.use(size(next), () => pause(next), { onExhausted: "wait", label: "timeout" }).pipe(
    Effect.timeoutOption(Random.integer(next, 0, 20)),
    Effect.asVoid
  )

/** Leases in one scope, some released early. */
const several = Effect.fnUntraced(function*({ pool }: Ground, next: () => number) {
  for (let index = Random.integer(next, 2, 5); index > 0; index--) {
    const lease = yield* pool.allocate(size(next), { ...briefly(next), label: "several" })
    yield* pause(next)
    if (next() < 0.3) yield* Lease.release(lease)
  }
}, Effect.scoped)

/** A lease that outlives the scope that it was acquired in. */
const transfer: Action = ({ pool }, next) =>
  Effect.scoped(Effect.gen(function*() {
    const outer = yield* Effect.scope
    const inner = yield* Scope.make()
    const moved = Effect.gen(function*() {
      const lease = yield* Scope.provide(pool.allocate(size(next), { ...briefly(next), label: "transfer" }), inner)
      yield* pause(next)
      yield* Lease.transfer(lease, outer)
    })
    yield* Effect.onExit(moved, (exit) => Scope.close(inner, exit))
    yield* pause(next)
  }))

const extract: Action = ({ pool }, next) =>
  Effect.scoped(Effect.andThen(
    LeaseHolder.extract(Effect.gen(function*() {
      yield* pool.allocate(size(next), { ...briefly(next), label: "scratch" })
      yield* pause(next)
      return yield* pool.allocate(size(next), { ...briefly(next), label: "result" })
    })),
    pause(next)
  ))

/** Larger ones would make it a test of the driver's copies. */
const mostCheckedBytes = 64 * 1024

/** Checks that what was written stays until the lease ends, and that a pool that clears leases zeros. */
const check = Effect.fnUntraced(function*({ clears, pool, queue, watch }: Ground, next: () => number) {
  const bytes = Random.logUniform(next, 4, mostCheckedBytes)
  const lease = yield* pool.allocate(bytes, { ...briefly(next), label: "check" })
  if (clears && !(yield* queue.read(lease, Uint32Array)).every((word) => word === 0)) {
    watch.problem("check: memory of another owner in a pool that clears")
  }
  const pattern = Random.integer(next, 0, 2 ** 32 - 1)
  yield* queue.fill(lease, pattern)
  yield* pause(next)
  if (!(yield* queue.read(lease, Uint32Array)).every((word) => word === pattern)) {
    watch.problem(`check: a live lease of ${bytes} bytes lost what was written`)
  }
}, Effect.scoped)

/** Leases within a budget; together they are never larger than it. */
const within = Effect.fnUntraced(function*(ground: Ground, next: () => number, budget: number) {
  const pool = yield* BufferPool.BufferPool
  let charged = 0
  for (let index = Random.integer(next, 1, 4); index > 0; index--) {
    const lease = yield* pool.allocate(size(next), { ...briefly(next), label: "budget" })
    charged += lease.capacity
    if (charged > budget) ground.watch.problem(`budget: ${charged} bytes charged to a budget of ${budget}`)
    yield* pause(next)
  }
}, Effect.scoped)

const budget: Action = ({ pool, ...ground }, next) => {
  const bytes = 2 * size(next)
  const scoped = BufferPool.withBudget(within({ pool, ...ground }, next, bytes), bytes, { label: "budget" })
  const some = next() < 0.5 ? scoped : BufferPool.withBudget(scoped, 3 * bytes, { label: "outer" })
  return Effect.provideService(some, BufferPool.BufferPool, pool)
}

/** Two leases, one after the other, by whatever pool it is given. */
const two = (pool: BufferPool.Pool, sizes: readonly [number, number], next: () => number, label: string) =>
  Effect.scoped(Effect.gen(function*() {
    for (const size of sizes) {
      yield* pool.allocate(size, { onExhausted: "wait", label })
      yield* pause(next)
    }
  }))

const reserve: Action = ({ pool }, next) => {
  const sizes = [size(next), size(next)] as const
  return pool.reserve(sizes[0] + sizes[1], (reserved) => two(reserved, sizes, next, "reserve"))
}

const together: Action = ({ pool }, next) =>
  pool.useAll([size(next), size(next), 0], () => pause(next), { onExhausted: "wait", label: "together" })

const hold: Action = ({ pool }, next) => two(pool, [size(next), size(next)], next, "hold")

const exclusively: Action = ({ pool }, next) =>
  pool.exclusively(two(pool, [size(next), size(next)], next, "exclusively"))

const all: Readonly<Record<string, Action>> = {
  allocate,
  use,
  wait,
  waitAtMost,
  timeout,
  several,
  transfer,
  extract,
  check,
  budget,
  reserve,
  together,
  hold,
  exclusively
}

const names = Object.keys(all)

/** Runs an action; one in five is interrupted at a random moment. */
const act = Effect.fnUntraced(function*(ground: Ground, next: () => number) {
  const name = Random.pick(next, names)
  const action = ground.watch.settle(name, all[name]!(ground, next))
  if (next() < 0.8) return yield* action
  const fiber = yield* Effect.forkChild(action)
  yield* pause(next)
  const exit = yield* Effect.andThen(Fiber.interrupt(fiber), Fiber.await(fiber))
  if (Exit.hasInterrupts(exit)) ground.watch.count("interrupted")
})

/** One thing after the other until `until`, on the clock of `performance.now()`. */
export const worker = Effect.fnUntraced(function*(ground: Ground, next: () => number, until: number) {
  while (performance.now() < until) {
    yield* act(ground, next)
    yield* ground.look
    yield* Effect.yieldNow
  }
})

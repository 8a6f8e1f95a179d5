/**
 * Interruption at every step of every operation: no lease and no block is lost, and the queue stays usable.
 *
 * @internal
 */
import { BufferPool, CommandQueue, LeaseHolder, Mapping, QueueEvent } from "effect-gpu-pool"
import type { PooledBuffer } from "effect-gpu-pool/BufferPool"
import type { GpuError } from "effect-gpu-pool/GpuError"
import { KernelCache } from "effect-gpu-pool/KernelCache"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scheduler from "effect/Scheduler"
import * as Kernels from "../commands/Kernels.ts"
import { type ConformanceTest, expectInvariants, inGroup, scaled, type TestServices } from "../ConformanceTest.ts"
import * as Expect from "../Expect.ts"
import { expectUsable } from "../memory/BadRequests.ts"
import { filled } from "./Leases.ts"
import { expectStats } from "./PoolOnDevice.ts"
import { untilAnswered } from "./Waiters.ts"

const test = inGroup("interruption")

/** Yields once, before the step with this number, where the test interrupts the fiber or another fiber acts. */
export class YieldAt extends Scheduler.MixedScheduler {
  #steps: number

  constructor(step: number) {
    super()
    this.#steps = step
  }

  /** Whether the fiber reached that step. */
  get reached(): boolean {
    return this.#steps < 0
  }

  override shouldYield(): boolean {
    return this.#steps-- === 0
  }
}

/** Runs the effect on a fiber, interrupts the fiber at the step, or later where it waits, and returns its exit. */
export const interruptedAt = <A, E, R>(effect: Effect.Effect<A, E, R>, step: number) =>
  Effect.gen(function*() {
    const fiber = yield* effect.pipe(
      Effect.provideService(Scheduler.Scheduler, new YieldAt(step)),
      Effect.forkChild({ startImmediately: true })
    )
    yield* Fiber.interrupt(fiber)
    return yield* Fiber.await(fiber)
  })

/** Interrupts the effect at each of so many steps. It may succeed or be interrupted, and must not fail. */
export const interruptedAtEach = <A, E, R, E2 = never, R2 = never>(
  what: string,
  steps: number,
  make: (step: number) => Effect.Effect<A, E, R>,
  after: (step: number) => Effect.Effect<unknown, E2, R2> = () => Effect.void
) =>
  Effect.gen(function*() {
    for (let step = 0; step < steps; step++) {
      expectNoFailure(`${what}, interrupted at step ${step}`, yield* interruptedAt(make(step), step))
      yield* after(step)
    }
  })

/** An interrupted effect may succeed or be interrupted. It must not fail. */
export const expectNoFailure = (what: string, exit: Exit.Exit<unknown, unknown>): void => {
  if (Exit.isSuccess(exit)) return
  for (const reason of exit.cause.reasons) {
    if (reason._tag !== "Interrupt") Expect.fail(`${what}: ${reason.toString()}`)
  }
}

const stepwise = (
  what: string,
  steps: number,
  make: (x: PooledBuffer, y: PooledBuffer) => Effect.Effect<unknown, GpuError, TestServices>
): Effect.Effect<void, unknown, TestServices> =>
  Effect.gen(function*() {
    const x = yield* BufferPool.allocate(256)
    const y = yield* BufferPool.allocate(256)
    yield* CommandQueue.fill(x, 1)
    yield* CommandQueue.fill(y, 2)
    // a compilation continues after the interruption of its fiber, and after this test
    yield* CommandQueue.dispatch(Kernels.iota, { y, start: 0 }, 64)
    yield* CommandQueue.dispatch(Kernels.addTo, { x, y, a: 0 }, 64)
    yield* interruptedAtEach(what, steps, () => make(x, y), () => Effect.map(BufferPool.stats, expectInvariants))
    yield* expectUsable
  })

const operations: Readonly<
  Record<string, (x: PooledBuffer, y: PooledBuffer) => Effect.Effect<unknown, GpuError, TestServices>>
> = {
  "a scoped allocation that hits": () => Effect.scoped(BufferPool.allocate(512)),
  "a lease of `use` and its effect": () => BufferPool.use(512, (lease) => CommandQueue.fill(lease, 4)),
  "an extraction": () =>
    Effect.scoped(LeaseHolder.extract(Effect.all([BufferPool.allocate(8), BufferPool.allocate(8)]))),
  "a write": (x) => CommandQueue.write(x, new Uint8Array(256)),
  "a copy": (x, y) => CommandQueue.copy(x, y),
  "a dispatch": (_, y) => CommandQueue.dispatch(Kernels.iota, { y, start: 1 }, 64),
  "a read": (x) => CommandQueue.read(x, Uint8Array),
  "a read into an array": (x) => CommandQueue.readInto(x, new Uint8Array(256)),
  "a rectangular copy": (x, y) => CommandQueue.copyRect(x, y, { region: [8, 4], source: { rowPitch: 16 } }),
  "a rectangular write": (x) =>
    CommandQueue.writeRect(x, new Uint8Array(64), { region: [8, 4], buffer: { rowPitch: 16 } }),
  "a rectangular read": (x) => CommandQueue.readRect(x, Uint8Array, { region: [8, 4], buffer: { rowPitch: 16 } }),
  "a wait for an event": (x) =>
    Effect.flatMap(CommandQueue.withEvent(CommandQueue.fill(x, 5)), ([event]) => QueueEvent.wait(event)),
  "a mapping": (x) => Effect.scoped(Effect.map(Mapping.map(x, Uint32Array), (mapped) => mapped.setUnsafe(1, 3))),
  "a mapping that ends early": (x) =>
    Effect.scoped(Effect.flatMap(Mapping.map(x, Uint32Array, { access: "write" }), Mapping.unmap)),
  "a finish": (x) => Effect.andThen(CommandQueue.fill(x, 5), CommandQueue.finish),
  "a whole program": (x) =>
    Effect.scoped(Effect.gen(function*() {
      const y = yield* BufferPool.allocate(256)
      yield* CommandQueue.dispatch(Kernels.addTo, { x, y, a: 1 }, 64)
      return yield* CommandQueue.read(y, Uint32Array)
    }))
}

export const tests: ReadonlyArray<ConformanceTest> = [
  ...Object.entries(operations).map(([name, make]) =>
    test(`${name} may be interrupted at every step`, { counting: true, interrupts: true }, stepwise(name, 50, make))
  ),
  /** The first request of each size is a miss, so the interruption comes during the driver's allocation. */
  test("a miss may be interrupted at every step", { counting: true, interrupts: true }, function*() {
    yield* interruptedAtEach(
      "a miss",
      60,
      (step) => Effect.scoped(BufferPool.allocate(4096 + 512 * step)),
      () => expectStats("no lease", { activeBlocks: 0 })
    )
    yield* expectUsable
    yield* untilAnswered(BufferPool.stats)
    yield* BufferPool.freeHeld
    const { managedBlocks, pendingBytes } = yield* BufferPool.stats
    Expect.same("nothing stays", { managedBlocks, pendingBytes }, { managedBlocks: 0, pendingBytes: 0 })
  }),
  test("a compilation may be interrupted at every step", { counting: true, interrupts: true }, function*() {
    const cache = yield* KernelCache
    const kernel = Kernels.constant(50)
    yield* interruptedAtEach("a compilation", 30, () => cache.get(kernel))
    const compiled = yield* cache.get(kernel)
    Expect.isTrue("the kernel can be used", !compiled.released)
    const y = yield* BufferPool.allocate(16)
    yield* CommandQueue.dispatch(kernel, { y }, 4)
    yield* expectUsable
  }),
  /** Many fibers wait for the queue, and the test interrupts all of them at once. */
  test("waiting fibers may all be interrupted", { heavy: true, interrupts: true }, function*() {
    const items = yield* scaled(200_000, 2000)
    const y = yield* filled(items * 4, 0)
    yield* CommandQueue.dispatch(Kernels.busy, { y }, items)
    const waits = Array.from(
      { length: 30 },
      (_, index) => index % 3 === 0 ? CommandQueue.finish : CommandQueue.read(y, Uint32Array, { length: 4 })
    )
    const fibers = yield* Effect.forEach(waits, (wait) => Effect.forkChild(wait, { startImmediately: true }))
    yield* Fiber.interruptAll(fibers)
    yield* CommandQueue.dispatch(Kernels.iota, { y, start: 0 }, items)
    const found = yield* CommandQueue.read(y, Uint32Array)
    Expect.numbers("work after the interruption", found, Uint32Array.from({ length: items }, (_, at) => at))
  })
]

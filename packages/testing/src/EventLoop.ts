/**
 * A fiber that waits for a device never blocks the event loop. These tests count turns of the loop; they measure no time.
 *
 * @internal
 */
import type { PooledBuffer } from "effect-gpu-pool/BufferPool"
import * as CommandQueue from "effect-gpu-pool/CommandQueue"
import { DeviceContext } from "effect-gpu-pool/DeviceContext"
import type { GpuError } from "effect-gpu-pool/GpuError"
import * as Effect from "effect/Effect"
import * as Kernels from "./commands/Kernels.ts"
import { type ConformanceTest, inGroup, scaled, type TestServices } from "./ConformanceTest.ts"
import * as Expect from "./Expect.ts"
import { filled } from "./pool/Leases.ts"

const test = inGroup("event loop")

const nextTurn: (task: () => void) => unknown =
  (globalThis as { readonly setImmediate?: (task: () => void) => unknown }).setImmediate ??
    ((task) => setTimeout(task, 0))

/** How many turns the event loop takes while the effect waits. */
export const turnsDuring = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<number, E, R> =>
  Effect.suspend(() => {
    let turns = 0
    let running = true
    const count = () => {
      turns += 1
      if (running) nextTurn(count)
    }
    nextTurn(count)
    const stop = Effect.sync(() => {
      running = false
    })
    return Effect.map(Effect.ensuring(effect, stop), () => turns)
  })

/** During a wait that blocks, the loop turns once or twice, however much the device has to do. */
const enoughTurns = 4

/**
 * Gives the device more and more work until the loop turns often enough during the wait: more commands, and larger
 * ones, since a fast device runs a small one in less time than it takes to record the next. If the wait blocks, the
 * loop never turns often enough.
 */
const turnsWhile = (
  what: string,
  bytes: number,
  work: (lease: PooledBuffer) => Effect.Effect<unknown, GpuError, TestServices>,
  wait: (lease: PooledBuffer) => Effect.Effect<unknown, GpuError, TestServices>
): Effect.Effect<void, unknown, TestServices> =>
  Effect.gen(function*() {
    const { maxBindingSize, maxBufferSize } = (yield* DeviceContext).info.limits
    const least = yield* scaled(bytes, 2 ** 16)
    let turns = 0
    for (let times = 1; turns < enoughTurns && times <= 64; times *= 2) {
      const size = Math.min(times * least, maxBindingSize, maxBufferSize)
      turns = yield* Effect.scoped(Effect.gen(function*() {
        const lease = yield* filled(size - size % 4, 0)
        yield* CommandQueue.finish
        for (let repeat = 0; repeat < times; repeat++) yield* work(lease)
        return yield* turnsDuring(wait(lease))
      }))
    }
    Expect.isTrue(`the event loop took ${turns} turns while ${what}`, turns >= enoughTurns)
  })

const fill = (lease: PooledBuffer) => CommandQueue.fill(lease, 0x01020304)
const compute = (y: PooledBuffer) => CommandQueue.dispatch(Kernels.busy, { y }, Math.floor(y.size / 4))

export const tests: ReadonlyArray<ConformanceTest> = [
  test(
    "the loop turns while a finish waits for fills",
    { heavy: true },
    turnsWhile("waiting for fills", 32 * 2 ** 20, fill, () => CommandQueue.finish)
  ),
  test(
    "the loop turns while a finish waits for a kernel",
    { heavy: true },
    turnsWhile("waiting for a kernel", 4 * 2 ** 20, compute, () => CommandQueue.finish)
  ),
  test(
    "the loop turns while a read waits for a kernel",
    { heavy: true },
    turnsWhile("reading", 4 * 2 ** 20, compute, (lease) => CommandQueue.read(lease, Uint32Array, { length: 16 }))
  )
]

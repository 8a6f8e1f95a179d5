/**
 * Tests each rule of docs/allocators.md on an allocator without a pool. `AllocatorWatch` checks
 * most rules; these tests make the requests that a wrong allocator answers wrongly.
 *
 * @internal
 */
import { BufferPool, BufferUsage, CommandQueue, Lease, Mapping } from "effect-gpu-pool"
import { allocate as allocateScoped, Allocator } from "effect-gpu-pool/Allocator"
import * as BufferLike from "effect-gpu-pool/BufferLike"
import type { DeviceBuffer } from "effect-gpu-pool/DeviceBuffer"
import type { GpuError } from "effect-gpu-pool/GpuError"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { type ConformanceTest, inGroup, runsCommands } from "../ConformanceTest.ts"
import * as Expect from "../Expect.ts"
import { type AllocatorWatch, broken, onAllocator, type Rule, watched } from "./AllocatorWatch.ts"
import { interruptedAt } from "./Interruption.ts"

const test = inGroup("allocator", { counting: true })

/** How often a refused request is repeated: an allocator may refuse several concurrent requests one after another. */
const retries = 32

/** Allocates, and retries after a refusal, as a pool does. */
const allocate = (bytes: number, usage?: BufferUsage.BufferUsage): Effect.Effect<DeviceBuffer, GpuError, Allocator> =>
  Effect.flatMap(
    Allocator,
    (allocator) =>
      Effect.retry(Effect.tapError(allocator.allocate(bytes, { usage }), () => allocator.reclaim), {
        while: ({ reason }) => reason._tag === "OutOfMemory",
        times: retries
      })
  )

const free = (buffer: DeviceBuffer): Effect.Effect<void, GpuError, Allocator> =>
  Effect.flatMap(Allocator, (allocator) => allocator.freeUnsafe(buffer))

const freeAll = (buffers: ReadonlyArray<DeviceBuffer>) => Effect.forEach(buffers, free, { discard: true })

const bytes = 1024

const several = (count: number) =>
  Effect.forEach(Array.from({ length: count }), () => allocate(bytes), { concurrency: "unbounded" })

/** Without a pool, as programs do it. */
const scoped = (bytes: number) =>
  Effect.retry(allocateScoped(bytes), { while: ({ reason }) => reason._tag === "OutOfMemory", times: retries })

/** The words that only this owner writes. */
const wordsOf = (owner: number) => Uint32Array.from({ length: bytes / 4 }, (_, at) => owner * 65_536 + at)

const write = (buffer: DeviceBuffer, owner: number) => CommandQueue.write(buffer, wordsOf(owner))

/** A device that runs no commands only gets the read. */
const expectWords = Effect.fnUntraced(function*(rule: Rule, what: string, buffer: DeviceBuffer, owner: number) {
  const expected = wordsOf(owner)
  const found = (yield* CommandQueue.read(buffer, Uint32Array)).subarray(0, expected.length)
  if (!(yield* runsCommands)) return
  Expect.isTrue(broken(rule, what), expected.every((word, at) => found[at] === word))
})

const watch: Effect.Effect<AllocatorWatch> = Effect.map(watched, (found) => found?.watch ?? Expect.fail("no allocator"))

const sizes = [4, 64, 252, 1000, 4096, 65_540]

const usages = [
  undefined,
  BufferUsage.copySrc | BufferUsage.copyDst,
  BufferUsage.storage | BufferUsage.copyDst,
  BufferUsage.copyDst
]

/** More steps than an allocation takes. */
const steps = 40

export const tests: ReadonlyArray<ConformanceTest> = [
  test(
    "gives at least the bytes, and every usage, that it is asked for",
    onAllocator(Effect.gen(function*() {
      for (let round = 0; round < 2; round++) {
        const buffers = yield* Effect.forEach(
          sizes.flatMap((size) => usages.map((usage) => [size, usage] as const)),
          ([size, usage]) => allocate(size, usage)
        )
        yield* freeAll(buffers)
      }
    }))
  ),
  test(
    "gives a buffer of 0 bytes for 0, which takes no memory",
    onAllocator(Effect.gen(function*() {
      const { fromDevice } = yield* watch
      const buffers = yield* Effect.forEach([1, 2, 3], () => allocate(0))
      Expect.equal(broken("size", "it took memory for 0 bytes"), (yield* watch).fromDevice, fromDevice)
      yield* freeAll(buffers)
    }))
  ),
  test(
    "gives no memory to a second owner before the first one gave it back",
    onAllocator(Effect.gen(function*() {
      const buffers = yield* several(12)
      for (let round = 0; round < 4; round++) {
        yield* freeAll(buffers.splice(round, 6))
        buffers.push(...yield* several(6))
      }
      yield* freeAll(buffers)
    }))
  ),
  test(
    "changes no bytes of an owner while others come and go",
    onAllocator(Effect.gen(function*() {
      const mine = yield* several(3)
      yield* Effect.forEach(mine, write, { discard: true })
      for (let round = 0; round < 4; round++) {
        const others = yield* several(4)
        yield* Effect.forEach(others, (buffer) => write(buffer, 99), { discard: true })
        yield* freeAll(others)
      }
      yield* Effect.forEach(
        mine,
        (buffer, owner) => expectWords("owner", "a buffer has words that its owner did not write", buffer, owner)
      )
      yield* freeAll(mine)
    }))
  ),
  test(
    "lets the commands that were recorded before a free do their work",
    onAllocator(Effect.gen(function*() {
      const kept = yield* allocate(bytes)
      for (let round = 1; round <= 4; round++) {
        const first = yield* allocate(bytes)
        yield* write(first, round)
        yield* CommandQueue.copy(first, kept, { size: bytes })
        yield* free(first)
        const next = yield* allocate(bytes)
        yield* write(next, 99)
        yield* CommandQueue.finish.pipe(
          Effect.mapError((error) => new Expect.Mismatch({ message: broken("order", error.message) }))
        )
        yield* expectWords("order", "a command before a free found other words, or was not done", kept, round)
        yield* free(next)
      }
      yield* free(kept)
    }))
  ),
  test("no pool leases memory whose recyclable is false, even if the allocator kept it", function*() {
    const untrusted = new Set<DeviceBuffer>()
    for (let round = 0; round < 3; round++) {
      const leases = yield* Effect.forEach([1, 2, 3], () => BufferPool.allocate(bytes))
      for (const lease of leases) {
        const buffer = BufferLike.deviceBuffer(lease)!
        Expect.isTrue("the memory may be used", buffer.recyclable && !untrusted.has(buffer))
        buffer.recyclable = false
        untrusted.add(buffer)
        yield* Lease.release(lease)
      }
    }
    yield* onAllocator(Effect.scoped(Effect.gen(function*() {
      const buffer = yield* scoped(bytes)
      Expect.isTrue("the memory may be used without a pool", buffer.recyclable && !untrusted.has(buffer))
    })))
  }),
  test(
    "a mapping ends with its buffer, even if the allocator keeps that for the next owner",
    onAllocator(Effect.gen(function*() {
      const own = yield* Scope.make()
      const buffer = yield* Scope.provide(scoped(bytes), own)
      const mapped = yield* Mapping.map(buffer, Uint32Array, { access: "write" })
      yield* Scope.close(own, Exit.void)
      const next = yield* scoped(bytes)
      yield* write(next, 7)
      // A view that has ended throws, or its memory is gone.
      yield* Effect.ignore(Effect.try(() => mapped.setUnsafe(0, 99)))
      yield* Expect.failsWith("an unmap of freed memory", Mapping.unmap(mapped), "Released")
      yield* expectWords("owner", "a mapping of freed memory wrote to its next owner's", next, 7)
    }))
  ),
  test(
    "loses nothing when it is interrupted at any step",
    onAllocator(Effect.gen(function*() {
      const whole = Effect.acquireUseRelease(
        allocate(bytes),
        () => Effect.yieldNow,
        (buffer) => Effect.orDie(free(buffer))
      )
      for (let step = 0; step < steps; step++) yield* interruptedAt(whole, step)
    }))
  )
]

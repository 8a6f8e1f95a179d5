/**
 * The cases of CuPy's test_memory.py that concern its pool, by their names there, on a pool with `PoolStrategy.cupyOptions`.
 *
 * Some have no counterpart:
 * - `test_split` and `test_merge` call methods of a chunk: here they go through leases.
 * - `TestAllocator.test_set_allocator_cm`: nothing can be set globally, so nothing forbids it within a scope.
 * - `test_reuse_between_thread_ptds`: there is no stream for each thread.
 * - `TestMemoryAsyncPool`, `TestMallocAsync`: no driver here has a pool of its own.
 * - `TestMemoryPointer`, `TestUnownedMemory`, `TestMemInfo`, and those of managed memory: they are not about the pool.
 */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Config from "effect/Config"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as PoolStrategy from "../../src/domain/pool/PoolStrategy.ts"
import { Host } from "../../src/host.ts"
import * as Allocator from "../../src/services/buffers/Allocator.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import type { PooledBuffer } from "../../src/services/buffers/PooledBuffer.ts"
import * as Lease from "../../src/services/lease/Lease.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import { decorated, hasStats, layer, tagOf } from "../support/hostPool.ts"

const unit = 512
const capacityBytes = 2 ** 34

const pool = layer({ pool: PoolStrategy.cupyOptions, host: { capacityBytes } })

/** A test on a pool of its own, in a scope. */
const test = <A, E>(
  name: string,
  body: () => Effect.Effect<A, E, Layer.Success<typeof pool> | Scope.Scope>
): void => it.effect(name, () => Effect.provide(Effect.scoped(body()), Layer.fresh(pool)))

const malloc = (units: number) => BufferPool.allocate(units * unit)

const free = (...leases: ReadonlyArray<PooledBuffer>) => Effect.forEach(leases, Lease.release, { discard: true })

/** Where a lease lies: the driver's allocation, and the first byte in it. */
const pointer = ({ block }: PooledBuffer) => {
  const { allocation, begin } = block!.value
  return { allocation, begin }
}

type Pointer = ReturnType<typeof pointer>

const isSame = (one: Pointer, other: Pointer): boolean =>
  one.allocation === other.allocation && one.begin === other.begin

const same = (one: Pointer, other: Pointer): void => assert.isTrue(isSame(one, other), "the same memory")

const differ = (one: Pointer, other: Pointer): void => assert.isFalse(isSame(one, other), "other memory")

const usedBytes = Effect.map(BufferPool.stats, ({ heldBytes, managedBytes }) => managedBytes - heldBytes)

const used = (units: number) => Effect.map(usedBytes, (bytes) => strictEqual(bytes, units * unit))
const freed = (units: number) => hasStats({ heldBytes: units * unit })
const total = (units: number) => hasStats({ managedBytes: units * unit })

/** Whether a job in this fiber and then the same in another one get the same memory. */
const reused = (first: CommandQueue.CommandQueue["Service"], second: CommandQueue.CommandQueue["Service"]) =>
  Effect.gen(function*() {
    const job = Effect.scoped(Effect.map(malloc(1), pointer))
    const main = yield* CommandQueue.on(job, first)
    const sub = yield* Fiber.join(yield* Effect.forkChild(CommandQueue.on(job, second)))
    return isSame(main, sub)
  })

describe("TestSingleDeviceMemoryPool", () => {
  test("test_round_size", () =>
    Effect.gen(function*() {
      for (const [size, units] of [[unit - 1, 1], [unit, 1], [unit + 1, 2]] as const) {
        const lease = yield* BufferPool.allocate(size)
        strictEqual(lease.capacity, units * unit)
      }
      yield* hasStats({ driverAllocations: 3, managedBytes: 4 * unit })
    }))

  test("test_split", () =>
    Effect.gen(function*() {
      yield* Effect.scoped(malloc(4))
      const parts = yield* Effect.forEach([1, 1, 1, 1], malloc)
      const first = pointer(parts[0]!)
      parts.forEach((part, index) => same(pointer(part), { ...first, begin: index * unit }))
      yield* hasStats({ driverAllocations: 1, heldBytes: 0 })
    }))

  test("test_merge", () =>
    Effect.gen(function*() {
      yield* Effect.scoped(malloc(4))
      const [head, tailOfHead, tail, tailOfTail] = yield* Effect.forEach([1, 1, 1, 1], malloc)
      const place = pointer(head!)
      yield* free(head!, tailOfHead!)
      yield* hasStats({ heldBlocks: 1, heldBytes: 2 * unit })
      yield* free(tail!)
      yield* hasStats({ heldBlocks: 1, heldBytes: 3 * unit })
      yield* free(tailOfTail!)
      yield* hasStats({ heldBlocks: 1, heldBytes: 4 * unit })
      same(pointer(yield* malloc(4)), place)
    }))

  test("test_alloc", () =>
    Effect.gen(function*() {
      const [p1, p2, p3] = (yield* Effect.forEach([4, 4, 8], malloc)).map(pointer)
      differ(p1!, p2!)
      differ(p1!, p3!)
      differ(p2!, p3!)
    }))

  test("test_alloc_split", () =>
    Effect.gen(function*() {
      const p = yield* malloc(4)
      const place = pointer(p)
      yield* free(p)
      const head = yield* malloc(2)
      const tail = yield* malloc(2)
      same(pointer(head), place)
      same(pointer(tail), { ...place, begin: 2 * unit })
    }))

  test("test_alloc_limit", () =>
    Effect.gen(function*() {
      yield* BufferPool.setLimit(6 * unit)
      yield* malloc(5)
      yield* malloc(1)
      strictEqual(yield* tagOf(malloc(1)), "OutOfMemory")
      yield* BufferPool.setLimit(7 * unit)
      yield* malloc(1)
    }))

  test("test_alloc_limit_fragmented", () =>
    Effect.gen(function*() {
      yield* BufferPool.setLimit(6 * unit)
      yield* Effect.scoped(malloc(5))
      yield* Effect.scoped(malloc(6))
    }))

  test("test_free", () =>
    Effect.gen(function*() {
      const p1 = yield* malloc(4)
      const place = pointer(p1)
      yield* free(p1)
      same(pointer(yield* malloc(4)), place)
    }))

  test("test_free_stream", () =>
    Effect.gen(function*() {
      const stream = yield* CommandQueue.make()
      const p1 = yield* malloc(4)
      const place = pointer(p1)
      yield* free(p1)
      differ(pointer(yield* CommandQueue.on(malloc(4), stream)), place)
    }))

  test("test_split of an arena for each stream: a slab serves its stream before any command has used it", () =>
    Effect.gen(function*() {
      const stream = yield* CommandQueue.make()
      yield* Effect.scoped(CommandQueue.on(malloc(10), stream))
      for (let i = 0; i < 10; i++) yield* CommandQueue.on(malloc(1), stream)
      strictEqual((yield* BufferPool.stats).driverAllocations, 1)
      yield* malloc(1)
      strictEqual((yield* BufferPool.stats).driverAllocations, 2)
    }))

  test("test_free_merge", () =>
    Effect.gen(function*() {
      const p = yield* malloc(4)
      const place = pointer(p)
      yield* free(p)
      for (const isTailFirst of [true, false]) {
        const head = yield* malloc(2)
        const tail = yield* malloc(2)
        same(pointer(head), place)
        yield* isTailFirst ? free(tail, head) : free(head, tail)
        const again = yield* malloc(4)
        same(pointer(again), place)
        yield* free(again)
      }
    }))

  test("test_free_different_size", () =>
    Effect.gen(function*() {
      const p1 = yield* malloc(4)
      const place = pointer(p1)
      yield* free(p1)
      differ(pointer(yield* malloc(8)), place)
    }))

  for (const name of ["test_free_all_blocks", "test_free_all_free"]) {
    test(name, () =>
      Effect.gen(function*() {
        const p1 = yield* malloc(4)
        const place = pointer(p1)
        yield* free(p1)
        yield* BufferPool.freeHeld
        differ(pointer(yield* malloc(4)), place)
      }))
  }

  test("test_free_all_blocks_split", () =>
    Effect.gen(function*() {
      yield* Effect.scoped(malloc(4))
      yield* malloc(2)
      const tail = yield* malloc(2)
      const place = pointer(tail)
      yield* free(tail)
      yield* BufferPool.freeHeld
      same(pointer(yield* malloc(2)), place)
    }))

  /** Memory of the first queue, and of another one, both held. */
  const ofTwoStreams = Effect.gen(function*() {
    const stream = yield* CommandQueue.make()
    const p1 = yield* malloc(4)
    const ptr1 = pointer(p1)
    yield* free(p1)
    const p2 = yield* CommandQueue.on(malloc(4), stream)
    const ptr2 = pointer(p2)
    yield* free(p2)
    return { stream, ptr1, ptr2 }
  })

  test("test_free_all_blocks_stream", () =>
    Effect.gen(function*() {
      const { ptr1, ptr2, stream } = yield* ofTwoStreams
      yield* BufferPool.freeHeldOf(yield* CommandQueue.CommandQueue)
      const ptr3 = pointer(yield* malloc(4))
      differ(ptr1, ptr3)
      differ(ptr2, ptr3)
      same(pointer(yield* CommandQueue.on(malloc(4), stream)), ptr2)
    }))

  test("test_free_all_blocks_all_streams", () =>
    Effect.gen(function*() {
      const { ptr1, ptr2, stream } = yield* ofTwoStreams
      yield* BufferPool.freeHeld
      const ptr3 = pointer(yield* malloc(4))
      const ptr4 = pointer(yield* CommandQueue.on(malloc(4), stream))
      for (const place of [ptr1, ptr2]) {
        differ(place, ptr3)
        differ(place, ptr4)
      }
    }))

  test("test_used_bytes", () =>
    Effect.gen(function*() {
      const p1 = yield* malloc(2)
      yield* used(2)
      const p2 = yield* malloc(4)
      yield* used(6)
      yield* free(p2)
      yield* used(2)
      yield* free(p1)
      yield* used(0)
      yield* malloc(1)
      yield* used(1)
    }))

  test("test_free_bytes", () =>
    Effect.gen(function*() {
      const p1 = yield* malloc(2)
      yield* freed(0)
      const p2 = yield* malloc(4)
      yield* freed(0)
      yield* free(p2)
      yield* freed(4)
      yield* free(p1)
      yield* freed(6)
      yield* malloc(1)
      yield* freed(5)
    }))

  test("test_total_bytes", () =>
    Effect.gen(function*() {
      const p1 = yield* malloc(2)
      yield* total(2)
      const p2 = yield* malloc(4)
      yield* total(6)
      yield* free(p1)
      yield* total(6)
      yield* free(p2)
      yield* total(6)
      const p3 = yield* malloc(1)
      yield* total(6)
      const { heldBytes, managedBytes } = yield* BufferPool.stats
      strictEqual((yield* usedBytes) + heldBytes, managedBytes)
      yield* free(p3)
      yield* BufferPool.freeHeld
      yield* total(0)
    }))

  test("test_used_bytes_stream, test_free_bytes_stream and test_total_bytes_stream", () =>
    Effect.gen(function*() {
      const stream = yield* CommandQueue.make()
      yield* Effect.scoped(malloc(4))
      yield* CommandQueue.on(malloc(2), stream)
      yield* used(2)
      yield* freed(4)
      yield* total(6)
    }))

  // Without a limit it is 0 there, and `Infinity` here.
  test("test_get_limit", () => Effect.map(BufferPool.maxBytes, (bytes) => strictEqual(bytes, Infinity)))

  test("test_set_limit_size", () =>
    Effect.gen(function*() {
      for (const bytes of [1024, 2 ** 33, 0]) {
        yield* BufferPool.setLimit(bytes)
        strictEqual(yield* BufferPool.maxBytes, bytes)
      }
      strictEqual(yield* tagOf(BufferPool.setLimit(-1)), "InvalidRequest")
    }))

  test("test_set_limit_fraction", () =>
    Effect.gen(function*() {
      for (const maxFraction of [0, 0.5, 1]) {
        yield* BufferPool.setLimit({ maxFraction })
        strictEqual(yield* BufferPool.maxBytes, maxFraction * capacityBytes)
      }
      for (const maxFraction of [-1, 1.1]) {
        strictEqual(yield* tagOf(BufferPool.setLimit({ maxFraction })), "InvalidRequest")
      }
    }))
})

describe("TestParseMempoolLimitEnvVar", () => {
  it.effect("test_parse_limit_string", () =>
    Effect.gen(function*() {
      const limits = [["0", 0], ["1073741824", 2 ** 30], ["0%", 0], ["40%", 0.4], ["70.5%", 0.705], [
        "100%",
        1
      ]] as const
      for (const [text, limit] of limits) {
        const bytes = yield* BufferPool.maxBytes.pipe(
          Effect.provide(BufferPool.layerConfig({ maxBytes: Config.String("CUPY_GPU_MEMORY_LIMIT") })),
          Effect.provide(Layer.fresh(Host.layer({ capacityBytes }))),
          Effect.provideService(
            ConfigProvider.ConfigProvider,
            ConfigProvider.fromUnknown({ CUPY_GPU_MEMORY_LIMIT: text })
          )
        )
        strictEqual(bytes, text.endsWith("%") ? Math.floor(limit * capacityBytes) : limit, text)
      }
    }))
})

describe("TestMemoryPool", () => {
  test("test_zero_size_alloc", () =>
    Effect.gen(function*() {
      strictEqual((yield* BufferPool.allocate(0)).capacity, 0)
      yield* hasStats({ managedBlocks: 0, driverAllocations: 0 })
    }))

  // A second one fails with Released, and does nothing.
  test("test_double_free", () =>
    Effect.gen(function*() {
      const lease = yield* BufferPool.allocate(1)
      yield* free(lease)
      strictEqual(yield* tagOf(free(lease)), "Released")
      yield* hasStats({ heldBlocks: 1 })
    }))

  for (const name of ["test_free_all_blocks", "test_free_all_free"]) {
    test(name, () =>
      Effect.gen(function*() {
        const lease = yield* BufferPool.allocate(1)
        yield* hasStats({ heldBlocks: 0 })
        yield* free(lease)
        yield* hasStats({ heldBlocks: 1 })
        yield* BufferPool.freeHeld
        yield* hasStats({ heldBlocks: 0 })
      }))

    test(`${name}_without_malloc`, () => Effect.andThen(BufferPool.freeHeld, hasStats({ heldBlocks: 0 })))
  }

  test("test_n_free_blocks_without_malloc", () => hasStats({ heldBlocks: 0 }))
  test("test_used_bytes", () => used(0))
  test("test_free_bytes", () => freed(0))
  test("test_total_bytes", () => total(0))
})

describe("TestAllocator", () => {
  /** Another pool on the same device. */
  const another = Layer.fresh(BufferPool.layer(PoolStrategy.cupyOptions))

  test("test_set_allocator", () =>
    Effect.gen(function*() {
      yield* used(0)
      strictEqual((yield* BufferPool.allocate(1024)).capacity, 1024)
      yield* used(2)
    }))

  test("test_get_allocator, test_allocator_context_manager and test_allocator_nested_context_manager", () =>
    Effect.gen(function*() {
      const outer = yield* BufferPool.BufferPool
      yield* Effect.provide(
        Effect.gen(function*() {
          const inner = yield* BufferPool.BufferPool
          assert.notStrictEqual(inner, outer)
          const innermost = yield* Effect.provide(BufferPool.BufferPool, another)
          assert.notStrictEqual(innermost, inner)
          strictEqual(yield* BufferPool.BufferPool, inner)
        }),
        another
      )
      strictEqual(yield* BufferPool.BufferPool, outer)
    }))

  test("test_allocator_thread_local, with fibers", () =>
    Effect.gen(function*() {
      const hasPool = yield* Deferred.make<void>()
      const isSeen = yield* Deferred.make<void>()
      const other = Effect.gen(function*() {
        yield* malloc(2)
        yield* Deferred.succeed(hasPool, undefined)
        yield* Deferred.await(isSeen)
        yield* used(2)
      }).pipe(Effect.scoped, Effect.provide(another))
      const fiber = yield* Effect.forkChild(other)
      yield* Deferred.await(hasPool)
      yield* malloc(4)
      yield* used(4)
      yield* Deferred.succeed(isSeen, undefined)
      yield* Fiber.join(fiber)
    }))

  // Here a pool ends with its layer, and its leases with it.
  test("test_thread_local_valid", () =>
    Effect.gen(function*() {
      const lease = yield* Effect.provide(malloc(2), another)
      strictEqual(yield* tagOf(CommandQueue.fill(lease, 1)), "Released")
    }))

  test("test_reuse_between_thread", () =>
    Effect.gen(function*() {
      const first = yield* CommandQueue.CommandQueue
      assert.isTrue(yield* reused(first, first))
    }))

  test("test_reuse_between_thread_same_stream", () =>
    Effect.gen(function*() {
      const stream = yield* CommandQueue.make()
      assert.isTrue(yield* reused(stream, stream))
    }))

  test("test_reuse_between_thread_different_stream", () =>
    Effect.gen(function*() {
      assert.isFalse(yield* reused(yield* CommandQueue.make(), yield* CommandQueue.make()))
    }))
})

describe("TestAllocatorDisabled", () => {
  test("test and test_none", () =>
    Effect.gen(function*() {
      yield* Effect.provide(Allocator.allocate(1024), Allocator.layerImmediate)
      yield* used(0)
    }))
})

describe("TestPythonFunctionAllocator", () => {
  it.effect("test_allocator", () =>
    Effect.gen(function*() {
      const calls: Array<string> = []
      const allocator = decorated((below) => ({
        ...below,
        allocate: (bytes, options) => {
          calls.push(`malloc ${bytes}`)
          return below.allocate(bytes, options)
        },
        freeUnsafe: (buffer) => {
          calls.push(`free ${buffer.size}`)
          return below.freeUnsafe(buffer)
        }
      }))
      yield* Effect.scoped(malloc(2)).pipe(Effect.provide(layer({ pool: PoolStrategy.cupyOptions, allocator })))
      deepStrictEqual(calls, ["malloc 1024", "free 1024"])
    }))
})

describe("PoolStrategy.arena", () => {
  it.effect("refuses to borrow by nothing, or by no number", () =>
    Effect.gen(function*() {
      for (const borrow of [0, -1, Number.NaN]) {
        const refused = Effect.provide(
          BufferPool.maxBytes,
          layer({ pool: { strategy: PoolStrategy.arena({ borrow }) } })
        )
        strictEqual(yield* tagOf(refused), "InvalidRequest")
      }
    }))

  it.effect("splits a slab without leases only for what is not much smaller than a slab, unless it may borrow", () =>
    Effect.gen(function*() {
      for (const [borrow, allocations] of [[1, 2], [7, 1], [Infinity, 1]] as const) {
        const strategy = PoolStrategy.arena({ slabBytes: unit, unitBytes: unit, borrow })
        yield* Effect.gen(function*() {
          yield* Effect.scoped(malloc(8))
          yield* Effect.scoped(malloc(1))
          yield* hasStats({ driverAllocations: allocations })
        }).pipe(Effect.provide(layer({ pool: { strategy, maxHeldBytes: Infinity } })))
      }
    }))
})

/** Traced commands: what a run records, on which memory, and which inputs it takes. */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Latch from "effect/Latch"
import * as Scope from "effect/Scope"
import * as BufferUsage from "../../src/domain/BufferUsage.ts"
import type { GpuError } from "../../src/domain/GpuError.ts"
import * as Kernel from "../../src/domain/kernel/Kernel.ts"
import { ScalarArg, VectorArg } from "../../src/domain/kernel/KernelArgument.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import * as Mapping from "../../src/services/buffers/mapping/Mapping.ts"
import * as SubRegion from "../../src/services/buffers/SubRegion.ts"
import * as KernelCache from "../../src/services/device/KernelCache.ts"
import * as Lease from "../../src/services/lease/Lease.ts"
import * as LeaseHolder from "../../src/services/lease/LeaseHolder.ts"
import * as CommandList from "../../src/services/queue/CommandList.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import * as MemoryObjects from "../../src/services/queue/MemoryObjects.ts"
import { hasStats, type HostServices, layer } from "../support/hostPool.ts"

type Services = HostServices | BufferPool.BufferPool | Scope.Scope

const test = (name: string, effect: Effect.Effect<void, unknown, Services>) =>
  it.effect(name, () => Effect.scoped(effect).pipe(Effect.provide(layer())))

const floats = (...numbers: ReadonlyArray<number>) =>
  Effect.tap(BufferPool.allocate(4 * numbers.length), (lease) => CommandQueue.write(lease, Float32Array.from(numbers)))

const read = (lease: BufferPool.PooledBuffer | undefined) =>
  Effect.map(CommandQueue.read(lease!, Float32Array), (numbers) => [...numbers])

const adding = (name: string) =>
  Kernel.make({
    name,
    args: [
      VectorArg("f32", "x", { access: "read" }),
      VectorArg("f32", "y", { access: "write" }),
      ScalarArg("f32", "a")
    ],
    body: {
      host: (from, to, { a, x, y }) => {
        for (let i = from; i < to; i++) y[i] = x[i]! + a
      }
    }
  })

const plus = adding("plus")

const added = (x: BufferPool.PooledBuffer, a: number) =>
  Effect.tap(BufferPool.allocate(x.size), (y) => CommandQueue.dispatch(plus, { x, y, a }, x.size / 4))

const copiedAs = (label: string, x: BufferPool.PooledBuffer) =>
  Effect.tap(BufferPool.allocate(x.size, { label }), (y) => CommandQueue.copy(x, y))

describe("Traced commands", () => {
  test(
    "are all recorded again: dispatches, fills, copies, rectangles and writes",
    Effect.gen(function*() {
      const data = Float32Array.of(5)
      const outside = yield* floats(7, 7)
      const list = yield* CommandList.trace(
        [yield* floats(0, 0)],
        Effect.fnUntraced(function*([x]) {
          const y = yield* added(x!, 1)
          const z = yield* BufferPool.allocate(32)
          yield* CommandQueue.fill(z, 0)
          yield* CommandQueue.fill(z, Float32Array.of(3, 4), { offset: 8, size: 8 })
          yield* CommandQueue.copy(y, z, { size: 8 })
          yield* CommandQueue.write(z, data, { offset: 16 })
          yield* CommandQueue.writeRect(z, data, { region: [4, 1], buffer: { origin: [20, 0], rowPitch: 32 } })
          yield* CommandQueue.copyRect(outside, z, {
            region: [4, 2],
            source: { rowPitch: 4 },
            target: { origin: [24, 0], rowPitch: 4 }
          })
          return { z, y }
        })
      )
      data.fill(99)
      yield* Effect.map(BufferPool.stats, ({ activeBlocks }) => strictEqual(activeBlocks, 2))
      for (const [one, two] of [[1, 2], [3, 4]] as const) {
        const [z, y] = yield* list.run([yield* floats(one, two)])
        deepStrictEqual(yield* read(z), [one + 1, two + 1, 3, 4, 5, 5, 7, 7])
        deepStrictEqual(yield* read(y), [one + 1, two + 1])
      }
      strictEqual(list.commands, 7)
    })
  )

  test(
    "return inputs, leases of the program and fresh memory, and release what the effect released",
    Effect.gen(function*() {
      const outside = yield* floats(1)
      const x = yield* floats(2)
      const list = yield* CommandList.trace(
        [x],
        Effect.fnUntraced(function*([x]) {
          const y = yield* Effect.scoped(
            Effect.flatMap(added(x!, 1), (y) => added(y, 1)).pipe(
              Effect.tap((z) => CommandQueue.copy(z, outside)),
              Effect.as(outside)
            )
          )
          const fresh = yield* added(x!, 5)
          yield* Lease.release(x!)
          return [y, fresh]
        })
      )
      deepStrictEqual([list.writtenInputs, list.writtenLeases], [[], [outside]])
      const results = yield* list.run([x])
      strictEqual(results[0], outside)
      deepStrictEqual(yield* read(outside), [4])
      deepStrictEqual(yield* read(results[1]), [7])
      strictEqual(Lease.isLive(x), false)
      yield* hasStats({ activeBlocks: 2 })
    })
  )

  test(
    "transfer an input to the caller's scope, and release one whose scope has closed",
    Effect.gen(function*() {
      const list = yield* CommandList.trace(
        [yield* floats(0), yield* floats(0), yield* floats(0)],
        Effect.fnUntraced(function*([moved, ended, kept]) {
          yield* Lease.transfer(moved!, yield* Effect.scope)
          yield* Effect.scoped(Effect.flatMap(Effect.scope, (scope) => Lease.transfer(ended!, scope)))
          return yield* LeaseHolder.extract(Effect.flatMap(added(kept!, 1), (y) => added(y, 1)))
        })
      )
      const inputs = yield* Effect.all([floats(1), floats(2), floats(3)])
      deepStrictEqual(yield* Effect.scoped(Effect.flatMap(list.run(inputs), ([y]) => read(y))), [5])
      deepStrictEqual(inputs.map(Lease.isLive), [false, false, true])
    })
  )

  test(
    "refuse memory of a run in a scope that outlives the effect",
    Effect.gen(function*() {
      const outer = yield* Effect.scope
      const moved = CommandList.trace(
        [],
        () => Effect.tap(BufferPool.allocate(4, { label: "moved" }), (lease) => Lease.transfer(lease, outer))
      )
      assert.include((yield* Effect.flip(moved)).message, `the lease "moved" belongs to a scope that outlives`)
      const made = CommandList.trace([], () => Scope.provide(BufferPool.allocate(4), outer))
      assert.include(
        (yield* Effect.flip(made)).message,
        "CommandList.trace: the lease belongs to a scope that outlives"
      )
      yield* hasStats({ activeBlocks: 0 })
    })
  )

  test(
    "release an input whose transfer to a closed scope has failed",
    Effect.gen(function*() {
      const closed = yield* Scope.make()
      yield* Scope.close(closed, Exit.void)
      const transferred = ([x]: ReadonlyArray<BufferPool.PooledBuffer>) =>
        Effect.map(Effect.flip(Lease.transfer(x!, closed)), ({ reason }) => reason._tag)
      const list = yield* CommandList.trace([yield* floats(0)], transferred)
      const [traced, eager] = [yield* floats(1), yield* floats(2)]
      deepStrictEqual([list.traced, yield* transferred([eager])], ["Released", "Released"])
      yield* list.run([traced])
      deepStrictEqual([traced, eager].map(Lease.isLive), [false, false])
    })
  )

  test(
    "lend memory to functions, and end it with them",
    Effect.gen(function*() {
      const list = yield* CommandList.trace(
        [yield* floats(1, 2)],
        ([x]) =>
          BufferPool.useAll([8, 8], ([one, two]) =>
            Effect.gen(function*() {
              yield* CommandQueue.copy(x!, one)
              yield* CommandQueue.dispatch(plus, { x: one, y: two, a: 1 }, 2)
              const result = yield* added(two, 1)
              return yield* BufferPool.use(8, (last) => Effect.as(CommandQueue.copy(two, last), result))
            }))
      )
      strictEqual(list.peakBytes, 24)
      const [result] = yield* list.run([yield* floats(5, 6)])
      deepStrictEqual(yield* read(result), [7, 8])
      yield* hasStats({ activeBlocks: 3 })
    })
  )

  test(
    "call the memory of a run after what lives in it",
    Effect.gen(function*() {
      const list = yield* CommandList.trace(
        [yield* floats(1, 2)],
        Effect.fnUntraced(function*([x]) {
          let last = x!
          for (const label of ["a", "b", "c", "b", "d", "sum"]) last = yield* copiedAs(label, last)
          return { last, rest: yield* BufferPool.allocate(4) }
        })
      )
      const pool = yield* BufferPool.BufferPool
      const asked: Array<unknown> = []
      const listening = BufferPool.BufferPool.of({
        ...pool,
        allocateAll: (sizes, options) =>
          Effect.suspend(() => {
            asked.push(sizes, options?.labels)
            return pool.allocateAll(sizes, options)
          })
      })
      const run = list.run([yield* floats(3, 4)]).pipe(Effect.provideService(BufferPool.BufferPool, listening))
      deepStrictEqual((yield* run).map(({ label }) => label), ["sum", undefined])
      // Every second one lives in the block of the result.
      deepStrictEqual(asked, [[8, 4, 8], ["sum", undefined, "a, c, d"]])
    })
  )

  test(
    "take inputs of the same size and usage, of which a written one comes once",
    Effect.gen(function*() {
      const [x, y] = [yield* floats(1), yield* floats(2)]
      const copied = yield* CommandList.trace([x, y], ([x, y]) => CommandQueue.copy(x!, y!))
      strictEqual(copied.accepts([y, x]), true)
      strictEqual(copied.accepts([x]), false)
      strictEqual(copied.accepts([x, x]), false)
      strictEqual(copied.accepts([x, yield* floats(1, 2)]), false)
      strictEqual(copied.accepts([yield* BufferPool.allocate(4, { usage: BufferUsage.copySrc }), y]), false)
      const error = yield* Effect.flip(copied.run([x, x]))
      strictEqual(error.reason._tag, "InvalidRequest")
      const read = yield* CommandList.trace([x], ([x]) => Effect.andThen(added(x!, 1), CommandQueue.copy(x!, y)))
      strictEqual(read.accepts([y]), false)
    })
  )

  test(
    "are refused as others are: wrong offsets, memory that has ended, and memory of no pool",
    Effect.gen(function*() {
      const x = yield* floats(1)
      const refuses = (
        tag: string,
        f: (x: BufferPool.PooledBuffer) => Effect.Effect<unknown, GpuError, Services>
      ) =>
        Effect.gen(function*() {
          const { reason } = yield* Effect.flip(CommandList.trace([x], ([x]) => f(x!)))
          strictEqual(reason._tag, tag, reason.message)
        })
      yield* refuses("InvalidRequest", (x) => CommandQueue.fill(x, 0, { offset: 3 }))
      yield* refuses("InvalidRequest", (x) => CommandQueue.copy(x, x))
      yield* refuses("InvalidRequest", (x) => CommandQueue.dispatch(plus, { x, y: x, a: 1 }, 1))
      yield* refuses("Released", (x) => Effect.andThen(Lease.release(x), CommandQueue.fill(x, 0)))
      yield* refuses("Released", (x) => Effect.scoped(added(x, 1)))
      yield* refuses(
        "InvalidRequest",
        (x) => Effect.flatMap(MemoryObjects.fromHost(Float32Array.of(1)), (buffer) => CommandQueue.copy(buffer, x))
      )
      yield* refuses("InvalidRequest", (x) => Mapping.map(x, Float32Array))
      yield* refuses("InvalidRequest", (x) => SubRegion.make(x, { size: 4 }))
      yield* refuses("InvalidRequest", () => BufferPool.withBudget(BufferPool.allocate(4), 64))
      const queue = yield* CommandQueue.CommandQueue
      yield* refuses("InvalidRequest", (x) => queue.read(x, Float32Array))
      const { message } = yield* Effect.flip(CommandList.trace([x], ([x]) => SubRegion.make(x!, { size: 4 })))
      assert.include(message, "is a placeholder of a trace")
      yield* refuses("Unsupported", () => BufferPool.allocate(4, { usage: BufferUsage.storage }))
      for (const bytes of [-1, 0.5, "much", undefined as never]) {
        yield* refuses("InvalidRequest", (x) => BufferPool.reserve(added(x, 1), bytes))
      }
      yield* refuses("InvalidRequest", (x) => BufferPool.reserve(added(x, 1), 64, { onExhausted: "never" as never }))
      yield* refuses("InvalidRequest", () => BufferPool.allocate(-1))
      yield* refuses("InvalidRequest", (x) => CommandQueue.read(x, Float32Array))
      yield* hasStats({ activeBlocks: 1 })
    })
  )

  test(
    "are refused in a finalizer that runs when the effect has returned, also if it ignores the refusal",
    Effect.gen(function*() {
      const x = yield* floats(1)
      const late: ReadonlyArray<
        readonly [
          string,
          (x: BufferPool.PooledBuffer, y: BufferPool.PooledBuffer) => Effect.Effect<unknown, GpuError, Services>
        ]
      > = [
        ["recorded a command", (_, y) => CommandQueue.fill(y, 0)],
        ["recorded a command", (x, y) => CommandQueue.copy(x, y)],
        ["recorded a command", (x) => CommandQueue.write(x, Float32Array.of(1))],
        ["recorded a command", (x, y) => CommandQueue.dispatch(plus, { x, y, a: 1 }, 1)],
        ["requested memory", () => BufferPool.use(4, (lease) => CommandQueue.fill(lease, 0))],
        ["requested memory", () => Effect.scoped(BufferPool.allocateAll([4, 4]))]
      ]
      const ends: ReadonlyArray<
        (effect: Effect.Effect<unknown, GpuError, Services>) => Effect.Effect<unknown, never, Services>
      > = [
        Effect.ignore,
        Effect.orDie
      ]
      for (const [did, record] of late) {
        for (const ended of ends) {
          const ending = (y: BufferPool.PooledBuffer, [x]: ReadonlyArray<BufferPool.PooledBuffer>) =>
            Effect.flatMap(
              Effect.context<Services>(),
              (context) => Effect.addFinalizer(() => Effect.provideContext(ended(record(x!, y)), context))
            )
          const { reason } = yield* Effect.flip(
            CommandList.trace([x], (inputs) => Effect.flatMap(BufferPool.allocate(4), (y) => ending(y, inputs)))
          )
          strictEqual(reason._tag, "InvalidRequest", reason.message)
          assert.include(reason.message, `or a fiber that outlives it, ${did} when the effect had returned`)
          const failure = yield* Effect.flip(CommandList.trace([x], (inputs) =>
            Effect.andThen(
              Effect.flatMap(BufferPool.allocate(4), (y) => ending(y, inputs)),
              Effect.fail("of the effect")
            )))
          strictEqual(failure, "of the effect")
        }
      }
      const inside = yield* CommandList.trace([x], ([x]) =>
        Effect.scoped(Effect.andThen(
          Effect.flatMap(CommandQueue.CommandQueue, (queue) =>
            Effect.addFinalizer(() => Effect.orDie(queue.fill(x!, 0)))),
          Effect.void
        )))
      strictEqual(inside.commands, 1)
      yield* inside.run([x])
      deepStrictEqual(yield* read(x), [0])
      yield* hasStats({ activeBlocks: 1 })
    })
  )

  test(
    "are refused where a finalizer ends or moves what the program has after a run",
    Effect.gen(function*() {
      const x = yield* floats(1)
      const outer = yield* Effect.scope
      const ends: ReadonlyArray<(lease: BufferPool.PooledBuffer) => Effect.Effect<unknown, GpuError>> = [
        Lease.release,
        (lease) => Effect.scoped(Effect.flatMap(Effect.scope, (inner) => Lease.transfer(lease, inner))),
        (lease) => Lease.transfer(lease, outer)
      ]
      for (const end of ends) {
        const late = CommandList.trace(
          [x],
          ([x]) => Effect.andThen(Effect.addFinalizer(() => Effect.ignore(end(x!))), added(x!, 1))
        )
        const { reason } = yield* Effect.flip(late)
        strictEqual(reason._tag, "InvalidRequest", reason.message)
        assert.include(reason.message, "released or transferred a lease when the effect had returned")
      }
      const result = CommandList.trace(
        [x],
        ([x]) => Effect.tap(added(x!, 1), (y) => Effect.addFinalizer(() => Effect.ignore(Lease.release(y))))
      )
      assert.include((yield* Effect.flip(result)).message, "released or transferred a lease")
      // Memory of a run ends with it in any case.
      const scratch = yield* CommandList.trace(
        [x],
        ([x]) =>
          Effect.as(Effect.tap(added(x!, 1), (y) => Effect.addFinalizer(() => Effect.orDie(Lease.release(y)))), x)
      )
      deepStrictEqual(yield* read((yield* scratch.run([x]))[0]), [1])
      const inside = yield* CommandList.trace(
        [x],
        ([x]) => Effect.scoped(Effect.addFinalizer(() => Effect.orDie(Lease.release(x!))))
      )
      yield* inside.run([x])
      yield* hasStats({ activeBlocks: 0 })
    })
  )

  test(
    "are refused of a fiber that records one when the effect has returned",
    Effect.gen(function*() {
      const gate = yield* Latch.make()
      const trace = CommandList.trace(
        [yield* floats(1)],
        Effect.fnUntraced(function*([x]) {
          const y = yield* BufferPool.allocate(4)
          const fiber = yield* Effect.forkChild(gate.whenOpen(CommandQueue.copy(x!, y)))
          yield* Effect.addFinalizer(() => Effect.andThen(gate.open, Fiber.await(fiber)))
        })
      )
      const { reason } = yield* Effect.flip(trace)
      strictEqual(reason._tag, "InvalidRequest", reason.message)
      assert.include(reason.message, "recorded a command when the effect had returned")
    })
  )

  it.effect("compile again the kernels that the cache has dropped, also more of them than it keeps", () =>
    Effect.gen(function*() {
      const twice = adding("plus_twice")
      const x = yield* floats(1)
      const list = yield* CommandList.trace(
        [x],
        ([x]) =>
          Effect.tap(
            added(x!, 1),
            (y) =>
              Effect.forEach([twice, plus, twice], (kernel) => CommandQueue.dispatch(kernel, { x: x!, y, a: 2 }, 1), {
                discard: true
              })
          )
      )
      for (let run = 0; run < 2; run++) deepStrictEqual(yield* read((yield* list.run([x]))[0]), [3])
      strictEqual((yield* KernelCache.stats).size, 1)
    }).pipe(Effect.scoped, Effect.provide(layer({ host: { kernelCacheCapacity: 1 } }))))

  test(
    "leave no memory when one of them fails",
    Effect.gen(function*() {
      const outside = yield* floats(1)
      const list = yield* CommandList.trace([], () =>
        Effect.gen(function*() {
          const y = yield* added(outside, 1)
          return yield* added(y, 1)
        }))
      yield* Lease.release(outside)
      strictEqual((yield* Effect.flip(list.run([]))).reason._tag, "Released")
      yield* hasStats({ activeBlocks: 0 })
    })
  )
})

describe("A trace", () => {
  test(
    "has no memory, and says of the pool what is true of it",
    Effect.gen(function*() {
      const list = yield* CommandList.trace([], () =>
        Effect.gen(function*() {
          yield* BufferPool.exclusively(BufferPool.reserve(BufferPool.allocate(1 << 20), 1 << 21))
          yield* BufferPool.allocateAll({ a: 8, b: 16 })
          const { activeBytes } = yield* BufferPool.stats
          return activeBytes
        }))
      assert.strictEqual(list.traced, 0)
      assert.deepStrictEqual([list.commands, list.peakBytes], [0, 0])
      assert.deepStrictEqual(yield* list.run([]), [])
      yield* hasStats({ hits: 0, misses: 0 })
    })
  )

  test(
    "leaves limits to the budget around a run",
    Effect.gen(function*() {
      const x = yield* floats(1, 2)
      const inside = CommandList.trace([x], ([x]) => BufferPool.withBudget(added(x!, 1), 4))
      assert.include((yield* Effect.flip(inside)).message, "BufferPool.withBudget: this effect is traced")
      const list = yield* CommandList.trace([x], ([x]) => added(x!, 1))
      deepStrictEqual(yield* read((yield* list.run([x]))[0]), [2, 3])
      const { reason } = yield* Effect.flip(BufferPool.withBudget(list.run([x]), 4))
      strictEqual(reason._tag, "LimitExceeded")
      yield* hasStats({ activeBlocks: 2 })
    })
  )
})

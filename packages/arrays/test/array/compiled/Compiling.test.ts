/** Compiled functions: what shares a trace, what a run returns, writes and refuses, and what is left after it. */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as BufferPool from "effect-gpu-pool/BufferPool"
import * as CommandQueue from "effect-gpu-pool/CommandQueue"
import type { GpuError } from "effect-gpu-pool/GpuError"
import { Host } from "effect-gpu-pool/host"
import * as KernelCache from "effect-gpu-pool/KernelCache"
import * as Lease from "effect-gpu-pool/Lease"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scheduler from "effect/Scheduler"
import type * as Scope from "effect/Scope"
import { hasStats, nextTurn, ParkAt } from "../../../../../test/support/hostPool.ts"
import * as DeviceArray from "../../../src/array/DeviceArray.ts"
import { costOf, type Gpu, onEveryBackend, strictHost } from "../ArrayBackends.ts"

type Floats = DeviceArray.DeviceArray<"f32">

const f32 = (...numbers: ReadonlyArray<number>) => DeviceArray.fromHost(Float32Array.from(numbers))

const numbersOf = (array: DeviceArray.DeviceArray) =>
  Effect.map(DeviceArray.toHost(array), (all) => Array.from(all as ArrayLike<number>))

const test = (name: string, effect: Effect.Effect<void, unknown, Gpu | Host.Host | Scope.Scope>) =>
  it.effect(name, () => Effect.scoped(effect).pipe(Effect.provide(strictHost)))

/** Checks an InvalidRequest and a part of its message. It may come after the effect has requested memory. */
const fails = <A, R>(effect: Effect.Effect<A, GpuError, R>, mention: string) =>
  Effect.map(Effect.flip(effect), ({ reason }) => {
    strictEqual(reason._tag, "InvalidRequest", reason.message)
    assert.include(reason.message, mention)
  })

/** A compiled function, and how often it was traced. */
const counted = <Args extends ReadonlyArray<unknown>, A, E, R>(f: (...args: Args) => Effect.Effect<A, E, R>) => {
  const count = { traces: 0 }
  const compiled = DeviceArray.compile((...args: Args) => {
    count.traces += 1
    return f(...args)
  })
  return { compiled, count }
}

const norm = Effect.fnUntraced(function*(x: Floats) {
  const squares = yield* Effect.tap(DeviceArray.multiply(x, x), DeviceArray.evaluate)
  return yield* DeviceArray.sqrt(yield* DeviceArray.sum(squares))
})

describe("A compiled function", () => {
  onEveryBackend((gpu) => {
    it.effect("gives in its second run what the eager one does, and compiles nothing", () =>
      Effect.scoped(Effect.gen(function*() {
        const compiled = DeviceArray.compile(norm)
        strictEqual(yield* DeviceArray.toNumber(yield* compiled(yield* f32(3, 4))), 5)
        const second = yield* costOf(Effect.flatMap(f32(5, 12), compiled))
        strictEqual(yield* DeviceArray.toNumber(second.value), 13)
        strictEqual(second.compiled, 0)
      })).pipe(Effect.provide(gpu)))
  })

  test(
    "traces again for another type, shape, layout, sharing and value, and not for other memory",
    Effect.gen(function*() {
      const { compiled, count } = counted((
        { x, y }: { readonly x: DeviceArray.DeviceArray; readonly y: DeviceArray.DeviceArray },
        factor: number
      ) => Effect.flatMap(DeviceArray.add(x, y), DeviceArray.multiply(factor)))
      const x = yield* f32(1, 2, 3, 4)
      const y = yield* f32(5, 6, 7, 8)
      const square = yield* DeviceArray.reshape(x, [2, 2])
      const runs: ReadonlyArray<
        readonly [Effect.Effect<DeviceArray.DeviceArray, GpuError, Gpu | Scope.Scope>, number]
      > = [
        [compiled({ x, y }, 2), 1],
        [compiled({ x: y, y: x }, 2), 1],
        [compiled({ x, y: x }, 2), 2],
        [compiled({ x: y, y }, 2), 2],
        [compiled({ x, y }, 3), 3],
        [compiled({ x: square, y: square }, 2), 4],
        [compiled({ x: yield* DeviceArray.transpose(square), y: square }, 2), 5],
        [
          compiled(
            { x: yield* DeviceArray.slice(x, [{ start: 2 }]), y: yield* DeviceArray.slice(x, [{ stop: 2 }]) },
            2
          ),
          6
        ],
        [compiled({ x: yield* DeviceArray.fromHost(Int32Array.of(1, 2, 3, 4)), y }, 2), 7],
        [compiled({ x, y }, NaN), 8],
        [compiled({ x, y }, NaN), 8],
        [compiled({ x, y }, 2), 8]
      ]
      for (const [run, traces] of runs) {
        yield* run
        strictEqual(count.traces, traces)
      }
      deepStrictEqual(yield* numbersOf(yield* compiled({ x, y: x }, 2)), [4, 8, 12, 16])
      deepStrictEqual(yield* numbersOf(yield* compiled({ x, y }, 2)), [12, 16, 20, 24])
    })
  )

  test(
    "tells plain values and functions apart, and refuses arguments in which a change could not be seen",
    Effect.gen(function*() {
      const { compiled, count } = counted((x: Floats, value: unknown) => DeviceArray.add(x, value === true ? 2 : 1))
      const x = yield* f32(1)
      const symbol = Symbol("s")
      const plain = [1n, 2n, symbol, "a", null, undefined, true, f32, [[]], { a: { b: [] } }, Object.create(null)]
      for (const value of [...plain, ...plain]) yield* compiled(x, value)
      strictEqual(count.traces, plain.length)
      const cyclic: Record<string, unknown> = {}
      cyclic["self"] = [cyclic]
      let deep: unknown = x
      for (let level = 0; level < 17; level++) deep = [deep]
      let wide: unknown = [x]
      for (let level = 0; level < 14; level++) wide = Array.from({ length: 16 }, () => wide)
      const sparse: Array<unknown> = []
      sparse[4_000_000_000] = x
      const throwing = {
        get member(): never {
          throw new RangeError("no")
        }
      }
      const unreadable = {
        get member(): never {
          throw Object.defineProperty(new Error("no"), "name", {
            get: () => {
              throw new Error("no name")
            }
          })
        }
      }
      let reads = 0
      const changing = {
        get member() {
          reads += 1
          return reads % 2 === 1 ? x : new DeviceArray.DeviceArray("f32", x, x.lease!)
        }
      }
      const { proxy, revoke } = Proxy.revocable({}, {})
      revoke()
      const refused: ReadonlyArray<readonly [unknown, string]> = [
        [cyclic, "argument 1 contains itself"],
        [deep, "nested more than 16 deep"],
        [wide, "more than 65536 values"],
        [
          Array.from({ length: 65_537 }, () => 1),
          "argument 1 contains itself, or is nested more than 16 deep, or contains more than 65536"
        ],
        [sparse, "a list without an element"],
        [new Map([["x", x]]), "argument 1 is or has an object of a class"],
        [{ at: new Date(0) }, "an object of a class"],
        [Float32Array.of(1), "an object of a class"],
        [DeviceArray.add(x, 1), "an effect"],
        [throwing, "threw RangeError: no"],
        [unreadable, "threw something that cannot be read"],
        [changing, "was another array"],
        [proxy, "threw TypeError:"]
      ]
      for (const [value, mention] of refused) {
        yield* fails(compiled(x, value), mention)
        yield* fails(compiled.peakBytes(x, value), mention)
      }
      strictEqual(count.traces, plain.length)
      yield* hasStats({ activeBlocks: 2 * plain.length + 1 })
    })
  )

  test(
    "takes 65,536 elements in each argument, whatever their shapes and names",
    Effect.gen(function*() {
      const { compiled, count } = counted((xs: ReadonlyArray<unknown>, ..._rest: ReadonlyArray<unknown>) =>
        DeviceArray.add(xs[0] as Floats, 1)
      )
      const cube = yield* DeviceArray.reshape(yield* f32(1), [1, 1, 1, 1, 1, 1])
      const arrays = Array.from({ length: 65_536 }, () => cube)
      const records = Array.from({ length: 16_384 }, () => ({ a: 1, b: [2] }))
      let deep: unknown = cube
      for (let level = 0; level < 16; level++) deep = [deep]
      for (let call = 0; call < 2; call++) {
        deepStrictEqual(yield* numbersOf(yield* compiled(arrays, records, deep)), [2])
      }
      strictEqual(count.traces, 1)
      yield* fails(compiled(arrays, records, [...records, 1]), "argument 2 contains itself")
    })
  )

  test(
    "is traced once for copies of slices, and for positions in an array, wherever they are",
    Effect.gen(function*() {
      const rows = yield* DeviceArray.reshape(yield* DeviceArray.arange(40), [20, 2])
      const ofCopy = counted((row: Floats) => DeviceArray.sum(row))
      const ofPosition = counted((rows: Floats, position: DeviceArray.DeviceArray<"u32">) =>
        Effect.flatMap(DeviceArray.take(rows, position, { axis: 0 }), DeviceArray.sum)
      )
      for (let row = 0; row < 20; row++) {
        const sum = yield* ofCopy.compiled(yield* DeviceArray.copy(yield* DeviceArray.slice(rows, [row])))
        const same = yield* ofPosition.compiled(rows, yield* DeviceArray.full([], row, { dtype: "u32" }))
        strictEqual(yield* DeviceArray.toNumber(sum), 4 * row + 1)
        strictEqual(yield* DeviceArray.toNumber(same), 4 * row + 1)
      }
      deepStrictEqual([ofCopy.count.traces, ofPosition.count.traces], [1, 1])
    })
  )

  test(
    "refuses results that contain themselves",
    Effect.gen(function*() {
      const compiled = DeviceArray.compile((x: Floats) =>
        Effect.map(DeviceArray.add(x, 1), (sum) => {
          const result: Record<string, unknown> = { sum }
          result["again"] = [result]
          return result
        })
      )
      yield* fails(compiled(yield* f32(1)), "the result contains itself")
      yield* hasStats({ activeBlocks: 1 })
    })
  )

  test(
    "refuses a budget and late ends of arguments inside of it, and needs no reservation there",
    Effect.gen(function*() {
      const x = yield* f32(1, 2)
      const reserved = DeviceArray.compile((x: Floats) =>
        DeviceArray.scoped(DeviceArray.add(x, 1), { reserve: 1 << 20 }).pipe(
          BufferPool.reserve(1 << 20),
          BufferPool.exclusively
        )
      )
      deepStrictEqual(yield* numbersOf(yield* reserved(x)), [2, 3])
      const wrong = DeviceArray.compile((x: Floats) => DeviceArray.scoped(DeviceArray.add(x, 1), { reserve: "some" }))
      yield* fails(wrong(x), `BufferPool.reserve: the reservation "some" is no whole number of bytes`)
      const ending = DeviceArray.compile((x: Floats) =>
        Effect.tap(DeviceArray.add(x, 1), () => Effect.addFinalizer(() => Effect.ignore(Lease.release(x.lease!))))
      )
      yield* fails(ending(x), "released or transferred a lease when the effect had returned")
      const limited = DeviceArray.compile((x: Floats) => BufferPool.withBudget(DeviceArray.add(x, 1), 4))
      yield* fails(limited(x), "BufferPool.withBudget: this effect is traced")
      const inner = DeviceArray.compile((x: Floats) => DeviceArray.add(x, 1))
      const { reason } = yield* Effect.flip(BufferPool.withBudget(inner(x), 4))
      strictEqual(reason._tag, "LimitExceeded")
    })
  )

  test(
    "keeps the sixteen kinds that were used last",
    Effect.gen(function*() {
      const { compiled, count } = counted((x: Floats, factor: number) => DeviceArray.multiply(x, factor))
      const x = yield* f32(1)
      for (let factor = 0; factor < 16; factor++) yield* compiled(x, factor)
      yield* compiled(x, 0)
      strictEqual(count.traces, 16)
      yield* compiled(x, 16)
      yield* compiled(x, 0)
      strictEqual(count.traces, 17)
      yield* compiled(x, 1)
      strictEqual(count.traces, 18)
    })
  )

  test(
    "returns arguments, views of them, arrays of the program, and other values",
    Effect.gen(function*() {
      const outside = yield* f32(7)
      const compiled = DeviceArray.compile(Effect.fnUntraced(function*(x: Floats) {
        const sum = yield* DeviceArray.add(x, outside)
        return { x, row: yield* DeviceArray.slice(x, [1]), sum, again: [sum], outside, name: "sum" }
      }))
      yield* compiled(yield* f32(1, 2))
      const x = yield* f32(3, 4)
      const result = yield* compiled(x)
      strictEqual(result.x, x)
      strictEqual(result.row.lease, x.lease)
      strictEqual(result.outside, outside)
      strictEqual(result.name, "sum")
      strictEqual(result.again[0]!.lease, result.sum.lease)
      deepStrictEqual(yield* numbersOf(result.row), [4])
      deepStrictEqual(yield* numbersOf(result.sum), [10, 11])
    })
  )

  test(
    "does not take an array of the program for an argument that it was once called with",
    Effect.gen(function*() {
      const weights = yield* f32(10, 20)
      const compiled = DeviceArray.compile((x: Floats) => DeviceArray.add(x, weights))
      deepStrictEqual(yield* numbersOf(yield* compiled(weights)), [20, 40])
      deepStrictEqual(yield* numbersOf(yield* compiled(yield* f32(1, 2))), [11, 22])
    })
  )

  test(
    "computes arrays without elements, and of no axes",
    Effect.gen(function*() {
      const compiled = DeviceArray.compile((x: Floats) => Effect.all([DeviceArray.sum(x), DeviceArray.add(x, 1)]))
      for (let run = 0; run < 2; run++) {
        const [sum, more] = yield* compiled(yield* DeviceArray.zeros([0]))
        deepStrictEqual([yield* DeviceArray.toNumber(sum), yield* numbersOf(more)], [0, []])
        const [one, two] = yield* compiled(yield* DeviceArray.full([], 1))
        deepStrictEqual([yield* DeviceArray.toNumber(one), yield* numbersOf(two)], [1, [2]])
      }
    })
  )

  test(
    "computes recorded arguments first, in lazy, in scoped, and as part of another compiled function",
    Effect.gen(function*() {
      const inner = counted((x: Floats) => DeviceArray.add(x, 1))
      const outer = counted((x: Floats) => Effect.flatMap(inner.compiled(x), DeviceArray.multiply(2)))
      const x = yield* f32(1, 2)
      const squares = Effect.flatMap(DeviceArray.square(x), inner.compiled)
      deepStrictEqual(yield* numbersOf(yield* DeviceArray.lazy(squares)), [2, 5])
      deepStrictEqual(yield* numbersOf(yield* DeviceArray.scoped(squares)), [2, 5])
      strictEqual(inner.count.traces, 1)
      for (let run = 0; run < 2; run++) {
        const { kernels, value } = yield* costOf(outer.compiled(x))
        deepStrictEqual(yield* numbersOf(value), [4, 6])
        strictEqual(kernels, run === 0 ? 1 : 0)
      }
    })
  )

  test(
    "writes in place in each run, and arrays that were recorded before know it",
    Effect.gen(function*() {
      const total = yield* f32(0, 0)
      const step = DeviceArray.compile(Effect.fnUntraced(function*(x: Floats) {
        yield* DeviceArray.update(x, DeviceArray.add(1))
        yield* DeviceArray.assign(total, yield* DeviceArray.add(total, x))
      }))
      const x = yield* f32(1, 2)
      for (let run = 0; run < 3; run++) yield* step(x)
      deepStrictEqual(yield* numbersOf(x), [4, 5])
      deepStrictEqual(yield* numbersOf(total), [9, 12])
      const late = DeviceArray.lazy(Effect.gen(function*() {
        const before = yield* DeviceArray.multiply(x, 2)
        yield* step(x)
        return before
      }))
      yield* fails(late, "written in place")
      yield* fails(step(total), "written is given twice")
    })
  )

  test(
    "writes data of the host again in each run, as it was at the trace",
    Effect.gen(function*() {
      const table = Float32Array.of(1, 2)
      const compiled = DeviceArray.compile(Effect.fnUntraced(function*(x: Floats) {
        return yield* DeviceArray.add(x, yield* DeviceArray.fromHost(table))
      }))
      const x = yield* f32(0, 0)
      for (let run = 0; run < 2; run++) {
        deepStrictEqual(yield* numbersOf(yield* compiled(x)), [1, 2])
        table.fill(9)
      }
    })
  )

  test(
    "refuses what cannot run again, by name, and keeps no trace of a failure",
    Effect.gen(function*() {
      const x = yield* f32(1, 2)
      const refusesIn = (f: (x: Floats) => Effect.Effect<unknown, GpuError, Gpu | Scope.Scope>, name: string) => {
        const { compiled, count } = counted(f)
        return Effect.gen(function*() {
          for (let run = 1; run <= 2; run++) {
            yield* fails(compiled(x), name)
            strictEqual(count.traces, run)
          }
        })
      }
      yield* refusesIn(DeviceArray.toHost, "CommandQueue.read")
      yield* refusesIn((x) => Effect.flatMap(DeviceArray.sum(x), DeviceArray.toNumber), "CommandQueue.read")
      yield* refusesIn(() => CommandQueue.finish, "CommandQueue.finish")
      yield* refusesIn(() => CommandQueue.flush, "CommandQueue.flush")
      yield* refusesIn(() => CommandQueue.event, "CommandQueue.event")
      yield* refusesIn(() => CommandQueue.make(), "CommandQueue.open")
      yield* refusesIn(
        (x) => CommandQueue.CommandQueue.use((queue) => CommandQueue.on(DeviceArray.add(x, 1), queue)),
        "CommandQueue.on"
      )
      yield* refusesIn(() => BufferPool.allocate(4), "no array")
      const recorded = DeviceArray.lazy(Effect.gen(function*() {
        const before = yield* DeviceArray.add(x, 1)
        yield* refusesIn(() => DeviceArray.sum(before), "outside")
        yield* refusesIn((x) => DeviceArray.add(x, before), "outside")
        return before
      }))
      deepStrictEqual(yield* numbersOf(yield* recorded), [2, 3])
      let leaked: Floats | undefined
      const leaking = DeviceArray.compile(Effect.fnUntraced(function*(x: Floats) {
        leaked = yield* DeviceArray.add(x, 1)
      }))
      yield* leaking(x)
      yield* fails(DeviceArray.toHost(leaked!), "outside")
    })
  )

  test(
    "fails with Released for arguments and arrays of the program that have ended, and leaves no memory",
    Effect.gen(function*() {
      const outside = yield* f32(1)
      const compiled = DeviceArray.compile((x: Floats) => DeviceArray.add(x, outside))
      const x = yield* f32(1)
      yield* Effect.scoped(compiled(x))
      const { activeBlocks } = yield* BufferPool.stats
      const ended = yield* Effect.scoped(f32(1))
      strictEqual((yield* Effect.flip(compiled(ended))).reason._tag, "Released")
      strictEqual((yield* BufferPool.stats).activeBlocks, activeBlocks)
      yield* Lease.release(outside.lease!)
      strictEqual((yield* Effect.flip(compiled(x))).reason._tag, "Released")
      strictEqual((yield* BufferPool.stats).activeBlocks, activeBlocks - 1)
    })
  )

  test(
    "compiles kernels again that the cache has dropped",
    Effect.gen(function*() {
      const compiled = DeviceArray.compile(norm)
      const x = yield* f32(3, 4)
      yield* compiled(x)
      yield* KernelCache.clear
      const again = yield* costOf(compiled(x))
      strictEqual(yield* DeviceArray.toNumber(again.value), 5)
      assert.isAbove(again.compiled, 0)
      strictEqual((yield* costOf(compiled(x))).compiled, 0)
    })
  )

  test(
    "has the same block for arrays that are not needed together, and requests all at once",
    Effect.gen(function*() {
      const chain = DeviceArray.compile(Effect.fnUntraced(function*(x: Floats) {
        let y = x
        for (let step = 0; step < 8; step++) y = yield* Effect.tap(DeviceArray.add(y, 1), DeviceArray.evaluate)
        return yield* DeviceArray.sum(y)
      }))
      const x = yield* DeviceArray.zeros([64])
      strictEqual(yield* chain.peakBytes(x), 2 * 256 + 4)
      const { leases, value } = yield* costOf(chain(x))
      strictEqual(leases, 3)
      strictEqual(yield* DeviceArray.toNumber(value), 512)
      strictEqual((yield* BufferPool.stats).activeBlocks, 2)
    })
  )

  it.effect("runs on the device that it is called on, and on a new one after a loss", () =>
    Effect.gen(function*() {
      const { compiled, count } = counted(norm)
      const once = Effect.gen(function*() {
        const x = yield* f32(3, 4)
        for (let run = 0; run < 2; run++) strictEqual(yield* DeviceArray.toNumber(yield* compiled(x)), 5)
        return x
      })
      yield* Effect.gen(function*() {
        const x = yield* once
        yield* Effect.map(Host.Host, ({ faults }) => faults.lose("gone"))
        strictEqual((yield* Effect.flip(compiled(x))).reason._tag, "DeviceLost")
      }).pipe(Effect.scoped, Effect.provide(Layer.fresh(strictHost)))
      yield* Effect.scoped(once).pipe(Effect.provide(Layer.fresh(strictHost)))
      strictEqual(count.traces, 2)
    }))

  it.effect("can be called by many fibers at once, also before its first trace", () =>
    Effect.gen(function*() {
      const compiled = DeviceArray.compile(norm)
      const one = Effect.gen(function*() {
        const x = yield* f32(3, 4)
        return yield* DeviceArray.toNumber(yield* compiled(x))
      })
      const all = yield* Effect.replicateEffect(Effect.scoped(one), 20, { concurrency: "unbounded" })
      deepStrictEqual(all, Array.from({ length: 20 }, () => 5))
      yield* hasStats({ activeBlocks: 0 })
    }).pipe(Effect.provide(strictHost)))

  it.effect("leaves no memory behind wherever its fiber is interrupted, at the trace or in a run", () =>
    Effect.gen(function*() {
      const x = yield* f32(3, 4)
      const before = (yield* BufferPool.stats).activeBlocks
      for (const isWarm of [false, true]) {
        for (let step = 0, isReached = true; isReached; step++) {
          const compiled = DeviceArray.compile(norm)
          if (isWarm) yield* Effect.scoped(compiled(x))
          const scheduler = new ParkAt(step)
          yield* Effect.scoped(Effect.gen(function*() {
            const fiber = yield* Effect.forkChild(Effect.provideService(compiled(x), Scheduler.Scheduler, scheduler))
            yield* nextTurn
            const interruption = yield* Effect.forkChild(Fiber.interrupt(fiber), { startImmediately: true })
            scheduler.resume()
            yield* Fiber.join(interruption)
          }))
          strictEqual((yield* BufferPool.stats).activeBlocks, before, `step ${step}`)
          isReached = scheduler.reached
        }
      }
    }).pipe(Effect.scoped, Effect.provide(strictHost)))
})

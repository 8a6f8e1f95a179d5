import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as BufferPool from "effect-gpu-pool/BufferPool"
import type { PooledBuffer } from "effect-gpu-pool/BufferPool"
import * as CommandQueue from "effect-gpu-pool/CommandQueue"
import type { GpuError } from "effect-gpu-pool/GpuError"
import { ScalarArg, VectorArg } from "effect-gpu-pool/KernelArgument"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scheduler from "effect/Scheduler"
import * as Scope from "effect/Scope"
import * as fc from "fast-check"
import { hasStats, isConsistent, layer, nextTurn, open, ParkAt, reasonOf } from "../../../../test/support/hostPool.ts"
import * as Expr from "../../src/kernels/Expr.ts"
import * as Expression from "../../src/kernels/expression/Expression.ts"
import { divide, type Runner } from "../../src/kernels/reduction/Division.ts"
import * as ReductionKernel from "../../src/kernels/ReductionKernel.ts"
import { divide as divideScan } from "../../src/kernels/scan/Scan.ts"
import * as ScanKernel from "../../src/kernels/ScanKernel.ts"
import { chainOf } from "./ReductionModel.ts"

const x = VectorArg("f32", "x", { access: "read" })

const sum = ReductionKernel.make({
  name: "sum",
  args: [x],
  map: ({ x }) => x,
  combine: (a, b) => Expr.add(a, b),
  neutral: 0
})

const cumsum = ScanKernel.make({
  name: "cumsum",
  args: [x],
  map: ({ x }) => x,
  combine: (a, b) => Expr.add(a, b),
  neutral: 0
})

describe("the parts of a reduction", () => {
  const rows = fc.oneof(fc.integer({ min: 1, max: 300 }), fc.integer({ min: 1, max: 2 ** 32 - 1 }))
  const length = fc.oneof(
    fc.integer({ min: 1, max: 2000 }),
    fc.integer({ min: 1, max: 200_000 }),
    fc.integer({ min: 1, max: 2 ** 32 - 1 })
  )
  const runner = fc.constantFrom<Runner>("items", "cpu", "gpu")

  it("are whole rows, or none of them empty", () => {
    fc.assert(fc.property(rows, length, runner, (rows, length, runner) => {
      const { parts, segment } = divide(rows, length, runner)
      assert.isTrue((parts - 1) * segment < length && parts * segment >= length)
    }))
  })

  it("are combined by two kernels where there are workgroups", () => {
    fc.assert(fc.property(rows, length, fc.constantFrom<Runner>("cpu", "gpu"), (rows, length, runner) => {
      strictEqual(divide(rows, divide(rows, length, runner).parts, runner).parts, 1)
    }))
  })

  it("keep chains of combinations short", () => {
    fc.assert(fc.property(length, runner, (length, runner) => {
      assert.isAtMost(chainOf(1, length, runner), length / 262_144 + 1100)
    }))
  })

  it("of scans are whole rows, or many and none of them empty", () => {
    fc.assert(fc.property(rows, length, (rows, length) => {
      const { parts, segment } = divideScan(rows, length)
      assert.isTrue((parts - 1) * segment < length && parts * segment >= length)
      assert.isTrue(parts === 1 || rows * parts <= 65_536)
    }))
  })
})

type Services = BufferPool.BufferPool | CommandQueue.CommandQueue | Scope.Scope

const definition = {
  name: "sum",
  args: [x],
  map: ({ x }: { readonly x: Expr.Expr<"f32"> }) => x,
  combine: (a: Expr.Expr<"f32">, b: Expr.Expr<"f32">) => Expr.add(a, b),
  neutral: 0
}

/** Wrong definitions, also ones that the types forbid. */
const definitions: Readonly<Record<string, readonly [change: object, message: RegExp]>> = {
  "a vector that it may write": [{ args: [VectorArg("f32", "x")] }, /it may write its argument "x". Declare .*"read"/],
  "a name that no language accepts": [{ name: "a sum" }, /"a sum" in kernel .* is no name that every language accepts/],
  "an argument that hides a function": [{ args: [x, ScalarArg("u32", "min")] }, /"min" hides a function/],
  "a map of another kernel's arguments": [
    { map: () => Expression.make("f32", { _tag: "Scalar", name: "other" }) },
    /map uses the argument "other" \(f32\), which it does not get. Use the expressions/
  ],
  "a wrong expression": [
    { map: ({ x }: Inputs) => Expr.add(x, Expr.astype(x, "u32") as never) },
    /the operands are f32, u32/
  ],
  "a neutral value that the type does not hold": [
    { map: () => Expr.constant("u32", 1), neutral: -1 },
    /the neutral value is -1, which is no u32/
  ],
  "a combine of another type": [
    { combine: (a: Expr.Expr<"f32">) => Expr.astype(a, "i32") },
    /combine returned an expression of i32, and the state is f32. Cast it: Expr.astype\(value, "f32"\)/
  ],
  "a combine that answers a truth value": [
    { combine: (a: Expr.Expr<"f32">, b: Expr.Expr<"f32">) => Expr.less(a, b) },
    /combine returned an expression of bool/
  ],
  "a combine that uses an argument": [
    {
      args: [x, ScalarArg("f32", "a")],
      combine: () => Expression.make("f32", { _tag: "Scalar", name: "a" })
    },
    /combine uses the argument "a" \(f32\), which it does not get. It may use only the two states/
  ],
  "a combine that uses the index": [
    { combine: (a: Expr.Expr<"f32">) => Expr.add(a, Expr.astype(Expr.index, "f32")) },
    /combine uses the element's index/
  ],
  "a combine that uses a state of another kernel": [
    { combine: () => Expression.make("f32", { _tag: "Variable", name: "state__0" }) },
    /combine uses a state of another kernel, which it does not get/
  ],
  "functions that are too deep together": [
    {
      map: ({ x }: Inputs) => chain(x, 600),
      combine: (a: Expr.Expr<"f32">, b: Expr.Expr<"f32">) => chain(Expr.add(a, b), 600)
    },
    /more than 1000 operations deep/
  ],
  "too many expressions": [
    { map: ({ x }: Inputs) => balanced(Array.from({ length: 5000 }, (_, k) => Expr.multiply(x, k))) },
    /map makes \d+ expressions, which is more than 4096/
  ]
}

type Inputs = { readonly x: Expr.Expr<"f32"> }

type Low = { readonly low: Expr.Expr<"f32"> }

const balanced = (values: ReadonlyArray<Expr.Expr<"f32">>): Expr.Expr<"f32"> => {
  const half = values.length >> 1
  return half === 0 ? values[0]! : Expr.add(balanced(values.slice(0, half)), balanced(values.slice(half)))
}

const chain = (value: Expr.Expr<"f32">, length: number): Expr.Expr<"f32"> =>
  length === 0 ? value : chain(Expr.abs(value), length - 1)

const reductionOf = (change: object) => ReductionKernel.make({ ...definition, ...change })

const scanOf = (change: object) => ScanKernel.make({ ...definition, ...change })

const runBoth = (change: object) => {
  const kernel = ReductionKernel.makeState({
    name: "both",
    args: [],
    state: { low: "f32", high: "u32" },
    map: () => ({ low: Expr.constant("f32", 0), high: Expr.index }),
    combine: (a) => a,
    neutral: { low: 0, high: 0 },
    ...change
  })
  return ReductionKernel.run(kernel, {}, 3)
}

const refused = Effect.fnUntraced(function*(run: Effect.Effect<unknown, GpuError, Services>, message: RegExp) {
  const before = yield* BufferPool.stats
  const reason = yield* reasonOf(run)
  strictEqual(reason._tag, "InvalidRequest")
  assert.match(reason.message, message)
  yield* hasStats({ activeBlocks: before.activeBlocks, activeBytes: before.activeBytes })
})

describe("a mistake in a definition", () => {
  it.effect.each(Object.entries(definitions))(
    "is told by the first run: %s",
    ([, [change, message]]) =>
      Effect.gen(function*() {
        const lease = yield* BufferPool.allocate(4000)
        const args = {
          x: lease,
          ...("args" in change && Array.isArray(change.args) && change.args.length > 1 ? { a: 1 } : {})
        }
        yield* refused(ReductionKernel.run(reductionOf(change), args, 1000), message)
        yield* refused(ScanKernel.run(scanOf(change), args, 1000), message)
      }).pipe(Effect.scoped, Effect.provide(layer()))
  )

  it.effect("names the value of a state", () =>
    Effect.gen(function*() {
      yield* refused(runBoth({ neutral: { low: 0, high: NaN } }), /the neutral value for "high" is NaN, .* no u32/)
      yield* refused(
        runBoth({ map: () => ({ low: Expr.index, high: Expr.index }) }),
        /map returned an expression of u32 for "low"/
      )
      yield* refused(
        runBoth({ map: () => ({ low: 1 as never, high: Expr.index }) }),
        /map returned 1 for "low", which is no expression. Return an expression, as Expr.constant\(".*", 1\) is/
      )
      yield* refused(runBoth({ state: {} }), /its state has no value/)
      const { high } = yield* runBoth({})
      strictEqual(high.size, 4)
    }).pipe(Effect.scoped, Effect.provide(layer())))

  it.effect("cannot come later: the functions are called once, when the kernel is defined", () =>
    Effect.gen(function*() {
      const calls: Array<string> = []
      const once = <F extends (...args: never) => unknown>(name: string, f: F): F =>
        ((...args: never) => {
          assert.notInclude(calls, name)
          calls.push(name)
          return f(...args)
        }) as F
      const sum = reductionOf({ map: once("map", definition.map), combine: once("combine", definition.combine) })
      const state: { low: "f32"; high?: "f32" } = { low: "f32" }
      const both = ReductionKernel.makeState({
        name: "both",
        args: [],
        state: state as { low: "f32" },
        map: once("state map", () => ({ low: Expr.constant("f32", 1) })),
        combine: once("state combine", (a: Low, b: Low) => ({ low: Expr.add(a.low, b.low) })),
        neutral: { low: 0 }
      })
      const scan = scanOf({
        map: once("scan map", definition.map),
        combine: once("scan combine", definition.combine),
        output: once(
          "output",
          (scanned: Expr.Expr<"f32">, inputs: Inputs) =>
            Expr.add(scanned, Expr.at(inputs.x, Expr.astype(scanned, "u32")))
        )
      })
      const all = ["map", "combine", "state map", "state combine", "scan map", "output", "scan combine"]
      deepStrictEqual(calls, all)
      state.high = "f32"
      const lease = yield* BufferPool.allocate(4000)
      yield* CommandQueue.write(lease, new Float32Array(1000).fill(1))
      const number = Effect.flatMap((result: PooledBuffer) => CommandQueue.read(result, Float32Array))
      deepStrictEqual([...(yield* number(ReductionKernel.run(sum, { x: lease }, 1000)))], [1000])
      deepStrictEqual(Object.keys(yield* ReductionKernel.run(both, {}, 1000)), ["low"])
      const scanned = yield* number(ScanKernel.run(scan, { x: lease }, 1000))
      deepStrictEqual([...scanned], Array.from({ length: 1000 }, (_, k) => k + 2))
      deepStrictEqual(calls, all)
    }).pipe(Effect.scoped, Effect.provide(layer())))

  it.effect("is an output of something else", () =>
    Effect.gen(function*() {
      const stray = { output: () => Expression.make("f32", { _tag: "Scalar", name: "other" }) }
      const lease = yield* BufferPool.allocate(4)
      yield* refused(ScanKernel.run(scanOf(stray), { x: lease }, 1), /output uses the argument "other"/)
    }).pipe(Effect.scoped, Effect.provide(layer())))
})

describe("a mistake in a run", () => {
  const counts = [-1, 0.5, NaN, Infinity, 2 ** 32]

  it.effect("is reported before anything is leased", () =>
    Effect.gen(function*() {
      const lease = yield* BufferPool.allocate(4000)
      const view = VectorArg("f32", "x", { access: "read", withOffset: true })
      const [tail, tails] = [reductionOf({ args: [view] }), scanOf({ args: [view] })]
      const released = yield* BufferPool.use(4000, Effect.succeed)
      const given: ReadonlyArray<readonly [args: unknown, count: number, message: RegExp]> = [
        ...counts.map((count) => [{ x: lease }, count, /is no whole number of elements/] as const),
        [{ x: lease }, 1001, /1001 elements from offset 0 of argument "x" exceed its 1000 elements. .* at most 1000/],
        [{ x: { buffer: lease, offset: 400 } }, 601, /601 elements from offset 400 .* at most 600/],
        [{ x: { buffer: lease, offset: 2000 } }, 1, /exceed its 1000 elements. .* at most 0/],
        [{ x: { buffer: lease, offset: -1 } }, 1, /offset -1 of argument "x" is outside/],
        [{}, 1, /argument "x" is missing/]
      ]
      for (const [args, count, message] of given) {
        yield* refused(ReductionKernel.run(tail, args as { readonly x: typeof lease }, count), message)
        yield* refused(ScanKernel.run(tails, args as { readonly x: typeof lease }, count), message)
      }
      const gone = [ReductionKernel.run(sum, { x: released }, 9), ScanKernel.run(cumsum, { x: released }, 9)]
      for (const run of gone) strictEqual((yield* reasonOf<unknown, Services>(run))._tag, "Released")
      yield* hasStats({ activeBlocks: 1 })
    }).pipe(Effect.scoped, Effect.provide(layer())))

  it("is seen by the compiler where it can be", () => {
    // @ts-expect-error a vector that the kernel may write
    const writable = ReductionKernel.make({ ...definition, args: [VectorArg("f32", "x")] })
    // @ts-expect-error an argument that is missing
    const missing = ReductionKernel.run(sum, {}, 1)
    // @ts-expect-error an argument of another kind
    const wrong = ScanKernel.run(cumsum, { x: 1 }, 1)
    assert.isDefined([writable, missing, wrong])
  })

  it.effect("is a state of more values than a further kernel could take, where there is one", () =>
    Effect.gen(function*() {
      const names = ["a", "b", "c", "d", "e"]
      const all = <A>(value: A) => Object.fromEntries(names.map((name) => [name, value]))
      const many = ReductionKernel.makeState({
        name: "many",
        args: [x],
        state: all("f32" as const),
        map: ({ x }) => all(x),
        combine: (a, b) => Object.fromEntries(names.map((name) => [name, Expr.add(a[name]!, b[name]!)])),
        neutral: all(0)
      })
      const lease = yield* BufferPool.allocate(4 * 2049)
      const results = yield* Effect.scoped(ReductionKernel.run(many, { x: lease }, 2048))
      deepStrictEqual(Object.keys(results), names)
      const reason = yield* reasonOf(ReductionKernel.run(many, { x: lease }, 2049))
      assert(reason._tag === "LimitExceeded")
      deepStrictEqual([reason.limitName, reason.requested, reason.limit], ["maxVectorArguments", 10, 8])
      yield* hasStats({ activeBlocks: 1 })
    }).pipe(Effect.scoped, Effect.provide(layer())))
})

describe("when things go wrong around a run", () => {
  const runs: Readonly<Record<string, (lease: Lease, count: number) => Effect.Effect<unknown, GpuError, Services>>> = {
    "a reduction": (lease, count) => ReductionKernel.run(sum, { x: lease }, count),
    "a scan": (lease, count) => ScanKernel.run(cumsum, { x: lease }, count)
  }

  it.effect.each(Object.entries(runs))("%s on a lost device answers DeviceLost", ([, run]) =>
    Effect.gen(function*() {
      const { closeHost, closePool, context, driverObjects, faults } = yield* open()
      yield* Effect.gen(function*() {
        const lease = yield* BufferPool.allocate(4000)
        yield* run(lease, 1000)
        faults.lose("unplugged")
        for (const count of [0, 1, 1000]) strictEqual((yield* reasonOf(run(lease, count)))._tag, "DeviceLost")
      }).pipe(Effect.scoped, Effect.provide(context))
      yield* hasStats({ activeBlocks: 0, releaseFailures: 0 }).pipe(Effect.provide(context))
      yield* closePool
      yield* closeHost
      strictEqual(driverObjects.live, 0)
    }))

  it.effect.each(Object.entries(runs))(
    "%s without the memory for it leaves nothing behind",
    ([, run]) =>
      Effect.gen(function*() {
        const lease = yield* BufferPool.allocate(4000)
        for (let limit = 4000; limit < 4400; limit += 4) {
          const taken = yield* Effect.exit(Effect.scoped(run(lease, 1000)))
          if (Exit.isFailure(taken)) assert.match(Cause.pretty(taken.cause), /Out of memory|over maxBytes/)
          yield* hasStats({ activeBlocks: 1 })
          yield* BufferPool.freeHeld
        }
      }).pipe(Effect.scoped, Effect.provide(layer({ host: { capacityBytes: 4200 } })))
  )

  it.live.each(Object.entries(runs))(
    "%s can be interrupted anywhere, and loses no block",
    ([, run]) =>
      Effect.gen(function*() {
        let k = 0
        while (yield* interruptedAt(run, k)) k += 1
        assert.isAtLeast(k, 10)
      })
  )

  type Lease = Effect.Success<ReturnType<typeof BufferPool.allocate>>

  /** Interrupts the run before its k-th operation. False when it has no k-th operation. */
  const interruptedAt = Effect.fnUntraced(function*(run: (typeof runs)[string], k: number) {
    const opened = yield* open()
    const outer = Scope.makeUnsafe()
    const lease = yield* BufferPool.allocate(4000).pipe(Scope.provide(outer), Effect.provide(opened.context))
    const scheduler = new ParkAt(k)
    const mine = Scope.makeUnsafe()
    const context = opened.context.pipe(Context.add(Scope.Scope, mine), Context.add(Scheduler.Scheduler, scheduler))
    const fiber = Effect.runForkWith(context)(run(lease, 1000))
    while (!scheduler.reached && fiber.pollUnsafe() === undefined) yield* nextTurn
    fiber.interruptUnsafe()
    scheduler.resume()
    const exit = yield* Fiber.await(fiber)
    assert.isTrue(Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause))
    yield* Scope.close(mine, Exit.void)
    const stats = yield* opened.pool.stats
    isConsistent(stats, opened.driverObjects)
    deepStrictEqual([stats.activeBlocks, stats.activeBytes], [1, 4000])
    yield* Scope.close(outer, Exit.void)
    yield* opened.closePool
    yield* opened.closeHost
    strictEqual(opened.driverObjects.live, 0)
    return scheduler.reached
  })
})

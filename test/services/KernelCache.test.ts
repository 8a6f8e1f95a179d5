import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scheduler from "effect/Scheduler"
import * as Scope from "effect/Scope"
import type { DeviceInfo } from "../../src/domain/device/DeviceInfo.ts"
import { DeviceStatus } from "../../src/domain/device/DeviceStatus.ts"
import { DriverError, type GpuError, make as makeError } from "../../src/domain/GpuError.ts"
import * as Kernel from "../../src/domain/kernel/Kernel.ts"
import { ScalarArg, VectorArg } from "../../src/domain/kernel/KernelArgument.ts"
import { writer } from "../../src/layers/Host/language/JavaScript.ts"
import * as KernelCache from "../../src/services/device/KernelCache.ts"
import { nextTurn, ParkAt, reasonOf, tagOf } from "../support/hostPool.ts"
import { info as someDevice } from "../support/someDevice.ts"

class Compiled extends KernelCache.CompiledKernel {}

const info: DeviceInfo = {
  ...someDevice,
  name: "small",
  limits: { ...someDevice.limits, maxBufferSize: 64, maxBindingSize: 64, maxWorkgroupSize: 128, maxVectorArguments: 2 },
  dtypes: new Set(["f32", "u32"])
}

const make = (compiler: KernelCache.KernelCompiler<Compiled>, capacity?: number) =>
  KernelCache.make(compiler, { status: new DeviceStatus("test"), info, capacity })

const host = (): void => {}

const kernel = (name: string) => Kernel.make({ name, args: [], body: { host } })

/** A compiler that counts its calls, and compiles at once unless told otherwise. */
class Compiler implements KernelCache.KernelCompiler<Compiled> {
  readonly events: Array<string> = []
  live = 0
  before: Effect.Effect<void, GpuError> = Effect.void

  readonly writer = Effect.succeed(writer)
  readonly compile = (kernel: Kernel.Kernel) =>
    Effect.suspend(() => {
      this.events.push(`compile ${kernel.name}`)
      return Effect.map(this.before, () => {
        this.live += 1
        return new Compiled(kernel)
      })
    })
  readonly release = ({ kernel }: Compiled) => {
    this.live -= 1
    this.events.push(`release ${kernel.name}`)
  }
}

const failed = makeError(
  new DriverError({
    backend: "test",
    call: "compile",
    codeName: undefined,
    code: 1,
    log: "line 1",
    commands: [],
    hint: "Fix it."
  })
)

describe("a kernel", () => {
  it.effect("is compiled once, and found by its key", () =>
    Effect.gen(function*() {
      const compiler = new Compiler()
      const cache = yield* make(compiler)
      const a = kernel("a")
      strictEqual(cache.getUnsafe(a), undefined)
      const compiled = yield* cache.get(a)
      strictEqual(yield* cache.get(a), compiled)
      strictEqual(cache.getUnsafe(a), compiled)
      strictEqual(yield* cache.get(kernel("a")), compiled)
      deepStrictEqual(compiler.events, ["compile a"])
      deepStrictEqual(yield* cache.stats, { hits: 3, misses: 1, evictions: 0, size: 1, capacity: 256 })
    }))

  it.effect("that does not compile is tried again by the next caller", () =>
    Effect.gen(function*() {
      const compiler = new Compiler()
      compiler.before = Effect.fail(failed)
      const cache = yield* make(compiler)
      const reason = yield* reasonOf(cache.get(kernel("a")))
      assert(reason._tag === "DriverError")
      strictEqual(reason.log, "line 1")
      compiler.before = Effect.void
      yield* cache.get(kernel("a"))
      deepStrictEqual(yield* cache.stats, { hits: 0, misses: 2, evictions: 0, size: 1, capacity: 256 })
    }))

  it.effect("whose compiler dies or throws is tried again too", () =>
    Effect.gen(function*() {
      const compiler = new Compiler()
      compiler.before = Effect.die("broken compiler")
      const cache = yield* make({
        ...compiler,
        compile: (kernel) => {
          if (kernel.name === "throws" && compiler.events.length === 0) {
            compiler.events.push("throw")
            throw new Error("broken compiler")
          }
          return compiler.compile(kernel)
        }
      })
      for (const name of ["throws", "dies"]) {
        const exit = yield* Effect.exit(cache.get(kernel(name)))
        assert(Exit.isFailure(exit) && Cause.hasDies(exit.cause), name)
      }
      compiler.before = Effect.void
      yield* cache.get(kernel("throws"))
      yield* cache.get(kernel("dies"))
      strictEqual((yield* cache.stats).size, 2)
    }))

  it.effect("is compiled once for all that ask at the same time, and they share its failure", () =>
    Effect.gen(function*() {
      const compiler = new Compiler()
      const gate = yield* Deferred.make<void, GpuError>()
      compiler.before = Deferred.await(gate)
      const cache = yield* make(compiler)
      const ask = (name: string) => Effect.forkChild(cache.get(kernel(name)), { startImmediately: true })
      const fibers = [yield* ask("a"), yield* ask("a"), yield* ask("b"), yield* ask("a")]
      deepStrictEqual(compiler.events, ["compile a", "compile b"])
      yield* Fiber.interrupt(fibers[0]!)
      yield* Deferred.fail(gate, failed)
      for (const fiber of fibers.slice(1)) strictEqual(yield* tagOf(Fiber.join(fiber)), "DriverError")
      deepStrictEqual(yield* cache.stats, { hits: 2, misses: 2, evictions: 0, size: 0, capacity: 256 })
    }))

  it.live("answers its caller, wherever the scope closes meanwhile", () =>
    Effect.gen(function*() {
      let reached = true
      for (let step = 0; reached; step++) {
        const compiler = new Compiler()
        const scope = yield* Scope.make()
        const cache = yield* Scope.provide(make(compiler), scope)
        const scheduler = new ParkAt(step)
        const asking = Effect.runFork(Effect.provideService(cache.get(kernel("k")), Scheduler.Scheduler, scheduler))
        const closing = Effect.runFork(Scope.close(scope, Exit.void))
        yield* nextTurn
        scheduler.resume()
        yield* nextTurn
        reached = scheduler.reached
        const exit = asking.pollUnsafe()
        assert.isDefined(exit, `step ${step}: the caller waits for ever`)
        if (Exit.isFailure(exit)) strictEqual(yield* tagOf(exit), "DeviceLost", `step ${step}`)
        assert.isDefined(closing.pollUnsafe(), `step ${step}: the close waits for ever`)
        strictEqual(compiler.live, 0, `step ${step}`)
      }
    }))

  it.live("wherever its first caller is interrupted, serves the others", () =>
    Effect.gen(function*() {
      for (const slow of [false, true]) {
        let reached = true
        for (let k = 0; reached; k++) {
          const compiler = new Compiler()
          if (slow) compiler.before = nextTurn
          const scope = yield* Scope.make()
          const cache = yield* Scope.provide(make(compiler), scope)
          const scheduler = new ParkAt(k)
          const first = Effect.runFork(Effect.provideService(cache.get(kernel("a")), Scheduler.Scheduler, scheduler))
          for (let turns = 0; turns < 4; turns++) yield* nextTurn
          const second = yield* Effect.forkChild(cache.get(kernel("a")), { startImmediately: true })
          first.interruptUnsafe()
          scheduler.resume()
          yield* Fiber.await(first)
          strictEqual((yield* Fiber.join(second)).kernel.name, "a")
          strictEqual(compiler.live, 1)
          yield* Scope.close(scope, Exit.void)
          strictEqual(compiler.live, 0)
          reached = scheduler.reached
          assert.isBelow(k, 100)
        }
      }
    }))

  it("is checked before anything is compiled", () =>
    Effect.gen(function*() {
      const compiler = new Compiler()
      const cache = yield* make(compiler)
      const malformed = Kernel.make({ name: "not a name", args: [], body: { host: () => {} } })
      strictEqual(yield* tagOf(cache.get(malformed)), "InvalidRequest")
      deepStrictEqual(compiler.events, [])
      deepStrictEqual(yield* cache.stats, { hits: 0, misses: 0, evictions: 0, size: 0, capacity: 256 })
    }).pipe(Effect.scoped, Effect.runPromise))
})

/** Why a small device refuses a kernel, without anything compiled. */
const refused = (options: Partial<Pick<Kernel.Kernel, "args" | "workgroupSize">>) =>
  Effect.gen(function*() {
    const compiler = new Compiler()
    const cache = yield* make(compiler)
    const error = yield* Effect.flip(cache.get({ ...kernel("a"), ...options }))
    deepStrictEqual(compiler.events, [])
    return error
  })

describe("a kernel that the device cannot run", () => {
  it.effect("for its element types names the argument, and those that it can have", () =>
    Effect.gen(function*() {
      for (const argument of [VectorArg("f64", "wide"), ScalarArg("f64", "wide")]) {
        const error = yield* refused({ args: [argument] })
        strictEqual(error.reason._tag, "Unsupported")
        assert.match(error.message, /^KernelCache\.get, kernel "a": f64 \(argument "wide"\) .*f32, u32/)
      }
    }))

  it.effect("for its vectors or its workgroup names the limit", () =>
    Effect.gen(function*() {
      const limits: Array<readonly [string, number, number]> = []
      const vectors = ["x", "y", "z"].map((name) => VectorArg("f32", name))
      for (const options of [{ args: [...vectors, ScalarArg("u32", "n")] }, { workgroupSize: 129 }]) {
        const { reason } = yield* refused(options)
        assert(reason._tag === "LimitExceeded")
        strictEqual(reason.operation, `KernelCache.get, kernel "a"`)
        limits.push([reason.limitName, reason.requested, reason.limit])
      }
      deepStrictEqual(limits, [["maxVectorArguments", 3, 2], ["maxWorkgroupSize", 129, 128]])
    }))
})

describe("a cache", () => {
  it.effect("gives up the least recently used", () =>
    Effect.gen(function*() {
      const compiler = new Compiler()
      const cache = yield* make(compiler, 2)
      const [a, b, c] = [kernel("a"), kernel("b"), kernel("c")]
      const old = yield* cache.get(a)
      const other = yield* cache.get(b)
      strictEqual(cache.getUnsafe(a), old)
      yield* cache.get(c)
      deepStrictEqual([old.released, other.released], [false, true])
      strictEqual(cache.getUnsafe(b), undefined)
      yield* cache.get(b)
      strictEqual(old.released, true)
      deepStrictEqual(compiler.events, ["compile a", "compile b", "compile c", "release b", "compile b", "release a"])
      deepStrictEqual(yield* cache.stats, { hits: 1, misses: 4, evictions: 2, size: 2, capacity: 2 })
    }))

  it.effect("can be cleared, also while something compiles", () =>
    Effect.gen(function*() {
      const compiler = new Compiler()
      const cache = yield* make(compiler)
      yield* cache.get(kernel("a"))
      const gate = yield* Deferred.make<void>()
      compiler.before = Deferred.await(gate)
      const fiber = yield* Effect.forkChild(cache.get(kernel("b")), { startImmediately: true })
      yield* cache.clear
      strictEqual(compiler.live, 0)
      yield* Deferred.succeed(gate, undefined)
      strictEqual((yield* Fiber.join(fiber)).released, false)
      deepStrictEqual([compiler.live, (yield* cache.stats).size], [1, 1])
    }))

  it.effect("that closes waits for what compiles, gives everything back and answers late calls", () =>
    Effect.gen(function*() {
      const compiler = new Compiler()
      const scope = yield* Scope.make()
      const cache = yield* Scope.provide(make(compiler), scope)
      const a = kernel("a")
      yield* cache.get(a)
      const gate = yield* Deferred.make<void>()
      compiler.before = Deferred.await(gate)
      const asking = yield* Effect.forkChild(cache.get(kernel("b")), { startImmediately: true })
      const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void), { startImmediately: true })
      strictEqual(yield* tagOf(cache.get(kernel("c"))), "DeviceLost")
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(closing)
      strictEqual((yield* Fiber.join(asking)).kernel.name, "b")
      strictEqual(compiler.live, 0)
      strictEqual(cache.getUnsafe(a), undefined)
      for (const late of [a, kernel("d")]) strictEqual(yield* tagOf(cache.get(late)), "DeviceLost")
      strictEqual(compiler.live, 0)
    }))

  it.effect.each([0, -1, 0.5, NaN])(
    "of %d kernels keeps one, or each dispatch would compile it without end",
    (capacity) =>
      Effect.gen(function*() {
        const cache = yield* make(new Compiler(), capacity)
        strictEqual((yield* cache.get(kernel("a"))).released, false)
      })
  )
})

describe("the accessors", () => {
  it.effect("are those of the cache in context", () =>
    Effect.gen(function*() {
      const first = yield* KernelCache.get(kernel("a"))
      strictEqual(yield* KernelCache.get(kernel("a")), first)
      const { hits, misses, size } = yield* KernelCache.stats
      deepStrictEqual([hits, misses, size], [1, 1, 1])
      yield* KernelCache.clear
      strictEqual(first.released, true)
      strictEqual((yield* KernelCache.stats).size, 0)
    }).pipe(Effect.provideServiceEffect(KernelCache.KernelCache, make(new Compiler())), Effect.scoped))
})

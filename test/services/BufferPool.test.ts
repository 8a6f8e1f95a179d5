import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scheduler from "effect/Scheduler"
import * as Scope from "effect/Scope"
import * as BufferUsage from "../../src/domain/BufferUsage.ts"
import type * as SizePolicy from "../../src/domain/pool/SizePolicy.ts"
import { Host } from "../../src/host.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import type * as PooledBuffer from "../../src/services/buffers/PooledBuffer.ts"
import * as Lease from "../../src/services/lease/Lease.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import { decorated, hasStats, hold, layer, nextTurn, open, ParkAt, reasonOf, tagOf } from "../support/hostPool.ts"

describe("a request", () => {
  const bad = [-1, -0.5, 0.5, 1.5, NaN, Infinity, -Infinity, 2 ** 53, 2 ** 60]
  it.effect.each(bad)("of %d bytes is invalid", (size) =>
    Effect.gen(function*() {
      for (const attempt of [BufferPool.allocate(size), BufferPool.use(size, () => Effect.void)]) {
        const reason = yield* reasonOf<unknown, BufferPool.BufferPool | Scope.Scope>(attempt)
        assert(reason._tag === "InvalidRequest", reason._tag)
        assert.include(reason.message, `the size ${size} `)
      }
      yield* hasStats({ managedBlocks: 0, misses: 0, pendingBytes: 0 })
    }).pipe(Effect.scoped, Effect.provide(layer())))

  const badUsages = [0, -1, 0.5, NaN, 1024, 2 ** 31, 2 ** 32 + 1, BufferUsage.kernelReadOnly, BufferUsage.hostMemory]
  it.effect.each([...badUsages, BufferUsage.storage | BufferUsage.kernelReadOnly | BufferUsage.kernelWriteOnly])(
    "for the usage %d is invalid",
    (usage) =>
      Effect.gen(function*() {
        strictEqual(yield* tagOf(BufferPool.allocate(4, { usage })), "InvalidRequest")
        strictEqual(yield* tagOf(BufferPool.use(4, () => Effect.void, { usage })), "InvalidRequest")
        strictEqual(yield* tagOf(BufferPool.allocate(0, { usage })), "InvalidRequest")
      }).pipe(Effect.scoped, Effect.provide(layer()))
  )

  it.effect("for no bytes takes no memory and counts nowhere", () =>
    Effect.gen(function*() {
      const before = yield* BufferPool.stats
      const lease = yield* BufferPool.allocate(0, { label: "empty" })
      deepStrictEqual([lease.size, lease.capacity, lease.label], [0, 0, "empty"])
      yield* CommandQueue.write(lease, new Uint8Array(0))
      deepStrictEqual(yield* CommandQueue.read(lease, Float32Array), new Float32Array(0))
      strictEqual(yield* BufferPool.use(0, ({ size }) => Effect.succeed(size)), 0)
      deepStrictEqual(yield* BufferPool.stats, before)
      yield* Lease.release(lease)
      strictEqual(yield* tagOf(Lease.release(lease)), "Released")
      strictEqual((yield* Host.Host).faults.allocations, 0)
    }).pipe(Effect.scoped, Effect.provide(layer())))

  it.effect("of no bytes is all that a pool of no bytes grants", () =>
    Effect.gen(function*() {
      yield* BufferPool.allocate(0)
      strictEqual(yield* tagOf(BufferPool.allocate(1)), "LimitExceeded")
    }).pipe(Effect.scoped, Effect.provide(layer({ pool: { maxBytes: 0 } }))))

  it.effect("in a closed scope fails, hit or miss or empty, and leaves the blocks where they are", () =>
    Effect.gen(function*() {
      yield* hold([4])
      const scope = yield* Scope.make()
      yield* Scope.close(scope, Exit.void)
      for (const size of [0, 4, 5]) {
        const reason = yield* reasonOf(Scope.provide(BufferPool.allocate(size, { label: "late" }), scope))
        assert(reason._tag === "Released", reason._tag)
        deepStrictEqual([reason.why, reason.label, reason.size], ["scopeClosed", "late", size])
      }
      yield* hasStats({ hits: 0, misses: 1, heldBlocks: 1, pendingBytes: 0 })
    }).pipe(Effect.provide(layer())))

  it.effect("while its scope closes is granted until the pool's finalizer runs", () =>
    Effect.gen(function*() {
      const tags: Array<string> = []
      const scope = yield* Scope.make()
      const pool = yield* BufferPool.BufferPool
      const attempt = (name: string) =>
        Effect.map(Effect.exit(Scope.provide(pool.allocate(4), scope)), (exit) => {
          tags.push(`${name} ${exit._tag}`)
        })
      yield* Scope.addFinalizer(scope, attempt("before"))
      yield* Scope.provide(pool.allocate(4), scope)
      yield* Scope.addFinalizer(scope, attempt("after"))
      yield* Scope.close(scope, Exit.void)
      deepStrictEqual(tags, ["after Success", "before Failure"])
      yield* hasStats({ activeBlocks: 0, misses: 2 })
    }).pipe(Effect.provide(layer())))
})

describe("a policy that breaks its contract", () => {
  const answers = [NaN, Infinity, -1, 0, 3, 2 ** 53]
  it.effect.each(answers)("by answering %d serves the request itself", (answer) =>
    Effect.gen(function*() {
      const lease = yield* BufferPool.allocate(5)
      strictEqual(lease.capacity, 8)
    }).pipe(
      Effect.scoped,
      Effect.provide(layer({
        host: { granularity: 4 },
        pool: { sizePolicy: { name: "broken", borrow: 0, blockSize: () => answer } }
      }))
    ))

  it.effect("by throwing is a defect that leaves nothing reserved", () =>
    Effect.gen(function*() {
      const exit = yield* Effect.exit(Effect.scoped(BufferPool.allocate(5)))
      assert(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
      yield* hasStats({ pendingBytes: 0, activeBlocks: 0 })
    }).pipe(Effect.provide(layer({
      pool: {
        sizePolicy: {
          name: "broken",
          borrow: 0,
          blockSize: () => {
            throw new Error("no size")
          }
        } satisfies SizePolicy.SizePolicy
      }
    }))))
})

describe("an allocator that dies", () => {
  it.effect("leaves nothing reserved", () =>
    Effect.gen(function*() {
      const exit = yield* Effect.exit(Effect.scoped(BufferPool.allocate(5)))
      assert(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
      yield* hasStats({ pendingBytes: 0, activeBlocks: 0, driverAllocations: 0 })
    }).pipe(Effect.provide(layer({
      allocator: decorated((allocator) => ({ ...allocator, allocate: () => Effect.die("broken") }))
    }))))
})

describe("options", () => {
  const bad: ReadonlyArray<BufferPool.BufferPoolOptions> = [
    { maxBytes: -1 },
    { maxBytes: 0.5 },
    { maxBytes: NaN },
    { maxBytes: 2 ** 53 }
  ]
  it.effect.each(bad)("refuses %o", (options) =>
    Effect.gen(function*() {
      const built = Effect.scoped(Layer.build(BufferPool.layer(options).pipe(Layer.provide(Host.layer()))))
      const reason = yield* reasonOf(built)
      assert(reason._tag === "InvalidRequest", reason._tag)
      assert.include(reason.message, "maxBytes")
    }))

  it.effect("refuses an unknown clear, as JavaScript may pass it", () =>
    Effect.gen(function*() {
      const options: BufferPool.BufferPoolOptions = JSON.parse(`{ "clear": "release" }`)
      const built = Effect.scoped(Layer.build(BufferPool.layer(options).pipe(Layer.provide(Host.layer()))))
      assert.include((yield* reasonOf(built)).message, `clear "release"`)
    }))

  it.effect("takes Infinity for no limit, in place of the device's default", () =>
    Effect.gen(function*() {
      strictEqual((yield* BufferPool.allocate(100)).size, 100)
    }).pipe(
      Effect.scoped,
      Effect.provide(layer({ host: { defaultMaxBytes: 50 }, pool: { maxBytes: Infinity } }))
    ))

  it.effect("rounds blocks to the default policy's classes", () =>
    Effect.gen(function*() {
      strictEqual((yield* BufferPool.allocate(1000)).capacity, 1024)
      strictEqual((yield* BufferPool.allocate(1025)).capacity, 1088)
    }).pipe(Effect.scoped, Effect.provide(BufferPool.layer().pipe(Layer.provideMerge(Host.layer())))))
})

describe("recycled memory", () => {
  const dirty = BufferPool.use(12, (lease) => CommandQueue.fill(lease, 0x01020304))
  const seen = BufferPool.use(10, (lease) => CommandQueue.read(lease, Uint8Array))
  const policy: SizePolicy.SizePolicy = {
    name: "twelves",
    borrow: 0,
    blockSize: (request) => Math.ceil(request / 12) * 12
  }

  it.effect("shows what the last owner left", () =>
    Effect.gen(function*() {
      yield* dirty
      deepStrictEqual([...(yield* seen)], [4, 3, 2, 1, 4, 3, 2, 1, 4, 3])
    }).pipe(Effect.provide(layer({ pool: { sizePolicy: policy } }))))

  it.effect("is zero up to its capacity when cleared at acquire, for allocate and use", () =>
    Effect.gen(function*() {
      yield* dirty
      deepStrictEqual([...(yield* seen)], Array.from({ length: 10 }, () => 0))
      yield* dirty
      const lease = yield* BufferPool.allocate(10)
      yield* CommandQueue.finish
      const [whole] = [...new Set(new Uint8Array((yield* Host.bytes(lease)).buffer))]
      strictEqual(whole, 0)
      strictEqual((yield* Host.bytes(lease)).buffer.byteLength, 12)
      yield* hasStats({ hits: 3, misses: 1 })
    }).pipe(Effect.scoped, Effect.provide(layer({ pool: { sizePolicy: policy, clear: "acquire" } }))))

  it.effect("has its own label on a clearing that fails, not the last owner's", () => {
    const faults = Host.makeFaults()
    return Effect.gen(function*() {
      yield* BufferPool.use(64, () => CommandQueue.finish, { label: "last" })
      faults.failCommands({ nth: 1 })
      yield* BufferPool.allocate(64, { label: "next" })
      const reason = yield* reasonOf<void, CommandQueue.CommandQueue>(CommandQueue.finish)
      assert(reason._tag === "DriverError", reason._tag)
      deepStrictEqual(reason.commands, ["fill 64 B -> next"])
    }).pipe(Effect.scoped, Effect.provide(layer({ host: { faults }, pool: { clear: "acquire" } })))
  })

  it.effect("is cleared also where the usage alone would forbid it, and the lease keeps its usage", () =>
    Effect.gen(function*() {
      const usage = BufferUsage.storage
      yield* BufferPool.use(4, (lease) => Effect.sync(() => strictEqual(lease.usage, usage)), { usage })
      const lease = yield* BufferPool.allocate(4, { usage })
      strictEqual(yield* tagOf(CommandQueue.fill(lease, 1)), "InvalidRequest")
      yield* hasStats({ hits: 1, misses: 1 })
    }).pipe(Effect.scoped, Effect.provide(layer({ pool: { clear: "acquire" } }))))

  it.effect("goes last in, first out", () =>
    Effect.gen(function*() {
      yield* Effect.scoped(Effect.gen(function*() {
        for (const mark of [1, 2, 3]) yield* CommandQueue.fill(yield* BufferPool.allocate(4), mark)
      }))
      const marks: Array<number> = []
      for (let i = 0; i < 3; i++) {
        marks.push((yield* CommandQueue.read(yield* BufferPool.allocate(4), Uint32Array))[0]!)
      }
      // Leases end in the reverse order of their granting, so the first one's block is on top.
      deepStrictEqual(marks, [1, 2, 3])
    }).pipe(Effect.scoped, Effect.provide(layer())))

  it.effect("is not shared between usages", () =>
    Effect.gen(function*() {
      for (const usage of [BufferUsage.storage, BufferUsage.copyDst, BufferUsage.storage | BufferUsage.copyDst]) {
        yield* BufferPool.use(4, () => Effect.void, { usage })
      }
      yield* hasStats({ misses: 3, hits: 0, heldBlocks: 3 })
    }).pipe(Effect.provide(layer())))
})

describe("use", () => {
  it.effect("takes its lease back whatever its body does", () =>
    Effect.gen(function*() {
      const bodies: ReadonlyArray<Effect.Effect<unknown, string>> = [
        Effect.void,
        Effect.fail("failed"),
        Effect.die("died"),
        Effect.interrupt,
        Effect.andThen(Effect.yieldNow, Effect.fail("later")),
        Effect.suspend((): Effect.Effect<void> => {
          throw new Error("thrown")
        })
      ]
      for (const body of bodies) {
        yield* Effect.exit(BufferPool.use(4, () => body))
        yield* hasStats({ activeBlocks: 0, heldBlocks: 1 })
      }
      const thrown = BufferPool.use(4, (): Effect.Effect<void> => {
        throw new Error("thrown")
      })
      yield* Effect.exit(thrown)
      yield* hasStats({ activeBlocks: 0, heldBlocks: 1, misses: 1 })
    }).pipe(Effect.provide(layer())))

  it.effect("leaves a lease behind that has ended", () =>
    Effect.gen(function*() {
      const escaped = yield* BufferPool.use(4, Effect.succeed)
      const reason = yield* reasonOf(CommandQueue.fill(escaped, 1))
      assert(reason._tag === "Released")
      strictEqual(reason.why, "scopeClosed")
    }).pipe(Effect.provide(layer())))

  it.effect("lets its body release early", () =>
    Effect.gen(function*() {
      yield* BufferPool.use(4, Lease.release)
      yield* hasStats({ activeBlocks: 0, heldBlocks: 1 })
    }).pipe(Effect.provide(layer())))

  it.effect("can be run again as a value", () =>
    Effect.gen(function*() {
      const twice = BufferPool.use(4, (lease) => Effect.sync(() => lease))
      const [first, second] = [yield* twice, yield* twice]
      assert.notStrictEqual(first, second)
      yield* hasStats({ hits: 1, misses: 1 })
    }).pipe(Effect.provide(layer())))

  it.effect("nests", () =>
    Effect.gen(function*() {
      const inner = BufferPool.use(4, () => hasStats({ activeBlocks: 2 }))
      yield* BufferPool.use(4, () => Effect.andThen(inner, inner))
      yield* hasStats({ misses: 2, hits: 1, heldBlocks: 2 })
    }).pipe(Effect.provide(layer())))
})

describe("scopes", () => {
  it.effect("give their leases back in the place of the first one", () =>
    Effect.gen(function*() {
      const pool = yield* BufferPool.BufferPool
      const seen: Array<number> = []
      const note = Effect.map(pool.stats, ({ activeBlocks }) => {
        seen.push(activeBlocks)
      })
      yield* Effect.scoped(Effect.gen(function*() {
        yield* Effect.addFinalizer(() => note)
        yield* pool.allocate(1)
        yield* Effect.addFinalizer(() => note)
        yield* pool.allocate(2)
        yield* Effect.addFinalizer(() => note)
      }))
      deepStrictEqual(seen, [2, 2, 0])
    }).pipe(Effect.provide(layer())))

  it.effect("keep their leases apart", () =>
    Effect.gen(function*() {
      const scopes = [yield* Scope.make(), yield* Scope.make(), yield* Scope.make()] as const
      const leases: Array<PooledBuffer.PooledBuffer> = []
      for (let i = 0; i < 9; i++) leases.push(yield* Scope.provide(BufferPool.allocate(i + 1), scopes[i % 3]!))
      yield* Scope.close(scopes[1], Exit.void)
      deepStrictEqual(leases.map(Lease.isLive), [true, false, true, true, false, true, true, false, true])
      yield* Scope.close(scopes[0], Exit.void)
      yield* Scope.close(scopes[2], Exit.void)
      deepStrictEqual(leases.filter(Lease.isLive), [])
    }).pipe(Effect.provide(layer())))

  it.live("that two fibers use for the first time at once have one list, which the pool's close reaches", () =>
    Effect.gen(function*() {
      for (let k = 0; k < 12; k++) {
        const opened = yield* open()
        const scope = Scope.makeUnsafe()
        const context = Context.add(opened.context, Scope.Scope, scope)
        const scheduler = new ParkAt(k)
        const parked = Effect.runForkWith(Context.add(context, Scheduler.Scheduler, scheduler))(BufferPool.allocate(4))
        const quick = yield* Effect.provide(BufferPool.allocate(4), context)
        scheduler.resume()
        const late = yield* Fiber.join(parked)
        yield* opened.closePool
        deepStrictEqual([quick.ended, late.ended], ["poolClosed", "poolClosed"], `k = ${k}`)
        strictEqual(opened.driverObjects.liveByKind["buffer"] ?? 0, 0)
        yield* Scope.close(scope, Exit.void)
        yield* opened.closeHost
      }
    }))

  it.effect("may be shared by two pools", () =>
    Effect.gen(function*() {
      const [one, two] = [yield* open(), yield* open()]
      const scope = yield* Scope.make()
      const leases = [
        yield* Scope.provide(one.pool.allocate(4), scope),
        yield* Scope.provide(two.pool.allocate(4), scope)
      ] as const
      const crossed = CommandQueue.copy(leases[0], leases[1]).pipe(Effect.provide(one.context))
      strictEqual(yield* tagOf(crossed), "ForeignDevice")
      yield* one.closePool
      deepStrictEqual(leases.map(Lease.isLive), [false, true])
      yield* Scope.close(scope, Exit.void)
      strictEqual((yield* two.pool.stats).heldBlocks, 1)
      yield* two.closePool
      yield* two.closeHost
      yield* one.closeHost
      strictEqual(one.driverObjects.live + two.driverObjects.live, 0)
    }))
})

describe("counters", () => {
  it.effect("count requested bytes apart from capacity, and keep peaks", () =>
    Effect.gen(function*() {
      yield* hold([1000, 1025])
      yield* hasStats({ heldBytes: 1024 + 1088, activeBytes: 0, peakActiveBytes: 2025, peakActiveBlocks: 2 })
      yield* BufferPool.allocate(900)
      yield* hasStats({ activeBytes: 900, managedBytes: 2112, heldBytes: 1088, peakManagedBytes: 2112, hits: 1 })
    }).pipe(Effect.scoped, Effect.provide(BufferPool.layer().pipe(Layer.provideMerge(Host.layer())))))

  it.effect("freeHeld frees the held blocks and no more, and waits for that", () =>
    Effect.gen(function*() {
      const lease = yield* BufferPool.allocate(4)
      yield* hold([8, 16])
      yield* BufferPool.freeHeld
      yield* hasStats({ heldBlocks: 0, activeBlocks: 1, driverFrees: 2 })
      strictEqual(yield* Host.usedBytes, 4)
      yield* Lease.release(lease)
      yield* hasStats({ heldBlocks: 1 })
    }).pipe(Effect.scoped, Effect.provide(layer({ host: { lateFree: true } }))))

  it.effect("stopHolding keeps nothing from then on", () =>
    Effect.gen(function*() {
      const lease = yield* BufferPool.allocate(4)
      yield* hold([8])
      yield* BufferPool.stopHolding
      yield* hasStats({ heldBlocks: 0, activeBlocks: 1, driverFrees: 1 })
      yield* Lease.release(lease)
      yield* hold([8])
      yield* hasStats({ heldBlocks: 0, managedBlocks: 0, driverFrees: 3, misses: 3, hits: 0 })
    }).pipe(Effect.scoped, Effect.provide(layer())))

  it.live("a block freed while its commands are unsubmitted harms no other lease's work", () =>
    Effect.gen(function*() {
      const x = yield* BufferPool.allocate(4)
      const y = yield* BufferPool.allocate(4)
      yield* BufferPool.stopHolding
      yield* CommandQueue.fill(x, 7)
      yield* CommandQueue.fill(y, 8)
      yield* Lease.release(x)
      deepStrictEqual([...(yield* CommandQueue.read(y, Uint32Array))], [8])
      yield* nextTurn
      yield* CommandQueue.finish
    }).pipe(Effect.scoped, Effect.provide(layer())))
})

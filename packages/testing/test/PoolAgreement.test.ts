/**
 * The message of a property for a pool that disagrees with its model.
 */
import { PoolAgreement, PoolCommands, PoolModel } from "@effect-gpu-pool/testing/properties"
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import { BufferPool, DeviceContext, SizePolicy } from "effect-gpu-pool"
import { Host } from "effect-gpu-pool/host"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import { after, agree } from "../src/properties/ExpectData.ts"

type Stats = Effect.Success<typeof BufferPool.stats>

/** A pool with wrong counters, compared with a model of a correct one. */
const property = (wrong: (stats: Stats) => Partial<Stats>) =>
  fc.asyncProperty(
    fc.commands([...PoolCommands.portable], { maxCommands: 30, size: "max" }),
    (steps) =>
      Effect.gen(function*() {
        const pool = yield* BufferPool.BufferPool
        const { driverObjects, info } = yield* DeviceContext.DeviceContext
        const context = yield* Effect.context<BufferPool.BufferPool>()
        const model = new PoolModel.PoolModel({
          policy: PoolAgreement.policies[0]![1],
          eviction: PoolAgreement.evictions[0][1],
          granularity: 1n,
          maxBufferSize: BigInt(info.limits.maxBufferSize),
          maxBytes: undefined,
          capacityBytes: 2n ** 40n,
          lateFree: false
        })
        model.scopes.push(new PoolModel.ModelScope())
        const real: PoolCommands.RealPool = {
          pool: { ...pool, stats: Effect.map(pool.stats, (stats) => ({ ...stats, ...wrong(stats) })) },
          driverObjects,
          otherBuffers: 0,
          closePool: Effect.void,
          run: Effect.runPromiseWith(context),
          scopes: [Scope.makeUnsafe()],
          leases: [],
          pending: [],
          commands: [],
          host: undefined
        }
        yield* Effect.promise(() => fc.asyncModelRun(() => ({ model, real }), steps)).pipe(
          Effect.ensuring(Effect.suspend(() => Effect.forEach(real.scopes, (scope) => Scope.close(scope, Exit.void))))
        )
      }).pipe(
        Effect.provide(BufferPool.layer({ sizePolicy: SizePolicy.exact }).pipe(Layer.provideMerge(Host.layer()))),
        Effect.provide(TestClock.layer()),
        Effect.runPromise
      )
  )

const messageOf = async (wrong: (stats: Stats) => Partial<Stats>): Promise<string> => {
  const { errorInstance } = await fc.check(property(wrong), { numRuns: 50, seed: 7 })
  return (errorInstance as Error).message
}

describe("a pool that counts wrongly", () => {
  it("fails with the counters that differ, and with what was done", async () => {
    const message = await messageOf(({ activeBlocks }) => activeBlocks < 2 ? {} : { activeBlocks: activeBlocks + 1 })
    assert.match(message, /^activeBlocks: model 2, pool 3 \(after (\d+) commands: [^()]+\(.*\)\)$/)
    const [, count] = /after (\d+) commands/.exec(message)!
    const done = /commands: (.*)\)$/.exec(message)![1]!
    // Each command begins with its name, with its arguments in parentheses.
    strictEqual(done.replaceAll(/\([^()]*\)/g, "").split(", ").length, Number(count))
    assert.match(done, /allocate\(\d+, \d+ of [01]\)/)
  })

  it("fails with all that differ, and no others", async () => {
    const message = await messageOf(({ hits, misses }) => misses === 0 ? {} : { hits: hits + 1, misses: misses - 1 })
    assert.match(message, /^hits: model 0, pool 1; misses: model 1, pool 0 \(after \d+ commands?: /)
  })

  it("does not fail where it counts rightly", async () => {
    const { failed } = await fc.check(property(() => ({})), { numRuns: 20, seed: 7 })
    strictEqual(failed, false)
  })
})

describe("a policy that does not do what its model says", () => {
  it("fails with the bytes that differ", async () => {
    const wrong: PoolAgreement.PolicyPair = [SizePolicy.table([64]), { blockSize: (size) => size, borrowHalves: 0n }]
    const { errorInstance } = await fc.check(PoolAgreement.onHost({ policies: [wrong] }), { numRuns: 20, seed: 1 })
    const { message } = errorInstance as Error
    assert.match(message, /: model \d+, pool \d+/)
    assert.match(message, /\(after \d+ commands?: /)
    assert.notInclude(message, "releaseFailures")
  })
})

const mismatchOf = (model: object, pool: object): string => {
  try {
    agree({ ...model }, { ...pool })
    return "they agree"
  } catch (error) {
    return (error as Error).message
  }
}

describe("two sets of members", () => {
  it("agree where each is the same data", () => {
    strictEqual(mismatchOf({ a: 1n, b: [1n, { c: "x" }] }, { a: 1n, b: [1n, { c: "x" }] }), "they agree")
  })

  it("are shown by those that differ, or that one of them lacks", () => {
    strictEqual(
      mismatchOf({ a: 1n, b: 2n, c: ["live", 3n] }, { a: 1n, b: 3n, c: ["live", 4n], d: true }),
      `b: model 2, pool 3; c: model ["live","3n"], pool ["live","4n"]; d: model undefined, pool true`
    )
  })
})

const told = (commands: ReadonlyArray<string>) =>
  Effect.runPromise(after(commands, Effect.sync(() => agree({ a: 1n }, { a: 2n })))).then(
    () => "nothing",
    (error: Error) => error.message
  )

describe("the commands before a mismatch", () => {
  const names = Array.from({ length: 12 }, (_, index) => `c${index + 1}`)
  it("are counted, and the last ten named", async () => {
    deepStrictEqual(await Promise.all([told([]), told(names.slice(0, 1)), told(names)]), [
      "a: model 1, pool 2 (after 0 commands)",
      "a: model 1, pool 2 (after 1 command: c1)",
      "a: model 1, pool 2 (after 12 commands: ..., c3, c4, c5, c6, c7, c8, c9, c10, c11, c12)"
    ])
  })

  it("are not added to another defect", async () => {
    const defect = new Error("mine")
    const exit = await Effect.runPromiseExit(after(names, Effect.die(defect)))
    deepStrictEqual(exit, Exit.die(defect))
  })
})

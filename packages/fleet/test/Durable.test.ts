/** Durable jobs within one process: one execution for each identifier, which goes on without its callers. */
import { DurableJob, Fleet, FleetJob } from "@effect-gpu-pool/fleet"
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as BufferPools from "effect-gpu-pool/BufferPools"
import { outOfMemory } from "effect-gpu-pool/GpuError"
import * as Host from "effect-gpu-pool/Host"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as WorkflowEngine from "effect/workflow/WorkflowEngine"
import type { FleetClient } from "../src/client/FleetClient.ts"
import * as DurableClient from "../src/durable/DurableClient.ts"
import * as JobWorkflow from "../src/durable/JobWorkflow.ts"

class Odd extends Schema.TaggedError<Odd>()("Odd", { value: Schema.Number }) {}

const options = { input: Schema.Int, output: Schema.Int, error: Odd, bytes: 4, isIdempotent: true }
const Half = FleetJob.make("Half", options)
const Other = FleetJob.make("Other", options)

const pools = BufferPools.layer(() => Host.layer())

/** A fleet whose jobs wait until they are let go. `began` counts them. */
const gated = Effect.gen(function*() {
  const gate = yield* Deferred.make<void>()
  const first = yield* Deferred.make<void>()
  const ended = yield* Deferred.make<void>()
  const state = { began: 0 }
  const half = (x: number) =>
    Effect.sync(() => void state.began++).pipe(
      Effect.andThen(Deferred.succeed(first, undefined)),
      Effect.andThen(Deferred.await(gate)),
      Effect.andThen(x % 2 === 0 ? Effect.succeed(x / 2) : Effect.fail(new Odd({ value: x }))),
      Effect.onInterrupt(() => Deferred.succeed(ended, undefined))
    )
  const jobs = [
    FleetJob.handler(Half, half),
    FleetJob.handler(Other, (x) => x < 0 ? Effect.fail(outOfMemory(4096)) : Effect.succeed(x))
  ]
  return {
    state,
    begun: Deferred.await(first),
    ended: Deferred.await(ended),
    open: Deferred.succeed(gate, undefined),
    fleet: Layer.provide(Fleet.layerLocal({ host: "here", devices: { "0": { maxBytes: 4096 } }, jobs }), pools)
  }
})

const free = Effect.map(
  Fleet.status,
  ({ hosts }) => hosts.flatMap(({ devices }) => devices.map(({ capacity, reservedBytes }) => capacity - reservedBytes))
)

const reasonOf = (x: number, id: string) =>
  Effect.map(
    Effect.flip(DurableJob.execute(Half, x, { id })),
    (error) => error._tag === "GpuError" ? error.reason._tag : ""
  )

describe("a durable job", () => {
  it.live("runs once for all calls with its identifier", () =>
    Effect.gen(function*() {
      const { begun, fleet, open, state } = yield* gated
      yield* Effect.gen(function*() {
        const calls = yield* Effect.forkChild(
          Effect.all([8, 8, 8].map((x) => DurableJob.execute(Half, x, { id: "a" })), { concurrency: "unbounded" })
        )
        yield* begun
        deepStrictEqual(yield* DurableJob.poll(Half, "a"), Option.none())
        yield* open
        deepStrictEqual(yield* Fiber.join(calls), [4, 4, 4])
        strictEqual(yield* DurableJob.execute(Half, 100, { id: "a" }), 4)
        deepStrictEqual(yield* DurableJob.poll(Half, "a"), Option.some(Exit.succeed(4)))
        strictEqual(state.began, 1)
        strictEqual(yield* DurableJob.execute(Half, 100, { id: "b" }), 50)
        strictEqual(yield* DurableJob.execute(Other, 9, { id: "a" }), 9)
        strictEqual(state.began, 2)
      }).pipe(Effect.provide(fleet))
    }))

  it.live("stores its error", () =>
    Effect.gen(function*() {
      const { fleet, open, state } = yield* gated
      yield* open
      yield* Effect.gen(function*() {
        for (let call = 0; call < 2; call++) {
          deepStrictEqual(yield* Effect.flip(DurableJob.execute(Half, 7, { id: "a" })), new Odd({ value: 7 }))
          const error = yield* Effect.flip(DurableJob.execute(Other, -1, { id: "a" }))
          strictEqual(error._tag === "GpuError" && error.reason._tag, "OutOfMemory")
        }
        deepStrictEqual(yield* DurableJob.poll(Half, "a"), Option.some(Exit.fail(new Odd({ value: 7 }))))
        strictEqual(state.began, 1)
      }).pipe(Effect.provide(fleet))
    }))

  it.live("goes on when its caller leaves", () =>
    Effect.gen(function*() {
      const { begun, fleet, open, state } = yield* gated
      yield* Effect.gen(function*() {
        const caller = yield* Effect.forkChild(DurableJob.execute(Half, 8, { id: "a" }))
        yield* begun
        yield* Fiber.interrupt(caller)
        strictEqual(yield* DurableJob.execute(Half, 2, { id: "b", discard: true }), undefined)
        yield* open
        strictEqual(yield* DurableJob.execute(Half, 8, { id: "a" }), 4)
        strictEqual(yield* DurableJob.execute(Half, 2, { id: "b" }), 1)
        strictEqual(state.began, 2)
      }).pipe(Effect.provide(fleet))
    }))

  it.live("ends when it is interrupted, on its host too", () =>
    Effect.gen(function*() {
      const { begun, ended, fleet, open, state } = yield* gated
      yield* Effect.gen(function*() {
        const caller = yield* Effect.forkChild(DurableJob.execute(Half, 8, { id: "a" }))
        yield* begun
        yield* DurableJob.interrupt(Half, "a")
        yield* ended
        const exit = yield* Fiber.await(caller)
        assert.isTrue(Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause))
        const answer = yield* DurableJob.poll(Half, "a")
        assert.isTrue(Option.isSome(answer) && Exit.hasInterrupts(answer.value))
        // A later one is interrupted too, and runs nothing.
        const again = yield* Effect.exit(DurableJob.execute(Half, 8, { id: "a" }))
        assert.isTrue(Exit.hasInterrupts(again))
        strictEqual(state.began, 1)
        yield* DurableJob.interrupt(Half, "no such job")
        yield* open
        strictEqual(yield* DurableJob.execute(Half, 8, { id: "b" }), 4)
        deepStrictEqual(yield* free, [4096])
      }).pipe(Effect.provide(fleet))
    }))

  it.live("fails with LimitExceeded for a large answer, and has a large one below that", () =>
    Effect.gen(function*() {
      const Bytes = FleetJob.make("Bytes", { input: Schema.Int, output: Schema.Uint8Array, bytes: 4 })
      const job = FleetJob.handler(Bytes, (length) => Effect.succeed(new Uint8Array(length).fill(7)))
      const fleet = Fleet.layerLocal({ host: "here", devices: { "0": { maxBytes: 4096 } }, jobs: [job] })
      yield* Effect.gen(function*() {
        const error = yield* Effect.flip(DurableJob.execute(Bytes, 2 ** 23 + 1, { id: "a" }))
        strictEqual(error.reason._tag, "LimitExceeded")
        const bytes = yield* DurableJob.execute(Bytes, 5_000_000, { id: "b" })
        strictEqual(Buffer.compare(bytes, Buffer.alloc(5_000_000, 7)), 0)
      }).pipe(Effect.provide(Layer.provide(fleet, pools)))
    }))

  it.live("is refused without an identifier, and for a wrong or large input", () =>
    Effect.gen(function*() {
      const { fleet, state } = yield* gated
      yield* Effect.gen(function*() {
        strictEqual(yield* reasonOf(8, ""), "InvalidRequest")
        strictEqual(yield* reasonOf(1.5, "a"), "InvalidRequest")
        const Bytes = FleetJob.make("Bytes", { input: Schema.Uint8Array, output: Schema.Int, bytes: 4 })
        const error = yield* Effect.flip(DurableJob.execute(Bytes, new Uint8Array(2 ** 23 + 1), { id: "a" }))
        strictEqual(error.reason._tag, "LimitExceeded")
        strictEqual(state.began, 0)
      }).pipe(Effect.provide(fleet))
    }))
})

/** A client whose first run is cut off after it was sent, as when its process ends. */
const cutOff = (sent: Array<string>) => {
  const client: Pick<FleetClient, "runEncoded"> = {
    runEncoded: (job, _options, begins) => {
      const reservation = {
        id: "r",
        host: `host ${sent.length}`,
        epoch: 5,
        address: { host: "", port: 1 },
        device: "0",
        bytes: 4
      }
      return Effect.andThen(
        begins?.(reservation) ?? Effect.void,
        Effect.suspend(() =>
          sent.push(reservation.host) === 1
            ? Effect.interrupt
            : Effect.succeed({ outcome: "output" as const, data: job.input })
        )
      )
    }
  }
  return Layer.effect(DurableJob.DurableJobs, DurableClient.make).pipe(
    Layer.provide(JobWorkflow.make(client as FleetClient).layer),
    Layer.provide(WorkflowEngine.layerMemory)
  )
}

describe("a durable job whose first run ends without an answer", () => {
  const executed = Effect.fnUntraced(function*(isIdempotent: boolean) {
    const sent: Array<string> = []
    const job = FleetJob.make("Same", { input: Schema.Int, output: Schema.Int, bytes: 4, isIdempotent })
    const exit = yield* Effect.exit(Effect.provide(DurableJob.execute(job, 3, { id: "a" }), cutOff(sent)))
    return { sent, exit }
  })

  it.live("runs again if it is idempotent", () =>
    Effect.gen(function*() {
      const { exit, sent } = yield* executed(true)
      deepStrictEqual(exit, Exit.succeed(3))
      deepStrictEqual(sent, ["host 0", "host 1"])
    }))

  it.live("else fails with HostLost, and is not sent again", () =>
    Effect.gen(function*() {
      const { exit, sent } = yield* executed(false)
      deepStrictEqual(sent, ["host 0"])
      const error = Exit.findErrorOption(exit)
      assert.isTrue(Option.isSome(error))
      const { reason } = Option.getOrThrow(error)
      assert.isTrue(reason._tag === "HostLost" && reason.mayHaveRun && reason.host === "host 0" && reason.epoch === 5)
    }))
})

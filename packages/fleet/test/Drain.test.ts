/** A host whose program is interrupted, as by SIGTERM, waits for what runs on it. */
import { DurableJob, Fleet, FleetJob } from "@effect-gpu-pool/fleet"
import { describe, it } from "@effect/vitest"
import { strictEqual } from "@effect/vitest/utils"
import * as BufferPools from "effect-gpu-pool/BufferPools"
import type { GpuError } from "effect-gpu-pool/GpuError"
import * as Host from "effect-gpu-pool/Host"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"

const Wait = FleetJob.make("Wait", { input: Schema.Int, output: Schema.Int, bytes: 4 })

const pools = BufferPools.layer(() => Host.layer())

/** Interrupts a program while such a call runs in it. Returns what the call answers. */
const interruptedDuring = Effect.fnUntraced(function*<R extends Fleet.Fleet | DurableJob.DurableJobs>(
  call: Effect.Effect<number, GpuError, R>
) {
  const begun = yield* Deferred.make<void>()
  const gate = yield* Deferred.make<void>()
  const wait = FleetJob.handler(
    Wait,
    (x) => Deferred.succeed(begun, undefined).pipe(Effect.andThen(Deferred.await(gate)), Effect.as(x))
  )
  const fleet = Fleet.layerLocal({ host: "here", devices: { "0": { maxBytes: 4096 } }, jobs: [wait] })
  const calling = yield* Deferred.make<Fiber.Fiber<number, GpuError>>()
  const program = Effect.forkDetach(call).pipe(
    Effect.flatMap((fiber) => Deferred.succeed(calling, fiber)),
    Effect.andThen(Effect.never),
    Effect.provide(Layer.provide(fleet, pools))
  )
  const running = yield* Effect.forkChild(program)
  yield* Deferred.await(begun)
  const interrupting = yield* Effect.forkChild(Fiber.interrupt(running), { startImmediately: true })
  // The interruption goes as far as it goes while the job waits.
  for (let turn = 0; turn < 100; turn++) yield* Effect.yieldNow
  yield* Deferred.succeed(gate, undefined)
  const output = yield* Fiber.join(yield* Deferred.await(calling))
  yield* Fiber.join(interrupting)
  return output
})

describe("a host whose program is interrupted", () => {
  it.live("lets its jobs end", () =>
    Effect.gen(function*() {
      strictEqual(yield* interruptedDuring(Fleet.run(Wait, 3)), 3)
    }))

  it.live("lets its durable jobs end", () =>
    Effect.gen(function*() {
      strictEqual(yield* interruptedDuring(DurableJob.execute(Wait, 3, { id: "a" })), 3)
    }))
})

/** A program that asks for a durable job, says that it is stored, and stays until it is killed. */
import { DurableJob, Fleet } from "@effect-gpu-pool/fleet"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { Repeatable } from "./jobs.ts"
import { LeaverArguments } from "./LeaverArguments.ts"
import { storageLayer } from "./storageLayer.ts"

const { id, input, secret, storage, timing } = Schema.decodeUnknownSync(LeaverArguments)(
  JSON.parse(process.argv[2] ?? "")
)

const fleet = Layer.provide(Fleet.layerClient({ secret: Redacted.make(secret), timing }), storageLayer(storage))

NodeRuntime.runMain(
  DurableJob.execute(Repeatable, input, { id, discard: true }).pipe(
    Effect.andThen(Effect.sync(() => console.log("stored"))),
    Effect.andThen(Effect.never),
    Effect.provide(fleet)
  )
)

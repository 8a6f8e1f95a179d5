/** A host of a fleet, as a process: the test starts it with what {@link HostArguments} says, as JSON. */
import { Fleet, FleetJob } from "@effect-gpu-pool/fleet"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as BufferPool from "effect-gpu-pool/BufferPool"
import * as BufferPools from "effect-gpu-pool/BufferPools"
import * as Host from "effect-gpu-pool/Host"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { HostArguments } from "./HostArguments.ts"
import * as HostLog from "./HostLog.ts"
import { type Input, Once, Repeatable } from "./jobs.ts"
import { storageLayer } from "./storageLayer.ts"

const options = Schema.decodeUnknownSync(HostArguments)(JSON.parse(process.argv[2] ?? ""))

const write = (line: Pick<HostLog.Line, "what"> & Partial<HostLog.Line>): void =>
  HostLog.append(options.log, {
    at: HostLog.now(),
    host: options.name,
    pid: process.pid,
    id: "",
    job: "",
    epoch: 0,
    bytes: 0,
    used: 0,
    ...line
  })

/** Leases all bytes of the reservation for as long as the device takes. */
const work = (job: string) => ({ bytes, id, millis }: Input) =>
  Effect.gen(function*() {
    const { epoch, host } = yield* FleetJob.CurrentHost
    const used = Effect.map(BufferPool.stats, (stats) => stats.activeBytes + stats.reservedBytes)
    write({ what: "begin", id, job, epoch, bytes, used: yield* used })
    yield* BufferPool.use(bytes, () => Effect.sleep(millis)).pipe(
      Effect.ensuring(Effect.sync(() => write({ what: "end", id, job, epoch, bytes })))
    )
    return { id, host, epoch }
  })

const fleet = Fleet.layerHost({
  host: options.name,
  address: { host: "127.0.0.1", port: options.port },
  listen: { host: "127.0.0.1", port: options.listen },
  devices: { "0": { maxBytes: options.bytes } },
  jobs: [FleetJob.handler(Repeatable, work("Repeatable")), FleetJob.handler(Once, work("Once"))],
  secret: Redacted.make(options.secret),
  timing: options.timing
}).pipe(
  // The device itself has no more, so that a host that grants too much fails.
  Layer.provide(BufferPools.layer(() => Host.layer({ capacityBytes: options.bytes }))),
  Layer.provide(storageLayer(options.storage))
)

write({ what: "started" })
NodeRuntime.runMain(Layer.launch(fleet))

/**
 * What a host answers its clients.
 *
 * @internal
 */
import type { PooledBuffer } from "effect-gpu-pool/BufferPool"
import * as CommandQueue from "effect-gpu-pool/CommandQueue"
import { type GpuError, invalidRequest, unsupported } from "effect-gpu-pool/GpuError"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import { buffer } from "../client/ClientChecks.ts"
import { type Answer, CurrentHost, type Handler } from "../FleetJob.ts"
import { checked, count } from "../protocol/Checked.ts"
import type { FleetBuffer } from "../protocol/FleetModel.ts"
import { chunkBytes, HostRpcs, type RunPart } from "../protocol/HostRpcs.ts"
import type { LeaseServices } from "./HeldLease.ts"
import type { HostLeases } from "./HostLeases.ts"
import type { HostState } from "./HostState.ts"

/** Ranges of at most `chunkBytes` bytes. */
const rangesOf = (offset: number, length: number): ReadonlyArray<readonly [offset: number, length: number]> =>
  Array.from({ length: Math.ceil(length / chunkBytes) }, (_, index) => {
    const begin = index * chunkBytes
    return [offset + begin, Math.min(chunkBytes, length - begin)] as const
  })

const partsOf = ({ data, outcome }: Answer): Stream.Stream<RunPart> =>
  Stream.fromIterable<RunPart>([
    ...rangesOf(0, data.length).map(([offset, length]) => ({
      _tag: "Chunk" as const,
      data: data.subarray(offset, offset + length)
    })),
    { _tag: "End", outcome }
  ]).pipe(Stream.rechunk(1))

/** The lease of a buffer that is on this host. */
const bufferOf = Effect.fnUntraced(function*(name: string, leases: HostLeases, asked: FleetBuffer) {
  const operation = "FleetJob.CurrentHost.buffer"
  yield* checked(operation, ["the buffer", buffer, asked])
  const { epoch, host, id, lease } = asked
  if (host !== name) {
    const problem = `the buffer "${id}" is on the host "${host}", and the job runs on "${name}"`
    return yield* invalidRequest(operation, problem, "Run the job near it: { where: Fleet.near(buffer) }.")
  }
  return yield* (yield* leases.owner({ buffer: id, epoch, lease }, operation)).buffer(id)
})

/** The handlers of a host that has these reservations, and runs these jobs. */
export const make = <R>(state: HostState, leases: HostLeases, jobs: ReadonlyArray<Handler<R>>) =>
  Effect.gen(function*() {
    const services = yield* Effect.context<R>()
    const handlers = new Map(jobs.map((handler) => [handler.job.name, handler]))

    return HostRpcs.of({
      Hold: (asked) =>
        Stream.unwrap(Effect.map(leases.hold(asked), (ended) =>
          Stream.make("granted" as const).pipe(
            Stream.concat(Stream.map(Stream.tick(state.timing.heartbeat), () => "alive" as const)),
            Stream.interruptWhen(Fiber.join(ended))
          ))),
      Run: ({ epoch, input, job, lease, transfer }) =>
        Stream.unwrap(Effect.gen(function*() {
          const held = yield* leases.found(lease, epoch)
          const handler = handlers.get(job)
          if (handler === undefined) {
            const known = [...handlers.keys()].join(", ")
            const advice = `It runs ${known === "" ? "none" : known}. Give its layer the handler of the job.`
            return yield* unsupported("Fleet.run", `the host "${state.name}"`, `the job "${job}"`, advice)
          }
          const bytes = input ?? (yield* held.transfers.taken(transfer ?? ""))
          const running = Effect.provideService(handler.run(bytes), CurrentHost, {
            device: held.grant.device,
            epoch,
            host: state.name,
            buffer: (buffer) => bufferOf(state.name, leases, buffer)
          })
          // The services of the device and the scope of the job count, whatever the host itself has.
          const answer = Effect.provideContext(held.run(running, () => state.whyEnded(epoch, true)), services)
          return partsOf(yield* answer)
        })),
      Send: ({ epoch, lease, ...chunk }) => leases.within(lease, epoch, ({ transfers }) => transfers.receive(chunk)),
      Allocate: ({ buffer, bytes, epoch, label, lease }) =>
        leases.within(lease, epoch, (held) => held.allocate(buffer, bytes, label)),
      Write: ({ data, offset, ...owned }) =>
        leases.withBuffer(
          owned,
          "Fleet.write",
          (held) => Effect.flatMap(held.buffer(owned.buffer), (target) => CommandQueue.write(target, data, { offset }))
        ),
      Read: ({ length, offset, ...owned }) => {
        const reading = <A>(use: (source: PooledBuffer) => Effect.Effect<A, GpuError, LeaseServices>) =>
          leases.withBuffer(owned, "Fleet.read", (held) => Effect.flatMap(held.buffer(owned.buffer), use))
        // Before there are ranges: of a wrong length there may be too many.
        const range = reading(({ size }) =>
          checked(
            "Fleet.read",
            ["offset", count("bytes", 0, size), offset],
            ["length", count("bytes", 0, Math.max(0, size - offset)), length]
          )
        )
        return Stream.unwrap(Effect.map(range, () =>
          Stream.fromIterable(rangesOf(offset, length)).pipe(
            Stream.rechunk(1),
            Stream.mapEffect(([offset, length]) =>
              reading((source) => CommandQueue.read(source, Uint8Array, { offset, length }))
            )
          )))
      },
      Free: (owned) => leases.withBuffer(owned, "Fleet.free", (held) => held.free(owned.buffer))
    })
  })

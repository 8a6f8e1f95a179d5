/**
 * A reservation on a host, as the client has it: held while its scope is open, and lost when the host says so, or nothing.
 *
 * @internal
 */
import { type GpuError, HostLost, isGpuError, make, released } from "effect-gpu-pool/GpuError"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { Answer } from "../FleetJob.ts"
import type { FleetBuffer, Placement } from "../protocol/FleetModel.ts"
import { chunkBytes, type RunPart } from "../protocol/HostRpcs.ts"
import type { EncodedJob } from "./EncodedJob.ts"
import type { HostLinks } from "./HostLinks.ts"

/** A host in one of its epochs. */
export type HostEpoch = Pick<Placement, "address" | "epoch" | "host">

/** HostLost, of what a client saw. */
export const lost = ({ epoch, host }: HostEpoch, detail: string, mayHaveRun = false): GpuError =>
  make(new HostLost({ host, epoch, detail, mayHaveRun }))

/** The calls of a host: where the connection fails, the host counts as lost. */
export const callsOf = Effect.fnUntraced(function*(links: HostLinks, host: HostEpoch) {
  const calls = yield* links.connect(host.address)
  const toGpuError = (error: { readonly message: string } | GpuError) =>
    isGpuError(error)
      ? Effect.fail(error)
      : Effect.andThen(links.failed(host.address), Effect.fail(lost(host, `its connection failed: ${error.message}`)))
  // The host interrupts what it still serves when its process ends. The caller is not interrupted.
  const ended = () => Effect.fail(lost(host, "it has ended"))
  return {
    calls,
    call: <A, E extends { readonly message: string }, R>(call: Effect.Effect<A, E, R>): Effect.Effect<A, GpuError, R> =>
      Effect.catch(Effect.catchCauseIf(call, Cause.hasInterruptsOnly, ended), toGpuError),
    stream: <A, E extends { readonly message: string }, R>(
      stream: Stream.Stream<A, E, R>
    ): Stream.Stream<A, GpuError, R> =>
      stream.pipe(
        Stream.catchCauseIf(Cause.hasInterruptsOnly, () => Stream.fromEffect(ended())),
        Stream.catch((error) => Stream.fromEffect(toGpuError(error)))
      )
  }
})

export class RemoteReservation {
  readonly placement: Placement
  /** Whether its scope is open. */
  #isOpen = true
  readonly #calls: Effect.Success<ReturnType<typeof callsOf>>
  /** Fails when the reservation ends before its scope closes. */
  readonly #lost: Deferred.Deferred<never, GpuError>

  private constructor(
    placement: Placement,
    calls: Effect.Success<ReturnType<typeof callsOf>>,
    lost: Deferred.Deferred<never, GpuError>
  ) {
    this.placement = placement
    this.#calls = calls
    this.#lost = lost
  }

  /** Asks the host, and succeeds when it has granted the reservation, which it holds until the scope closes. */
  static readonly hold = Effect.fnUntraced(function*(links: HostLinks, placement: Placement, hostTimeout: number) {
    const calls = yield* callsOf(links, placement)
    const { bytes, device, epoch, id } = placement
    const pull = yield* Stream.toPull(calls.stream(calls.calls.Hold({ bytes, device, epoch, id })))
    const next = Effect.timeoutOrElse(pull, {
      duration: hostTimeout,
      orElse: () => Effect.fail(lost(placement, `it has said nothing for ${hostTimeout} ms`))
    })
    const ended = Deferred.makeUnsafe<never, GpuError>()
    yield* Effect.mapError(next, lostAtEnd(placement))
    yield* Effect.forkScoped(
      Effect.catch(Effect.forever(next), (error) => Deferred.fail(ended, lostAtEnd(placement)(error)))
    )
    const reservation = new RemoteReservation(placement, calls, ended)
    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        reservation.#isOpen = false
      })
    )
    return reservation
  })

  /** Runs an effect that needs the reservation. It fails when the reservation is lost; `mayHaveRun` says what the error says then. */
  #while<A, E, R>(effect: Effect.Effect<A, E, R>, mayHaveRun: () => boolean): Effect.Effect<A, E | GpuError, R> {
    const gone = Effect.mapError(Deferred.await(this.#lost), (error) => mayHaveRun() ? this.#mayHaveRun(error) : error)
    return Effect.suspend(() => Deferred.isDoneUnsafe(this.#lost) ? gone : Effect.raceFirst(effect, gone)).pipe(
      // The program has ended it itself.
      Effect.catchIf(
        (error) => !this.#isOpen && isGpuError(error) && error.reason._tag === "HostLost",
        () => Effect.fail(this.#closed())
      )
    )
  }

  /** Runs a job here. */
  run({ input: bytes, name }: Pick<EncodedJob, "input" | "name">): Effect.Effect<Answer, GpuError> {
    let isSent = false
    const running = Effect.gen({ self: this }, function*() {
      const { call, calls, stream } = this.#calls
      const within = { lease: this.placement.id, epoch: this.placement.epoch }
      const transfer = bytes.length > chunkBytes ? `${within.lease}/${++lastNumber}` : undefined
      if (transfer !== undefined) {
        for (let offset = 0; offset < bytes.length; offset += chunkBytes) {
          const data = bytes.subarray(offset, offset + chunkBytes)
          yield* call(calls.Send({ ...within, transfer, size: bytes.length, offset, data }))
        }
      }
      isSent = true
      const answer = new JobAnswer()
      yield* Stream.runForEach(
        stream(calls.Run({ ...within, job: name, input: transfer === undefined ? bytes : undefined, transfer })),
        (part) => Effect.sync(() => answer.add(part))
      )
      const { outcome } = answer
      if (outcome === undefined) return yield* Effect.fail(lost(this.placement, "its answer is not complete", true))
      return { outcome, data: answer.bytes() }
    })
    return this.#while(
      Effect.mapError(running, (error) => isSent ? this.#mayHaveRun(error) : error),
      () => isSent
    )
  }

  #closed(): GpuError {
    return released("Fleet", {
      label: undefined,
      size: this.placement.bytes,
      what: "reservation",
      ended: "scopeClosed"
    })
  }

  /** HostLost of this host, after a job was sent to it. */
  #mayHaveRun(error: GpuError): GpuError {
    const { reason } = error
    return reason._tag === "HostLost" && reason.host === this.placement.host && !reason.mayHaveRun
      ? lost(this.placement, reason.detail, true)
      : error
  }

  /** Allocates a buffer, which ends with the reservation. */
  allocate(bytes: number, label: string | undefined): Effect.Effect<FleetBuffer, GpuError> {
    return Effect.suspend(() => {
      const { address, device, epoch, host, id: lease } = this.placement
      const id = `${lease}/${++lastNumber}`
      const { call, calls } = this.#calls
      return this.#while(
        Effect.as(
          call(calls.Allocate({ lease, epoch, buffer: id, bytes, label })),
          { id, bytes, lease, host, address, epoch, device }
        ),
        () => false
      )
    })
  }
}

/** Counts transfers and buffers, for identifiers that are unique within their reservation. */
let lastNumber = 0

const lostAtEnd = (placement: Placement) => (error: GpuError | Cause.Done): GpuError =>
  isGpuError(error) ? error : lost(placement, "it has ended the reservation")

/** What has arrived of a job's answer. */
class JobAnswer {
  outcome: "output" | "error" | undefined = undefined
  readonly #chunks: Array<Uint8Array> = []
  #size = 0

  add(part: RunPart): void {
    if (part._tag === "End") {
      this.outcome = part.outcome
      return
    }
    this.#chunks.push(part.data)
    this.#size += part.data.length
  }

  bytes(): Uint8Array {
    const bytes = new Uint8Array(this.#size)
    let offset = 0
    for (const chunk of this.#chunks) {
      bytes.set(chunk, offset)
      offset += chunk.length
    }
    return bytes
  }
}

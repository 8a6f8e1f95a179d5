/**
 * The methods of a fleet for programs, on the ways to its broker and its hosts.
 *
 * @internal
 */
import { deviceUnavailable, type GpuError, invalidRequest, released } from "effect-gpu-pool/GpuError"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { BrokerLink } from "../broker/BrokerLink.ts"
import type { Answer } from "../FleetJob.ts"
import type { Place } from "../protocol/BrokerRpcs.ts"
import * as Checked from "../protocol/Checked.ts"
import type { FleetBuffer, Placement } from "../protocol/FleetModel.ts"
import { chunkBytes } from "../protocol/HostRpcs.ts"
import type { Timing } from "../protocol/Timing.ts"
import * as ClientChecks from "./ClientChecks.ts"
import { decodeAnswer, type EncodedJob, encodeJob } from "./EncodedJob.ts"
import type { FleetMethods, Reservation, ReserveOptions, RunOptions } from "./FleetMethods.ts"
import type { HostLinks } from "./HostLinks.ts"
import { callsOf, RemoteReservation } from "./RemoteReservation.ts"

const { checked } = Checked

/** What a client does besides, for durable jobs. */
export interface FleetClient extends FleetMethods {
  /**
   * As `run`, with bytes for the input and the output. `begins` runs each time before the job is sent to a host: where it fails, the job
   * is not sent.
   */
  readonly runEncoded: <R = never>(
    job: EncodedJob,
    options?: RunOptions,
    begins?: (reservation: Reservation) => Effect.Effect<void, GpuError, R>
  ) => Effect.Effect<Answer, GpuError, R>
}

/** A client with these ways. */
export const make = (broker: BrokerLink, links: HostLinks, timing: Timing): FleetClient => {
  /** The reservations of this client whose scopes are open. */
  const reservations = new Map<string, RemoteReservation>()

  /** Whether a broker has ever answered: until then there may be none, or one that does not know this secret. */
  let hasAnswered = false
  const answered = Effect.sync(() => {
    hasAnswered = true
  })

  const status: FleetMethods["status"] = Effect.tap(broker.status, answered).pipe(
    Effect.timeoutOrElse({ duration: timing.hostTimeout, orElse: () => Effect.fail(noBroker(timing.hostTimeout)) })
  )

  /** Fails, or waits for ever where there is a broker. */
  const missingBroker = Effect.sleep(timing.hostTimeout).pipe(Effect.andThen(status), Effect.andThen(Effect.never))

  /** The broker bounds how long it lets a request wait. Here it is bounded how long a broker is waited for. */
  const placed = (place: Place): Effect.Effect<Placement, GpuError> => {
    const asked = Effect.tap(broker.place(place), answered)
    const bounded = hasAnswered ? asked : Effect.raceFirst(asked, missingBroker)
    const most = timing.hostTimeout + (place.onExhausted === "fail" ? 0 : place.waitAtMost)
    return most === Infinity
      ? bounded
      : Effect.timeoutOrElse(bounded, { duration: most, orElse: () => Effect.fail(noBroker(most)) })
  }

  /** Places a reservation, and holds it, at other places too while hosts refuse it. It fails when no host will ever have it. */
  const hold = Effect.fnUntraced(
    function*(place: Place, restore: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>) {
      const outer = yield* Effect.scope
      const closed = yield* Deferred.make<never, GpuError>()
      const scopeClosed = () => released("Fleet.reserve", { ...ofPlace(place), ended: "scopeClosed" })
      if (outer.state._tag === "Closed") return yield* Effect.fail(scopeClosed())
      yield* Scope.addFinalizer(outer, Effect.suspend(() => Deferred.fail(closed, scopeClosed())))
      let refused: Place["refused"] = undefined
      for (;;) {
        const waitAtMost = place.waitAtMost - ((yield* Clock.currentTimeMillis) - place.since)
        const placement: Placement = yield* restore(
          Effect.raceFirst(placed({ ...place, waitAtMost: Math.max(0, waitAtMost), refused }), Deferred.await(closed))
        )
        const scope = yield* Scope.fork(outer)
        const held: Exit.Exit<RemoteReservation, GpuError> = yield* Effect.exit(
          restore(Scope.provide(RemoteReservation.hold(links, placement, timing.hostTimeout), scope))
        )
        if (Exit.isSuccess(held)) return held.value
        yield* Scope.close(scope, held)
        const isClosed = Deferred.isDoneUnsafe(closed)
        refused = isClosed ? undefined : refusalOf(held, placement)
        if (refused === undefined) {
          // The host has not granted it, so the broker would keep its place for `claimTimeout`.
          yield* Effect.forkDetach(broker.cancel(place.id))
          return yield* (isClosed ? Deferred.await(closed) : held)
        }
      }
    }
  )

  const reserve = (options: ReserveOptions): Effect.Effect<Reservation, GpuError, Scope.Scope> =>
    Effect.uninterruptibleMask((restore) =>
      Effect.gen(function*() {
        const since = yield* Clock.currentTimeMillis
        const place = yield* placeOf(options, since)
        const held = yield* hold(place, restore)
        yield* Effect.acquireRelease(
          Effect.sync(() => reservations.set(place.id, held)),
          () => Effect.sync(() => reservations.delete(place.id))
        )
        return held.placement
      })
    )

  const found = (operation: string, { id }: Reservation): Effect.Effect<RemoteReservation, GpuError> =>
    Effect.suspend(() => {
      const found = reservations.get(id)
      return found === undefined
        ? Effect.fail(
          invalidRequest(operation, `the reservation "${id}" is not open here`, "Use it in the scope that reserved it.")
        )
        : Effect.succeed(found)
    })

  const runEncoded: FleetClient["runEncoded"] = (job, options = {}, begins = () => Effect.void) => {
    const { retry = defaultRetry, within, ...reserving } = options
    const runIn = (reservation: Reservation) =>
      Effect.flatMap(
        found("Fleet.run", reservation),
        (held) => Effect.andThen(begins(held.placement), held.run(job))
      )
    if (within !== undefined) return runIn(within)
    const { bytes, name: label, where } = job
    const once = Effect.scoped(Effect.flatMap(reserve({ bytes, where, label, ...reserving }), runIn))
    return Effect.retry(once, { schedule: retry, while: (error) => mayRunAgain(error, job.isIdempotent) })
  }

  const run: FleetMethods["run"] = Effect.fnUntraced(function*(job, input, options) {
    yield* checked("Fleet.run", ["options", ClientChecks.runOptions, options])
    // In a reservation of the program a job may need no memory of its own.
    const least = options?.within === undefined && options?.bytes === undefined ? 1 : 0
    const encoded = yield* encodeJob("Fleet.run", job, input, least)
    return yield* decodeAnswer(job, yield* runEncoded(encoded, options))
  })

  /** The calls of the host that a buffer is on. */
  const hostOf = (buffer: FleetBuffer) =>
    Effect.map(callsOf(links, buffer), (calls) => ({
      ...calls,
      within: { lease: buffer.lease, epoch: buffer.epoch, buffer: buffer.id }
    }))

  return {
    reserve,
    run,
    runEncoded,
    map: (job, inputs, options) =>
      Stream.unwrap(Effect.map(
        checked(
          "Fleet.map",
          ["the job", ClientChecks.job, job],
          ["the inputs", ClientChecks.inputs, inputs],
          ["options", ClientChecks.mapOptions, options]
        ),
        () => {
          const { concurrency, ordered = true, ...others } = options
          return Stream.mapEffect(
            Stream.isStream(inputs) ? inputs : Stream.fromIterable(inputs),
            (input) => run(job, input, others),
            { concurrency, unordered: !ordered }
          )
        }
      )),
    allocate: Effect.fnUntraced(function*(reservation, bytes, options) {
      const operation = "Fleet.allocate"
      yield* checked(
        operation,
        ["the reservation", ClientChecks.reservation, reservation],
        ["bytes", Checked.bytes, bytes],
        ["options", ClientChecks.allocateOptions, options]
      )
      const held = yield* found(operation, reservation)
      return yield* held.allocate(bytes, options?.label)
    }),
    write: (buffer, data, options) =>
      Effect.scoped(Effect.gen(function*() {
        yield* checked("Fleet.write", ["the buffer", ClientChecks.buffer, buffer], [
          "the data",
          ClientChecks.data,
          data
        ])
        yield* checked("Fleet.write", ["options", ClientChecks.writeOptions(buffer.bytes), options])
        let next = options?.offset ?? 0
        if (!Stream.isStream(data)) {
          const size = Checked.count("bytes", 0, buffer.bytes - next)
          yield* checked("Fleet.write", [
            `the size of the data at ${next} of ${buffer.bytes} bytes,`,
            size,
            data.length
          ])
        }
        const { call, calls, within } = yield* hostOf(buffer)
        yield* Stream.runForEach(chunksOf(data), (chunk) =>
          Effect.suspend(() => {
            const at = next
            next += chunk.length
            return call(calls.Write({ ...within, offset: at, data: chunk }))
          }))
      })),
    read: (buffer, options) =>
      Stream.unwrap(Effect.gen(function*() {
        yield* checked("Fleet.read", ["the buffer", ClientChecks.buffer, buffer])
        yield* checked("Fleet.read", ["options", ClientChecks.readOptions(buffer.bytes), options])
        const offset = options?.offset ?? 0
        const length = options?.length ?? buffer.bytes - offset
        yield* checked("Fleet.read", [
          `length from ${offset} on`,
          Checked.count("bytes", 0, buffer.bytes - offset),
          length
        ])
        const { calls, stream, within } = yield* hostOf(buffer)
        return stream(calls.Read({ ...within, offset, length }))
      })),
    free: (buffer) =>
      Effect.scoped(
        checked("Fleet.free", ["the buffer", ClientChecks.buffer, buffer]).pipe(
          Effect.andThen(Effect.suspend(() => hostOf(buffer))),
          Effect.flatMap(({ call, calls, within }) => call(calls.Free(within)))
        )
      ),
    status
  }
}

const noBroker = (millis: number): GpuError =>
  deviceUnavailable(
    [],
    `No broker of the fleet has answered for ${millis} ms: start a host, and give all processes the same secret and database.`
  )

const ofPlace = ({ bytes, label }: Place) => ({ label, size: bytes, what: "reservation" } as const)

const defaultRetry = Schedule.max([Schedule.exponential("100 millis"), Schedule.recurs(10)])

const mayRunAgain = ({ reason }: GpuError, isIdempotent: boolean): boolean => {
  return reason._tag === "HostLost" ? isIdempotent || !reason.mayHaveRun : reason._tag === "DeviceLost" && isIdempotent
}

const cut = (bytes: Uint8Array): ReadonlyArray<Uint8Array> =>
  Array.from(
    { length: Math.ceil(bytes.length / chunkBytes) },
    (_, index) => bytes.subarray(index * chunkBytes, (index + 1) * chunkBytes)
  )

const chunksOf = <E, R>(
  data: Uint8Array | Stream.Stream<Uint8Array, E, R>
): Stream.Stream<Uint8Array, E | GpuError, R> =>
  Stream.isStream(data)
    ? Stream.flatMap(data, (bytes) =>
      Stream.unwrap(Effect.map(
        checked("Fleet.write", ["an element of the data", ClientChecks.chunk, bytes]),
        () => Stream.fromIterable(cut(bytes))
      )))
    : Stream.fromIterable(cut(data))

/** What the broker needs to know of a host that does not grant what it placed there; `undefined` where another place would not help. */
const refusalOf = (held: Exit.Failure<unknown, GpuError>, { device, epoch, host }: Placement): Place["refused"] => {
  const error = Cause.findErrorOption(held.cause)
  if (Option.isNone(error)) return undefined
  const { reason } = error.value
  if (reason._tag === "HostLost") return { host, epoch, device, freeBytes: 0 }
  if (reason._tag !== "OutOfMemory") return undefined
  const { heldBytes, limit, managedBytes, pendingBytes, reservedBytes } = reason
  const free = limit - (managedBytes - heldBytes) - pendingBytes - reservedBytes
  return { host, epoch, device, freeBytes: Number.isFinite(free) ? Math.max(0, free) : 0 }
}

const placeOf = (options: ReserveOptions, since: number): Effect.Effect<Place, GpuError> =>
  Effect.map(checked("Fleet.reserve", ["options", ClientChecks.reserveOptions, options]), () => {
    const { bytes, label, onExhausted = "wait", waitAtMost = Infinity, where = {} } = options
    return {
      id: crypto.randomUUID(),
      bytes,
      where,
      label,
      since,
      onExhausted,
      waitAtMost: Duration.toMillis(Duration.fromInputUnsafe(waitAtMost)),
      refused: undefined
    }
  })

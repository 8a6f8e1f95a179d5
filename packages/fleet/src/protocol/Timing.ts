/**
 * After which times a fleet acts. All are milliseconds.
 *
 * @since 0.1.0
 */
import { type GpuError, invalidRequest } from "effect-gpu-pool/GpuError"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Checked from "./Checked.ts"

/**
 * The times, as a program gives them.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** How often a host says that it is there, to the broker and to the client of each reservation: a second. */
  readonly heartbeat?: Duration.Input | undefined
  /**
   * After how long a silence a host is lost: 10 seconds. Its clients fail with HostLost within this time. The host itself ends what it
   * has if no broker has confirmed its epoch for so long. A broker's failover must be shorter.
   */
  readonly hostTimeout?: Duration.Input | undefined
  /** After how long a silence another host becomes the broker: 4 seconds. */
  readonly brokerTimeout?: Duration.Input | undefined
  /** How long a placed reservation is kept for a client that has not come to the host yet: 5 seconds. */
  readonly claimTimeout?: Duration.Input | undefined
  /** How long a host that ends waits for its reservations to end: 30 seconds. */
  readonly drainTimeout?: Duration.Input | undefined
}

/**
 * The times in milliseconds.
 *
 * @category models
 * @since 0.1.0
 */
export type Timing = Readonly<Record<keyof Options, number>>

const defaults: Timing = {
  heartbeat: 1_000,
  hostTimeout: 10_000,
  brokerTimeout: 4_000,
  claimTimeout: 5_000,
  drainTimeout: 30_000
}

const positive = Checked.duration("finite duration above 0", (millis) => millis > 0 && millis < Infinity)

const check = Checked.options<Options>({
  heartbeat: Checked.optional(positive),
  hostTimeout: Checked.optional(positive),
  brokerTimeout: Checked.optional(positive),
  claimTimeout: Checked.optional(positive),
  drainTimeout: Checked.optional(
    Checked.duration("finite duration of 0 or more", (millis) => millis >= 0 && millis < Infinity)
  )
})

/**
 * The times of the options, or the usual ones.
 *
 * Fails with InvalidRequest for an unknown name, for a time that is no finite duration above 0 (`drainTimeout` may be 0), and unless
 * `heartbeat` is shorter than `brokerTimeout`, and that shorter than `hostTimeout`. `operation` is what the error says was called.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (options: Options = {}, operation = "Timing.make"): Effect.Effect<Timing, GpuError> =>
  Effect.gen(function*() {
    yield* Checked.checked(operation, ["timing", check, options])
    const millis = (name: keyof Options): number => {
      const given = options[name]
      return given === undefined ? defaults[name] : Duration.toMillis(Duration.fromInputUnsafe(given))
    }
    const timing: Timing = {
      heartbeat: millis("heartbeat"),
      hostTimeout: millis("hostTimeout"),
      brokerTimeout: millis("brokerTimeout"),
      claimTimeout: millis("claimTimeout"),
      drainTimeout: millis("drainTimeout")
    }
    for (const [shorter, longer] of [["heartbeat", "brokerTimeout"], ["brokerTimeout", "hostTimeout"]] as const) {
      if (timing[shorter] < timing[longer]) continue
      const problem = `timing.${shorter}, ${timing[shorter]} ms, is not shorter than timing.${longer}, ${
        timing[longer]
      } ms`
      return yield* invalidRequest(operation, problem, `Make ${longer} longer, or ${shorter} shorter.`)
    }
    return timing
  })

/**
 * After which times a fleet acts. All are milliseconds.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"

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

/**
 * The times of the options, or the usual ones.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (options: Options = {}): Timing => {
  const millis = (name: keyof Options): number => {
    const given = options[name]
    return given === undefined ? defaults[name] : Duration.toMillis(Duration.fromInputUnsafe(given))
  }
  return {
    heartbeat: millis("heartbeat"),
    hostTimeout: millis("hostTimeout"),
    brokerTimeout: millis("brokerTimeout"),
    claimTimeout: millis("claimTimeout"),
    drainTimeout: millis("drainTimeout")
  }
}

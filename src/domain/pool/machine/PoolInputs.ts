/**
 * The inputs that a shell gives to the machine of a memory. Hits and ends of leases are not among them: each is one step without an input.
 *
 * A recorder takes the place of the machine here: it writes each input down and passes it on. So a recording has all inputs, and what
 * the machine did follows from these.
 *
 * @since 0.1.0
 */
import type { PoolMachine } from "./PoolMachine.ts"
import type { Reusable } from "./PoolState.ts"

/**
 * The inputs of a machine, as a shell calls them.
 *
 * @category models
 * @since 0.1.0
 */
export type PoolInputs<A extends Reusable = Reusable> = Omit<
  PoolMachine<A>,
  | "accountOf"
  | "closed"
  | "core"
  | "hitSize"
  | "listen"
  | "listens"
  | "maxBypasses"
  | "mayHit"
  | "memory"
  | "released"
  | "state"
  | "trimExcess"
  | "tryHit"
>

/** The ways in which the others lose a host, and how it comes back. */
import * as Effect from "effect/Effect"
import type { TestedHost } from "./TestedFleet.ts"

export interface Loss {
  readonly title: string
  readonly lose: (host: TestedHost) => void
  readonly comeBack: (host: TestedHost) => Effect.Effect<void>
}

const signalled = (host: TestedHost, signal: NodeJS.Signals): void => host.process.signal(signal)

export const losses: ReadonlyArray<Loss> = [
  {
    title: "is killed",
    lose: (host) => signalled(host, "SIGKILL"),
    comeBack: (host) => host.restart
  },
  {
    title: "hangs",
    lose: (host) => signalled(host, "SIGSTOP"),
    // One client has been told. The others count the silence from what they heard last, so they may learn of the loss later.
    comeBack: (host) => Effect.delay(Effect.sync(() => signalled(host, "SIGCONT")), "2500 millis")
  },
  {
    title: "is cut off",
    lose: ({ proxy }) => proxy.cut(),
    comeBack: ({ proxy }) => Effect.sync(proxy.mend)
  },
  {
    title: "is behind a network that hangs",
    lose: ({ proxy }) => proxy.stall(),
    comeBack: ({ proxy }) => Effect.sync(proxy.mend)
  }
]

/** Each of them, for a host that has the broker, and for another one. */
export const combinations = losses.flatMap((loss) => [[loss, true], [loss, false]] as const)

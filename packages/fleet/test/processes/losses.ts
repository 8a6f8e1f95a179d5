/** The ways in which the others lose a host, and how it comes back. */
import * as Effect from "effect/Effect"
import type { TestedHost } from "./TestedFleet.ts"

export interface Loss {
  readonly title: string
  /** Whether the host's process goes on, so that it comes back by itself. */
  readonly survives: boolean
  readonly lose: (host: TestedHost) => void
  readonly comeBack: (host: TestedHost) => Effect.Effect<void>
}

const signalled = (host: TestedHost, signal: NodeJS.Signals): void => host.process.signal(signal)

export const losses: ReadonlyArray<Loss> = [
  {
    title: "is killed",
    survives: false,
    lose: (host) => signalled(host, "SIGKILL"),
    comeBack: (host) => host.restart
  },
  {
    title: "hangs",
    survives: true,
    lose: (host) => signalled(host, "SIGSTOP"),
    comeBack: (host) => Effect.sync(() => signalled(host, "SIGCONT"))
  },
  {
    title: "is cut off",
    survives: true,
    lose: ({ proxy }) => proxy.cut(),
    comeBack: ({ proxy }) => Effect.sync(proxy.mend)
  },
  {
    title: "is behind a network that hangs",
    survives: true,
    lose: ({ proxy }) => proxy.stall(),
    comeBack: ({ proxy }) => Effect.sync(proxy.mend)
  }
]

/** Each of them, for a host that has the broker, and for another one. */
export const combinations = losses.flatMap((loss) => [[loss, true], [loss, false]] as const)

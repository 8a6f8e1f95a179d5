/** A progress bar for each host where somebody watches, nothing elsewhere. */
import { MultiBar } from "cli-progress"
import { Effect } from "effect"

export interface Bars {
  /** Shows that a host has painted one more square. */
  readonly advance: (host: string) => void
  /** Shows a word behind a host's bar. */
  readonly say: (host: string, word: string) => void
}

const silent: Bars = { advance: () => {}, say: () => {} }

const terminal = (hosts: ReadonlyArray<string>, total: number): Bars & { readonly stop: () => void } => {
  // The release stops the bars on Ctrl-C too, so they need no signal handler of their own.
  const bars = new MultiBar({
    stream: process.stderr,
    format: "host {host} {bar} {value} squares {word}",
    hideCursor: true,
    gracefulExit: false
  })
  const byHost = new Map(hosts.map((host) => [host, bars.create(total, 0, { host, word: "" })]))
  return {
    advance: (host) => byHost.get(host)?.increment(),
    say: (host, word) => byHost.get(host)?.update({ word }),
    stop: () => bars.stop()
  }
}

/** Bars through `total` squares, until the scope closes. On standard error, so that what is printed can be redirected. */
export const make = (hosts: ReadonlyArray<string>, total: number) =>
  process.stderr.isTTY
    ? Effect.acquireRelease(Effect.sync(() => terminal(hosts, total)), ({ stop }) => Effect.sync(stop))
    : Effect.succeed(silent)

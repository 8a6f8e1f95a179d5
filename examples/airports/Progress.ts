/** Progress of the parts of the job: a bar where somebody watches, nothing elsewhere. */
import { SingleBar } from "cli-progress"
import { Context, Effect, Layer } from "effect"

export class Progress extends Context.Service<Progress, {
  /** Shows the progress of `body` through `total` steps; `body` gets a function that counts some steps as done. */
  readonly track: <A, E, R>(
    label: string,
    total: number,
    body: (advance: (steps: number) => Effect.Effect<void>) => Effect.Effect<A, E, R>
  ) => Effect.Effect<A, E, R>
}>()("airports/Progress") {
  static readonly layerSilent = Layer.succeed(Progress, { track: (_label, _total, body) => body(() => Effect.void) })

  static readonly layerTerminal = Layer.succeed(Progress, {
    track: (label, total, body) =>
      Effect.acquireUseRelease(
        Effect.sync(() => startBar(label, total)),
        (bar) => body((steps) => Effect.sync(() => bar.increment(steps))),
        (bar) => Effect.sync(() => bar.stop())
      )
  })

  /** On standard error, so that the table can be redirected; silent when that is no terminal. */
  static readonly layer = Layer.suspend(() => process.stderr.isTTY ? Progress.layerTerminal : Progress.layerSilent)
}

const startBar = (label: string, total: number): SingleBar => {
  // The release stops the bar on Ctrl-C too, so it needs no signal handler of its own.
  const bar = new SingleBar({
    stream: process.stderr,
    format: "{bar} {percentage} %  {label}",
    clearOnComplete: true,
    hideCursor: true,
    gracefulExit: false
  })
  bar.start(total, 0, { label })
  return bar
}

/** `npm run workers`, with options after `--`: `npm run workers -- --help`. */
import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { Console, Effect } from "effect"
import { Command, Flag } from "effect/cli"
import { availableParallelism } from "node:os"
import { compare } from "./Comparison.ts"

const number = (name: string, most: number, usual: number, description: string) =>
  Flag.Int(name).pipe(
    Flag.filter((value) => value >= 1 && value <= most, () => `a whole number from 1 to ${most}`),
    Flag.withDefault(usual),
    Flag.withDescription(`${description} (default ${usual})`)
  )

const flags = {
  threads: number("threads", 64, availableParallelism(), "Threads of the example's backend"),
  size: number("size", 8192, 1024, "Points in a row, and rows"),
  most: number("most", 1_000_000, 500, "The most steps of a point"),
  rounds: number("rounds", 100, 5, "How often each computes it; the fastest time counts")
}

const command = Command.make("workers", flags, ({ threads, ...options }) =>
  Effect.gen(function*() {
    yield* Console.log(`mandelbrot, ${options.size} x ${options.size} points, the fastest of ${options.rounds} rounds`)
    for (const { millis, name, ratio, same } of yield* compare(threads, options)) {
      yield* Console.log(
        `${name.padEnd(32)}${millis.toFixed(1).padStart(9)} ms ${ratio.toFixed(2).padStart(7)} x` +
          (same ? "" : "  other results!")
      )
    }
  })).pipe(
    Command.withDescription("Computes on the host, and on the example's backend with one thread and with several")
  )

Command.run(command, { version: "0.1.0" }).pipe(
  Effect.provide(NodeServices.layer),
  NodeRuntime.runMain
)

/** `npm run bench`, with sections and options after `--`: `npm run bench -- --help`. */
import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { Console, Data, Effect, FileSystem, Option, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import * as os from "node:os"
import * as Backend from "./Backend.ts"
import * as Comparison from "./Comparison.ts"
import * as Report from "./Report.ts"
import type { Section } from "./Section.ts"
import * as Sections from "./Sections.ts"
import * as Soak from "./soak/Soak.ts"

const Json = Schema.fromJsonString(Report.Report, { space: 2 })

const machine = (): Report.Report["machine"] => {
  const processors = os.cpus()
  return {
    platform: `${os.platform()} ${os.arch()}`,
    processor: processors[0]?.model.trim() ?? "unknown processor",
    processors: processors.length,
    node: process.versions.node
  }
}

/** Something could not be measured, or a soak failed; the report has already been printed. */
class BenchFailed extends Data.TaggedError("BenchFailed")<{ readonly failures: ReadonlyArray<string> }> {
  override get message(): string {
    return this.failures.join("\n")
  }
}

const measure = Effect.fn("bench.measure")(function*(section: Section) {
  yield* Console.error(`measuring ${section.name} ...`)
  const found: Report.Section = { name: section.name, title: section.title, ...yield* section.run }
  yield* Console.log(Report.sectionText(found))
  return found
})

const bench = Effect.fn("bench")(function*(names: ReadonlyArray<string>, json: Option.Option<string>) {
  const about = machine()
  yield* Console.log(`${Report.machineText(about)}\n`)
  const chosen = Sections.all.filter(({ name }) => names.length === 0 || names.includes(name))
  const sections = yield* Effect.forEach(chosen, measure)
  if (Option.isSome(json)) {
    const fs = yield* FileSystem.FileSystem
    yield* fs.writeFileString(json.value, yield* Schema.encodeEffect(Json)({ machine: about, sections }))
  }
  const failures = sections.flatMap(({ failures }) => failures)
  if (failures.length > 0) return yield* new BenchFailed({ failures })
})

class NotAReport extends Data.TaggedError("NotAReport")<{ readonly file: string; readonly cause: unknown }> {
  override get message(): string {
    return `${this.file} is no report of this version: ${String(this.cause)}. Write it anew with --json.`
  }
}

const readReport = Effect.fn("bench.readReport")(function*(file: string) {
  const fs = yield* FileSystem.FileSystem
  return yield* Schema.decodeEffect(Json)(yield* fs.readFileString(file))
}, (effect, file) => Effect.mapError(effect, (cause) => new NotAReport({ file, cause })))

const compare = Command.make(
  "compare",
  { before: Argument.File("before", { mustExist: true }), after: Argument.File("after", { mustExist: true }) },
  ({ after, before }) =>
    Effect.all([readReport(before), readReport(after)]).pipe(
      Effect.flatMap(([was, is]) => Console.log(Comparison.text(was, is)))
    )
).pipe(Command.withDescription("Compares two reports that --json wrote"))

const soak = Command.make(
  "soak",
  {
    backends: Argument.Literals("backend", Backend.Name.literals).pipe(
      Argument.variadic(),
      Argument.withDescription("Only these backends; all without one")
    ),
    minutes: Flag.Finite("minutes").pipe(
      Flag.filter((minutes) => minutes > 0, (minutes) => `${minutes} minutes are no time`),
      Flag.withDefault(10),
      Flag.withDescription("How long each load lasts")
    ),
    load: Flag.Literals("load", Soak.allLoads).pipe(
      Flag.optional,
      Flag.withDescription("Only this one: pools of buffers, or the chaos of every kind of memory under one limit")
    ),
    seed: Flag.Int("seed").pipe(Flag.optional, Flag.withDescription("Of the random load; a new one without it"))
  },
  Effect.fn("bench.soak")(function*({ backends, load, minutes, seed }) {
    const first = Option.getOrElse(seed, () => crypto.getRandomValues(new Uint16Array(1))[0]!)
    const chosen = backends.length === 0 ? Backend.Name.literals : backends
    yield* Console.log(`${Report.machineText(machine())}\n`)
    const loads = Option.match(load, { onNone: () => Soak.allLoads, onSome: (one) => [one] })
    yield* Console.error(
      `soaking ${chosen.join(", ")} for ${minutes} minutes of ${loads.join(" and ")}, seeds from ${first} ...`
    )
    const sections = yield* Soak.run({ minutes, seed: first, backends: chosen, loads })
    for (const section of sections) yield* Console.log(Report.sectionText(section))
    const failures = sections.flatMap(({ checks, failures }) => [
      ...failures,
      ...checks.filter((check) => !Report.isMet(check)).map(({ name }) => `missed: ${name}`)
    ])
    if (failures.length > 0) return yield* new BenchFailed({ failures })
  })
).pipe(Command.withDescription("Random load on pools of all backends at the same time; nothing may be left of it"))

const command = Command.make(
  "bench",
  {
    sections: Argument.Literals("section", Sections.all.map(({ name }) => name)).pipe(
      Argument.variadic(),
      Argument.withDescription("Only these sections; all without one")
    ),
    json: Flag.File("json").pipe(Flag.optional, Flag.withDescription("Writes the figures to this file as well"))
  },
  ({ json, sections }) => bench(sections, json)
).pipe(
  Command.withDescription("What leases, pools and allocators cost on this machine, and what they save"),
  Command.withSubcommands([compare, soak])
)

Command.run(command, { version: "1.0.0" }).pipe(Effect.provide(NodeServices.layer), NodeRuntime.runMain)

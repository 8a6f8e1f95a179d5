/**
 * `effect-gpu-pool doctor`: which backends work on this machine, what the others lack, and the commands that install it.
 *
 * @internal
 */
import { Backends } from "effect-gpu-pool/Devices"
import * as Command from "effect/cli/Command"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import { AnswerIsNo } from "../Ending.ts"
import { jsonFlag, style } from "../Output.ts"
import { json as asJson } from "../Printable.ts"
import { diagnose } from "./Diagnosis.ts"
import * as DoctorReport from "./DoctorReport.ts"
import { readMachine } from "./ReadMachine.ts"
import { tryBackend } from "./TryBackend.ts"

export const doctorCommand = Command.make(
  "doctor",
  { json: jsonFlag },
  Effect.fnUntraced(function*({ json }) {
    const machine = yield* readMachine
    const backends = yield* Backends
    const diagnoses = yield* Effect.forEach(
      backends,
      ({ name }) => Effect.map(tryBackend(name), (tried) => diagnose(name, machine, tried)),
      { concurrency: "unbounded" }
    )
    const report = DoctorReport.make(machine, diagnoses)
    yield* Console.log(
      json ? asJson(report, 2) : DoctorReport.text(report, yield* style)
    )
    if (!report.works) return yield* Effect.fail(new AnswerIsNo(DoctorReport.unusable))
  })
).pipe(
  Command.withDescription(
    "Open each backend in a process of its own, compute on its devices, and say what is missing and how to install it. " +
      "The exit code is 2 when no backend for GPUs works."
  ),
  Command.withShortDescription("Say which backends work here, and how to install what is missing"),
  Command.withExamples([
    { command: "effect-gpu-pool doctor", description: "What works, and what to install" },
    { command: "effect-gpu-pool doctor --json", description: "The same, for scripts" }
  ])
)

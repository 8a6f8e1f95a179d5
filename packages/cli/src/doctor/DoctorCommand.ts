/**
 * `effect-gpu-pool doctor`: which backends work on this machine, what the others lack, and the commands that install it.
 *
 * @internal
 */
import { Backends } from "effect-gpu-pool/Devices"
import * as Command from "effect/cli/Command"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Path from "effect/Path"
import * as ChildProcess from "effect/process/ChildProcess"
import * as Stream from "effect/Stream"
import { AnswerIsNo } from "../Ending.ts"
import { jsonFlag, style } from "../Output.ts"
import { json as asJson, messageOf } from "../Printable.ts"
import { answerOf, type ProbeResult } from "./ChildAnswer.ts"
import { diagnose } from "./Diagnosis.ts"
import * as DoctorReport from "./DoctorReport.ts"
import { readMachine } from "./ReadMachine.ts"

/** The path of the child's program: next to this file, with the same extension. */
const program = new URL(`./probeDevices${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url)

/** Drivers compile at their first use, which takes seconds. A driver that takes longer than this counts as hanging. */
const timeout = "90 seconds"

/** The results, or a text that says why there are none. */
const probe = Effect.fn("doctor.probe")(
  function*(name: string) {
    const file = yield* Effect.orDie((yield* Path.Path).fromFileUrl(program))
    const child = yield* ChildProcess.make(process.execPath, [...process.execArgv, file, name], {
      stdin: "ignore",
      killSignal: "SIGKILL"
    })
    const [stdout, stderr, ended] = yield* Effect.all([
      Stream.mkString(Stream.decodeText(child.stdout)),
      Stream.mkString(Stream.decodeText(child.stderr)),
      Effect.match(child.exitCode, {
        // The error names the signal that ended it.
        onFailure: ({ reason }) => ({ code: null, signal: null, problem: messageOf(reason.cause) }),
        onSuccess: (code) => ({ code, signal: null })
      })
    ], { concurrency: "unbounded" })
    const found = answerOf<ProbeResult>({ stdout, stderr, ...ended })
    return "answer" in found ? found.answer : found.why
  },
  Effect.scoped,
  Effect.timeoutOrElse({
    duration: timeout,
    orElse: () => Effect.succeed(`its driver did not answer within ${timeout}`)
  }),
  Effect.catch(({ message }) => Effect.succeed(message))
)

export const doctorCommand = Command.make(
  "doctor",
  { json: jsonFlag },
  Effect.fnUntraced(function*({ json }) {
    const machine = yield* readMachine
    const backends = yield* Backends
    const diagnoses = yield* Effect.forEach(
      backends,
      ({ name }) => Effect.map(probe(name), (probed) => diagnose(name, machine, probed)),
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

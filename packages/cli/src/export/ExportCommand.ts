/**
 * `effect-gpu-pool export`: a recording as a file that other tools read.
 *
 * @internal
 */
import { ChromeTrace, CupyLog, RmmLog, TorchSnapshot } from "@effect-gpu-pool/observability"
import type { Recording } from "@effect-gpu-pool/observability/Recording"
import type { GpuError } from "effect-gpu-pool/GpuError"
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { forUser } from "../Ending.ts"
import * as OutputFile from "../OutputFile.ts"
import { inputs, read } from "../recordings/RecordingInput.ts"

interface Format {
  readonly ending: string
  readonly toText: (recording: Recording) => Stream.Stream<string, GpuError>
}

const formats = {
  chrome: { ending: ".trace.json", toText: ChromeTrace.toText },
  torch: { ending: ".snapshot.json", toText: TorchSnapshot.toText },
  rmm: { ending: ".rmm.csv", toText: RmmLog.toText },
  cupy: { ending: ".cupy.jsonl", toText: CupyLog.toText }
} satisfies Readonly<Record<string, Format>>

const names = Object.keys(formats) as Array<keyof typeof formats>

const parameters = {
  recording: Argument.String("recording").pipe(Argument.withDescription(`What to export: ${inputs}`)),
  format: Flag.Literals("format", names).pipe(
    Flag.withDescription(
      "chrome: a trace for Perfetto and Chrome; torch: a snapshot for pytorch.org/memory_viz; rmm: a CSV log of RMM; " +
        "cupy: the lines of CuPy's DebugPrintHook"
    )
  ),
  ...OutputFile.outputFlags
}

export const exportCommand = Command.make(
  "export",
  parameters,
  Effect.fnUntraced(function*({ format, recording: input, ...options }) {
    const { ending, toText } = formats[format]
    const recording = yield* read(input)
    const name = yield* OutputFile.nameOf(input)
    yield* OutputFile.write(
      // No file of these formats says who wrote it.
      { ...options, name, ending, inputs: [input], isOwn: () => false },
      Stream.mapError(toText(recording), forUser)
    )
  })
).pipe(
  Command.withDescription(
    "Write a recording as a file that other tools read: traces for Perfetto and Chrome, snapshots for PyTorch's viewer, logs of RMM and " +
      "CuPy. Each format loses some of a recording: the documentation of recordings has a table."
  ),
  Command.withShortDescription("Write a recording as a file that other tools read"),
  Command.withExamples([
    { command: "effect-gpu-pool export recording.jsonl --format chrome", description: "Write recording.trace.json" },
    {
      command: "effect-gpu-pool export recording.jsonl --format torch --output snapshot.json",
      description: "A snapshot for pytorch.org/memory_viz"
    },
    {
      command: "effect-gpu-pool export recording.jsonl --format rmm --output - | gzip > rmm.csv.gz",
      description: "To another program"
    }
  ])
)

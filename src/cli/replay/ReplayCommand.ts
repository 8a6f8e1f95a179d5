/**
 * `effect-gpu-pool replay`: the requests of a recording again, under the same or other policies, without a device.
 *
 * @internal
 */
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { lines } from "../../domain/arguments/ShownValue.ts"
import type { EvictionOrder } from "../../domain/pool/EvictionPolicy.ts"
import type { SizePolicy } from "../../domain/pool/SizePolicy.ts"
import * as Replay from "../../observability/replay/Replay.ts"
import { AnswerIsNo, forUser } from "../Ending.ts"
import { inputs, read } from "../recordings/RecordingInput.ts"
import { evictionPolicies, sizePolicyOf } from "./PolicyText.ts"
import * as ReplayText from "./ReplayText.ts"

const policyIn = (text: string): Option.Option<SizePolicy> => {
  const found = sizePolicyOf(text)
  return typeof found === "string" ? Option.none() : Option.some(found)
}

const policy = Flag.String("policy").pipe(Flag.filterMap(policyIn, (text) => String(sizePolicyOf(text))))

const orders = Object.keys(evictionPolicies) as Array<EvictionOrder>

const parameters = {
  recording: Argument.String("recording").pipe(Argument.withDescription(`What to replay: ${inputs}`)),
  policy: policy.pipe(
    Flag.optional,
    Flag.withDescription("Another size policy, as exact, leadingBits:4, sizeClasses:4,borrow=1 or table:4096,65536")
  ),
  maxBytes: Flag.String("max-bytes").pipe(
    Flag.optional,
    Flag.withDescription(`Another limit, as "2 GiB", "50%" of the recorded device, or unlimited`)
  ),
  eviction: Flag.Literals("eviction", orders).pipe(
    Flag.optional,
    Flag.withDescription("Another order in which held blocks are freed")
  ),
  memory: Flag.String("memory").pipe(
    Flag.optional,
    Flag.withDescription("Change only the memory with this label or number; without it each one of the recording")
  ),
  json: Flag.Boolean("json").pipe(Flag.withDefault(false), Flag.withDescription("Print JSON instead of a table"))
}

interface Changes {
  readonly policy: Option.Option<SizePolicy>
  readonly maxBytes: Option.Option<string>
  readonly eviction: Option.Option<EvictionOrder>
  readonly memory: Option.Option<string>
}

/** A label may be a number, so a number is one where no memory has it for a label. */
const memoryOf = (labels: ReadonlySet<string | undefined>, memory: string): string | number =>
  !labels.has(memory) && /^\d+$/.test(memory) ? Number(memory) : memory

const optionsOf = (
  { eviction, maxBytes, memory, policy }: Changes,
  labels: ReadonlySet<string | undefined>
): Replay.ReplayOptions => ({
  sizePolicy: Option.getOrUndefined(policy),
  maxBytes: Option.getOrUndefined(maxBytes),
  eviction: Option.getOrUndefined(Option.map(eviction, (order) => evictionPolicies[order])),
  memory: Option.getOrUndefined(Option.map(memory, (memory) => memoryOf(labels, memory)))
})

/** As the report names them. */
const changesOf = ({ eviction, maxBytes, policy }: Changes): Readonly<Record<string, string>> => ({
  ...Option.match(policy, { onNone: () => ({}), onSome: ({ name }) => ({ policy: name }) }),
  ...Option.match(maxBytes, { onNone: () => ({}), onSome: (maxBytes) => ({ maxBytes }) }),
  ...Option.match(eviction, { onNone: () => ({}), onSome: (eviction) => ({ eviction }) })
})

export const replayCommand = Command.make(
  "replay",
  parameters,
  Effect.fnUntraced(function*({ json, recording: input, ...changes }) {
    const recording = yield* read(input)
    const labels = new Set(recording.memories.map(({ label }) => label))
    const changed = changesOf(changes)
    const replayed = yield* Effect.mapError(Replay.run(recording, optionsOf(changes, labels)), forUser)
    const recorded = Object.keys(changed).length === 0
      ? undefined
      : yield* Effect.mapError(Replay.run(recording), forUser)
    const report = ReplayText.make(input, recording, changed, recorded, replayed)
    yield* Console.log(json ? lines(JSON.stringify(report, undefined, 2), Infinity) : ReplayText.text(report))
    const failure = ReplayText.firstFailure(replayed.failed)
    if (failure !== undefined) return yield* Effect.fail(new AnswerIsNo(failure))
  })
).pipe(
  Command.withDescription(
    "Make the requests of a recording again, by the pool's own code and without a device, under its own policy or another. The " +
      "exit code is 2 when a request gets nothing, and the first one is named."
  ),
  Command.withShortDescription("Replay a recording under other policies and limits"),
  Command.withExamples([
    { command: "effect-gpu-pool replay recording.jsonl", description: "What happened, counted" },
    { command: `effect-gpu-pool replay recording.jsonl --max-bytes "2 GiB"`, description: "Would less memory do?" },
    {
      command: "effect-gpu-pool replay recording.jsonl --policy exact --json",
      description: "Another size policy, for scripts"
    }
  ])
)

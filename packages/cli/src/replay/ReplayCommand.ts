/**
 * `effect-gpu-pool replay`: makes the requests of a recording again, under the same or other policies, without a device.
 *
 * @internal
 */
import type { Recording } from "@effect-gpu-pool/observability/Recording"
import * as Replay from "@effect-gpu-pool/observability/Replay"
import type { EvictionOrder } from "effect-gpu-pool/EvictionPolicy"
import type { SizePolicy } from "effect-gpu-pool/SizePolicy"
import * as Argument from "effect/cli/Argument"
import type * as CliError from "effect/cli/CliError"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { AnswerIsNo, failing, forUser } from "../Ending.ts"
import { jsonFlag, width } from "../Output.ts"
import { json as asJson } from "../Printable.ts"
import { inputs, read } from "../recordings/RecordingInput.ts"
import { evictionPolicies, sizePolicyOf, strategies } from "./PolicyText.ts"
import * as ReplayText from "./ReplayText.ts"

const policyIn = (text: string): Option.Option<SizePolicy> => {
  const found = sizePolicyOf(text)
  return typeof found === "string" ? Option.none() : Option.some(found)
}

const policy = Flag.String("policy").pipe(Flag.filterMap(policyIn, (text) => String(sizePolicyOf(text))))

const orders = Object.keys(evictionPolicies) as Array<EvictionOrder>

const names = Object.keys(strategies) as Array<keyof typeof strategies>

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
  strategy: Flag.Literals("strategy", names).pipe(
    Flag.optional,
    Flag.withDescription("Keep free memory as blocks, or as the slabs of an arena, which it splits and merges")
  ),
  memory: Flag.String("memory").pipe(
    Flag.optional,
    Flag.withDescription("Change only the memory with this label or number; without it each one of the recording")
  ),
  bisect: Flag.Boolean("bisect").pipe(
    Flag.withDefault(false),
    Flag.withDescription("Find the smallest limit under which no request fails, and replay under that")
  ),
  json: jsonFlag
}

interface Changes {
  readonly policy: Option.Option<SizePolicy>
  readonly maxBytes: Option.Option<string>
  readonly eviction: Option.Option<EvictionOrder>
  readonly strategy: Option.Option<keyof typeof strategies>
  readonly memory: Option.Option<string>
}

/** The memory that `--memory` names. A number may be a label, so labels are compared first. */
const memoryOf = (labels: ReadonlySet<string | undefined>, memory: string): string | number =>
  !labels.has(memory) && /^\d+$/.test(memory) ? Number(memory) : memory

const optionsOf = (
  { eviction, maxBytes, memory, policy, strategy }: Changes,
  labels: ReadonlySet<string | undefined>
): Replay.ReplayOptions => ({
  sizePolicy: Option.getOrUndefined(policy),
  maxBytes: Option.getOrUndefined(maxBytes),
  eviction: Option.getOrUndefined(Option.map(eviction, (order) => evictionPolicies[order])),
  strategy: Option.getOrUndefined(Option.map(strategy, (name) => strategies[name])),
  memory: Option.getOrUndefined(Option.map(memory, (memory) => memoryOf(labels, memory)))
})

/** The changes as the report names them. */
const changesOf = ({ eviction, maxBytes, policy, strategy }: Changes): Readonly<Record<string, string>> => ({
  ...Option.match(policy, { onNone: () => ({}), onSome: ({ name }) => ({ policy: name }) }),
  ...Option.match(maxBytes, { onNone: () => ({}), onSome: (maxBytes) => ({ maxBytes }) }),
  ...Option.match(eviction, { onNone: () => ({}), onSome: (eviction) => ({ eviction }) }),
  ...Option.match(strategy, { onNone: () => ({}), onSome: (strategy) => ({ strategy }) })
})

/** A limit as `--max-bytes` accepts it. */
const limitText = ({ atAll }: ReplayText.Limits): string => atAll === null ? "unlimited" : `${atAll.maxBytes} B`

/** The smallest limits, for `--bisect`, which excludes `--max-bytes`. */
const limitsOf = (
  recording: Recording,
  { maxBytes, ...options }: Replay.ReplayOptions
): Effect.Effect<ReplayText.Limits, CliError.UserError> =>
  maxBytes === undefined
    ? Effect.mapError(
      Effect.map(
        Effect.all([
          Replay.smallestLimit(recording, options),
          Replay.smallestLimit(recording, { ...options, mayWait: false })
        ]),
        ([atAll = null, withoutWaiting = null]) => ({ atAll, withoutWaiting })
      ),
      forUser
    )
    : Effect.fail(failing(givenLimit))

const givenLimit = "--bisect looks for a limit, and --max-bytes gives one: leave one of them out."

export const replayCommand = Command.make(
  "replay",
  parameters,
  Effect.fnUntraced(function*({ bisect, json, recording: input, ...given }) {
    const recording = yield* read(input)
    const labels = new Set(recording.memories.map(({ label }) => label))
    const limits = bisect ? yield* limitsOf(recording, optionsOf(given, labels)) : null
    const changes = limits === null ? given : { ...given, maxBytes: Option.some(limitText(limits)) }
    const changed = changesOf(changes)
    const replayed = yield* Effect.mapError(Replay.run(recording, optionsOf(changes, labels)), forUser)
    const recorded = Object.keys(changed).length === 0
      ? undefined
      : yield* Effect.mapError(Replay.run(recording), forUser)
    const report = ReplayText.make({ input, recording, changed, recorded, replayed, limits })
    yield* Console.log(
      json ? asJson(report, 2) : ReplayText.text(report, yield* width)
    )
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
    { command: "effect-gpu-pool replay recording.jsonl --bisect", description: "How much memory is needed?" },
    {
      command: "effect-gpu-pool replay recording.jsonl --strategy arena",
      description: "What would an arena have taken?"
    },
    {
      command: "effect-gpu-pool replay recording.jsonl --policy exact --json",
      description: "Another size policy, for scripts"
    }
  ])
)

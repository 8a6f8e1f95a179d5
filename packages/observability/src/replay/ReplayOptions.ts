/**
 * Under which policies a recording is replayed.
 *
 * @since 0.1.0
 */
import * as BackendTraits from "effect-gpu-pool/BackendTraits"
import type { DeviceInfo } from "effect-gpu-pool/DeviceInfo"
import { type GpuError, invalidRequest, isGpuError, unsupported } from "effect-gpu-pool/GpuError"
import { idleClockOf } from "effect-gpu-pool/IdleSchedule"
import { type MemoryOptions, type MemorySettings, memorySettingsOf, strategyProblem } from "effect-gpu-pool/PoolOptions"
import { arena, type PoolStrategy } from "effect-gpu-pool/PoolStrategy"
import * as SizePolicy from "effect-gpu-pool/SizePolicy"
import { strategyFacts } from "../recording/MemoryFacts.ts"
import type { RecordedMemory, Recording } from "../recording/Recording.ts"

/**
 * What differs from the recording. An option that is left out is as recorded. Sizes are bytes, or texts as `"512 MiB"`, or shares
 * of the recorded device's memory as `"50%"`, where the recording has its size.
 *
 * **Example** (The same requests under another order of eviction and half the memory)
 *
 * ```ts
 * import { EvictionPolicy } from "effect-gpu-pool"
 * import type { Replay } from "@effect-gpu-pool/observability"
 *
 * const options: Replay.ReplayOptions = { maxBytes: "4 GiB", eviction: EvictionPolicy.leastRecentlyUsed }
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface ReplayOptions extends
  Pick<
    MemoryOptions,
    | "maxBytes"
    | "eviction"
    | "maxHeldBytes"
    | "reuse"
    | "idleTimeToLive"
    | "idleKeepBytes"
    | "idleSteps"
    | "maxBypasses"
    | "strategy"
  >
{
  /**
   * From requested size to block size, for buffers; the blocks of images keep their sizes. Default: the recorded sizes, or
   * `SizePolicy.defaultPolicy` for what was recorded on an arena and is replayed on blocks.
   */
  readonly sizePolicy?: SizePolicy.SizePolicy | undefined
  /** The label or the number of the memory that these options are for. Default: every memory of the recording. */
  readonly memory?: string | number | undefined
}

/** The recorded device, as far as limits depend on it. @internal */
export const deviceOf = ({ device, deviceBytes, maxBufferSize = Infinity }: RecordedMemory): DeviceInfo => ({
  backend: "recorded",
  traits: BackendTraits.make({
    language: { id: "none", name: "replay", bodies: "ranges" },
    usesHostMemory: true
  }),
  name: device,
  vendor: "",
  driver: "",
  limits: {
    maxBufferSize,
    maxBindingSize: Infinity,
    granularity: 1,
    regionAlignment: 4,
    copyAlignment: 4,
    leastCopyAlignment: 1,
    memoryBytes: deviceBytes,
    defaultMaxBytes: undefined,
    maxWorkgroupSize: 1,
    maxVectorArguments: 0
  },
  dtypes: new Set()
})

/** How one memory is replayed. @internal */
export interface MemoryPlan {
  readonly memory: RecordedMemory
  readonly settings: MemorySettings
  readonly sizePolicy: SizePolicy.SizePolicy | undefined
  /** Whether the limit differs from the recorded one: then recorded changes of it do not apply. */
  readonly hasOwnLimit: boolean
}

/** The facts of the replayed memory, for the recording of the replay. @internal */
export const memoryUnder = ({ memory, settings }: MemoryPlan): RecordedMemory => ({
  ...memory,
  ...settings,
  strategy: strategyFacts(settings.strategy, unitOf(settings.strategy), memory.strategy?.granularity),
  deadlockTimeoutMillis: memory.deadlockTimeoutMillis
})

/** Recorded parts begin where the recorded device had them; a device that is not recorded asks for no more than the default. */
const unitOf = (strategy: PoolStrategy | undefined): number => strategy?.arena?.unitBytes ?? 1

/** How a recording is replayed. @internal */
export interface ReplayPlan {
  /** Whether nothing differs from the recording. */
  readonly isSame: boolean
  readonly memories: ReadonlyArray<MemoryPlan>
}

const recordedArena = (
  { borrow, growth, slabBytes, unitBytes }: NonNullable<RecordedMemory["strategy"]>
): PoolStrategy => arena({ borrow, growth, slabBytes, unitBytes })

const recordedSettings = (memory: RecordedMemory): MemorySettings => {
  const { eviction, idle, label, outgrown, reuse } = memory
  const strategy = memory.strategy && recordedArena(memory.strategy)
  // A recording does not say who waits for whom: a replay ends deadlocks when the recording does.
  return {
    ...memory,
    eviction,
    idle: idle && idleClockOf(idle),
    label,
    outgrown,
    reuse,
    strategy,
    deadlockTimeoutMillis: Infinity
  }
}

/** A strategy that no replay can make again, or parts before the first event that it cannot have made. */
const recordedProblem = (operation: string, memory: RecordedMemory, { blocks }: Recording): GpuError | undefined => {
  const { number, strategy } = memory
  if (strategy === undefined) return undefined
  if (strategy.unitBytes === undefined) {
    return unsupported(
      operation,
      "recorded",
      `the strategy ${strategy.name} of memory ${number}`,
      "Pass a strategy to replay it under: a recording has the options of an arena, but none of a strategy of your own."
    )
  }
  const { unitBytes = 1 } = strategy
  const isWhole = (bytes: number): boolean => bytes % unitBytes === 0
  const wrong = blocks.find(({ memory, parts = [] }) =>
    memory === number && !parts.every(({ offset, partBytes }) => isWhole(offset) && isWhole(partBytes))
  )
  return wrong === undefined ? recordedArena(strategy).problem : invalidRequest(
    operation,
    `parts of block ${wrong.block} do not begin and end at multiples of ${unitBytes} B`,
    "Take a recording as Recording.save has written it."
  )
}

const isMeant = ({ label, number }: RecordedMemory, memory: string | number | undefined): boolean =>
  memory === undefined || memory === label || memory === number

/** The recorded settings, overridden by the options. */
const settingsOf = (
  operation: string,
  memory: RecordedMemory,
  options: Omit<ReplayOptions, "memory" | "sizePolicy">
): MemorySettings | GpuError => {
  const recorded = recordedSettings(memory)
  const given = memorySettingsOf(operation, memory.kind, options, deviceOf(memory), idleClockOf)
  if (isGpuError(given)) return given
  return {
    ...recorded,
    maxBytes: options.maxBytes === undefined ? recorded.maxBytes : given.maxBytes,
    maxHeldBytes: options.maxHeldBytes === undefined ? recorded.maxHeldBytes : given.maxHeldBytes,
    outgrown: options.maxHeldBytes === undefined ? recorded.outgrown : undefined,
    strategy: options.strategy ?? recorded.strategy,
    eviction: options.eviction ?? recorded.eviction,
    reuse: options.reuse ?? recorded.reuse,
    maxBypasses: options.maxBypasses ?? recorded.maxBypasses,
    idle: options.idleTimeToLive === undefined ? recorded.idle : given.idle
  }
}

/** Counters of a pool are exact up to 2^53−1 bytes only. */
const blocksProblem = (operation: string, { blocks }: Recording): GpuError | undefined => {
  const bytes = new Map<number, number>()
  for (const { capacity, memory } of blocks) {
    const sum = (bytes.get(memory) ?? 0) + capacity
    if (sum > Number.MAX_SAFE_INTEGER) {
      const problem =
        `the blocks of memory ${memory} before the first event have more than ${Number.MAX_SAFE_INTEGER} B`
      return invalidRequest(operation, problem, "Take a recording as Recording.save has written it.")
    }
    bytes.set(memory, sum)
  }
  return undefined
}

/** @internal */
export const planOf = (
  operation: string,
  recording: Recording,
  options: ReplayOptions = {}
): ReplayPlan | GpuError => {
  const problem = SizePolicy.problem(operation, options.sizePolicy) ?? blocksProblem(operation, recording) ??
    (options.strategy === undefined ? undefined : strategyProblem(operation, "strategy", options.strategy))
  if (problem !== undefined) return problem
  const { memory: meant, sizePolicy, ...others } = options
  if (meant !== undefined && !recording.memories.some((memory) => isMeant(memory, meant))) {
    return invalidRequest(
      operation,
      `no memory of the recording is ${JSON.stringify(meant)}`,
      "Pass a label or a number of one."
    )
  }
  const memories: Array<MemoryPlan> = []
  for (const memory of recording.memories) {
    const isPlain = !isMeant(memory, meant)
    const wrong = isPlain || options.strategy === undefined ? recordedProblem(operation, memory, recording) : undefined
    if (wrong !== undefined) return wrong
    const settings = isPlain ? recordedSettings(memory) : settingsOf(operation, memory, others)
    if (isGpuError(settings)) return settings
    memories.push({
      memory,
      settings,
      sizePolicy: isPlain ? undefined : sizePolicy,
      hasOwnLimit: !isPlain && options.maxBytes !== undefined
    })
  }
  const isSame = sizePolicy === undefined && Object.values(others).every((value) => value === undefined)
  return { isSame, memories }
}

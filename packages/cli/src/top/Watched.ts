/**
 * The programs that are connected to `effect-gpu-pool top`, and their memories, assembled from the metrics of `PoolMetrics`.
 *
 * @internal
 */
import type * as DevToolsSchema from "effect/devtools/DevToolsSchema"

/** The counters of a memory, by the names of `PoolStats` and `PoolMetrics`, without the unit of counters. */
export interface ReportedMemory {
  /** The label of the pool, or of the device memory that several pools share. */
  readonly memory: string | null
  readonly device: string
  /** The host, where the program says one. */
  readonly host?: string
  /** Distinguishes memories of equal label on one device, from 1. */
  readonly number: number
  readonly counts: Readonly<Record<string, number>>
}

const prefix = "gpu_pool_"

const camelCase = (name: string): string => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())

/** The name of a counter: `heldBytes` for `gpu_pool_held_bytes`, `hits` for `gpu_pool_hits_total`. */
const nameOf = (id: string): string => camelCase(id.slice(prefix.length).replace(/_total$/, ""))

const valueOf = (metric: DevToolsSchema.Metric): number | undefined => {
  const value = metric.type === "Gauge"
    ? Number(metric.state.value)
    : metric.type === "Counter"
    ? Number(metric.state.count)
    : undefined
  return Number.isFinite(value) ? value : undefined
}

/** The key of a memory within its program. */
export const keyOf = ({ device, memory, number }: Pick<ReportedMemory, "device" | "memory" | "number">): string =>
  JSON.stringify([memory, device, number])

/** The memories in the order of their metrics, in which they were opened. */
export const memoriesOf = (snapshot: DevToolsSchema.MetricsSnapshot): ReadonlyArray<ReportedMemory> => {
  const found = new Map<string, ReportedMemory & { readonly counts: Record<string, number> }>()
  for (const metric of snapshot.metrics) {
    const value = metric.id.startsWith(prefix) ? valueOf(metric) : undefined
    if (value === undefined) continue
    const { device = "", host, memory = null, number = "1" } = metric.attributes ?? {}
    const place = { memory, device, number: Number(number), ...host === undefined ? {} : { host } }
    const key = keyOf(place)
    const known = found.get(key) ?? { ...place, counts: {} }
    const name = nameOf(metric.id)
    // Counters by reason are added up. A name may be any string, also that of a member of every object.
    known.counts[name] = (Object.hasOwn(known.counts, name) ? known.counts[name]! : 0) + value
    found.set(key, known)
  }
  return [...found.values()]
}

/** Requests that were served, by held blocks or by the driver. */
export const leases = ({ counts }: ReportedMemory): number => (counts.hits ?? 0) + (counts.misses ?? 0)

/** The share of them that held blocks served, from 0 to 1, if there were any. */
export const hitRate = (memory: ReportedMemory): number | null =>
  leases(memory) === 0 ? null : (memory.counts.hits ?? 0) / leases(memory)

/** The metrics of a program at one time. */
export interface Answer {
  /** From 1, in the order in which programs connected. */
  readonly program: number
  /** Milliseconds since 1970. */
  readonly time: number
  readonly memories: ReadonlyArray<ReportedMemory>
}

/** A memory, with its rate of leases from the second answer on. */
export interface WatchedMemory extends ReportedMemory {
  readonly program: number
  readonly leasesPerSecond: number | undefined
}

/** The last answer of a program. */
export interface LastAnswer extends Answer {
  readonly memories: ReadonlyArray<WatchedMemory>
}

const byKey = (memories: ReadonlyArray<ReportedMemory> = []): ReadonlyMap<string, ReportedMemory> =>
  new Map(memories.map((memory) => [keyOf(memory), memory]))

/** Adds the rates since the last answer. */
const compared = ({ memories, program, time }: Answer, before: Answer | undefined): ReadonlyArray<WatchedMemory> => {
  const known = byKey(before?.memories)
  const seconds = (time - (before?.time ?? time)) / 1000
  return memories.map((memory) => {
    const same = known.get(keyOf(memory))
    const leasesPerSecond = same === undefined || seconds <= 0 ? undefined : (leases(memory) - leases(same)) / seconds
    return { ...memory, program, leasesPerSecond }
  })
}

export class Watched {
  #programs = 0
  readonly #answers = new Map<number, LastAnswer>()

  /** Returns the number of a new program. */
  connect(): number {
    return ++this.#programs
  }

  disconnect(program: number): void {
    this.#answers.delete(program)
  }

  add(answer: Answer): void {
    this.#answers.set(answer.program, { ...answer, memories: compared(answer, this.#answers.get(answer.program)) })
  }

  get programs(): ReadonlyArray<LastAnswer> {
    return [...this.#answers.values()]
  }

  get memories(): ReadonlyArray<WatchedMemory> {
    return this.programs.flatMap(({ memories }) => memories)
  }
}

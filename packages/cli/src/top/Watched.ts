/**
 * The programs that are connected to `effect-gpu-pool top`, and the metrics of their memories.
 *
 * @internal
 */
import { keyOf, leases, type ReportedMemory } from "./Memories.ts"

/** The metrics of a program at one time. */
export interface Told {
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
export interface Seen extends Told {
  readonly memories: ReadonlyArray<WatchedMemory>
}

const byKey = (memories: ReadonlyArray<ReportedMemory> = []): ReadonlyMap<string, ReportedMemory> =>
  new Map(memories.map((memory) => [keyOf(memory), memory]))

/** Adds the rates since the last answer. */
const compared = ({ memories, program, time }: Told, before: Told | undefined): ReadonlyArray<WatchedMemory> => {
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
  readonly #seen = new Map<number, Seen>()

  /** Adds a program, and returns its number. */
  come(): number {
    return ++this.#programs
  }

  go(program: number): void {
    this.#seen.delete(program)
  }

  tell(told: Told): void {
    this.#seen.set(told.program, { ...told, memories: compared(told, this.#seen.get(told.program)) })
  }

  get programs(): ReadonlyArray<Seen> {
    return [...this.#seen.values()]
  }

  get memories(): ReadonlyArray<WatchedMemory> {
    return this.programs.flatMap(({ memories }) => memories)
  }
}

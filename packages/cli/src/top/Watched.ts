/**
 * The programs that tell `effect-gpu-pool top` of their memories now.
 *
 * @internal
 */
import { keyOf, leases, type ReportedMemory } from "./Memories.ts"

/** What a program told at a time. */
export interface Told {
  /** From 1, in the order in which programs came. */
  readonly program: number
  /** Milliseconds since 1970. */
  readonly time: number
  readonly memories: ReadonlyArray<ReportedMemory>
}

/** A memory with how fast it leases, once it was seen twice. */
export interface WatchedMemory extends ReportedMemory {
  readonly program: number
  readonly leasesPerSecond: number | undefined
}

/** What a program told last. */
export interface Seen extends Told {
  readonly memories: ReadonlyArray<WatchedMemory>
}

const byKey = (memories: ReadonlyArray<ReportedMemory> = []): ReadonlyMap<string, ReportedMemory> =>
  new Map(memories.map((memory) => [keyOf(memory), memory]))

/** What is told, compared with what was told before. */
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

  /** The number of a program that came. */
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

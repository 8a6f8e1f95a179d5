/**
 * The programs that tell `effect-gpu-pool top` of their memories now.
 *
 * @internal
 */
import { leases, type ReportedMemory } from "./Memories.ts"

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

export class Watched {
  #programs = 0
  readonly #last = new Map<number, Told>()
  readonly #before = new Map<number, Told>()

  /** The number of a program that came. */
  come(): number {
    return ++this.#programs
  }

  go(program: number): void {
    this.#last.delete(program)
    this.#before.delete(program)
  }

  tell(told: Told): void {
    const last = this.#last.get(told.program)
    if (last !== undefined) this.#before.set(told.program, last)
    this.#last.set(told.program, told)
  }

  get programs(): ReadonlyArray<Told> {
    return [...this.#last.values()]
  }

  get memories(): ReadonlyArray<WatchedMemory> {
    return this.programs.flatMap((told) => told.memories.map((memory) => this.#watched(told, memory)))
  }

  #watched({ program, time }: Told, memory: ReportedMemory): WatchedMemory {
    const before = this.#before.get(program)
    const same = before?.memories.find((other) =>
      other.memory === memory.memory && other.device === memory.device && other.number === memory.number
    )
    const leasesPerSecond = before === undefined || same === undefined || time <= before.time
      ? undefined
      : (leases(memory) - leases(same)) * 1000 / (time - before.time)
    return { ...memory, program, leasesPerSecond }
  }
}

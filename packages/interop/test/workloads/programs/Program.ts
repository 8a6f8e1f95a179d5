/** Random programs, each of one library, and how several of them take turns. */

export interface Step {
  readonly kind: "make" | "read" | "end"
  /** Of what is made: one of the library's sizes, and a number that its content depends on. */
  readonly size: number
  readonly value: number
  /** Of what is read or ended. */
  readonly which: number
}

/** Programs that take turns: `turns` says which of those that wait goes on. */
export interface Case {
  readonly programs: ReadonlyArray<ReadonlyArray<Step>>
  readonly turns: ReadonlyArray<number>
}

/** What a program has made, and can read and end. */
export interface Thing {
  readonly read: () => Promise<ArrayBufferView>
  readonly end: () => void
}

/** A library on a device. */
export interface Library {
  readonly make: (size: number, value: number) => Thing
}

/** Lets the other programs go on. */
export type Pause = () => Promise<void>

/** Gives the results of a program. Between the beginning and the end of each read, others go on too. */
export const runProgram = async (
  library: Library,
  steps: ReadonlyArray<Step>,
  pause: Pause
): Promise<ReadonlyArray<ArrayBufferView>> => {
  const live: Array<Thing> = []
  const results: Array<ArrayBufferView> = []
  const read = async (thing: Thing): Promise<void> => {
    const reading = thing.read()
    await pause()
    results.push(await reading)
  }
  for (const { kind, size, value, which } of steps) {
    await pause()
    if (kind === "make") live.push(library.make(size, value))
    else if (live.length > 0) {
      const at = which % live.length
      if (kind === "read") await read(live[at]!)
      else for (const thing of live.splice(at, 1)) thing.end()
    }
  }
  for (const thing of live) {
    await read(thing)
    thing.end()
  }
  return results
}

/** Lets one program go on at a time, whenever all of them wait or have ended. So the order depends on nothing else. */
export class Turns {
  readonly #choices: ReadonlyArray<number>
  readonly #waiting = new Map<number, () => void>()
  #live: number
  #taken = 0

  constructor(programs: number, choices: ReadonlyArray<number>) {
    this.#live = programs
    this.#choices = choices
  }

  pause(program: number): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.set(program, resolve)
      this.#goOn()
    })
  }

  end(): void {
    this.#live--
    this.#goOn()
  }

  #goOn(): void {
    if (this.#waiting.size < this.#live || this.#live === 0) return
    const programs = [...this.#waiting.keys()].sort((one, other) => one - other)
    const choice = this.#choices[this.#taken++ % this.#choices.length] ?? 0
    const program = programs[choice % programs.length]!
    const resume = this.#waiting.get(program)!
    this.#waiting.delete(program)
    resume()
  }
}

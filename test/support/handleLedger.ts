/** Which function gives what another takes back. Events come from every function whose name begins so. */
const givers: Readonly<Record<string, string>> = {
  clReleaseContext: "clCreateContext",
  clReleaseCommandQueue: "clCreateCommandQueue",
  clReleaseMemObject: "clCreateBuffer",
  clReleaseProgram: "clCreateProgramWithSource",
  clReleaseKernel: "clCreateKernel",
  clReleaseEvent: "clEnqueue"
}

/** The OpenCL handles that are alive by the driver's own answers, and the releases that no driver must see. */
export class HandleLedger {
  readonly #alive = new Map<string, Set<unknown>>(Object.values(givers).map((giver) => [giver, new Set()]))
  readonly #awaited = new Set<unknown>()
  readonly #forbidden: Array<string> = []

  /** Takes note of an answer. */
  answered(name: string, args: ReadonlyArray<unknown>, result: unknown): void {
    const giver = givers[name]
    if (giver !== undefined && result === 0) this.#alive.get(giver)!.delete(args[0])
    if (result !== null) this.#alive.get(name)?.add(result)
    const event = args.at(-1)
    if (name.startsWith("clEnqueue") && result === 0 && event instanceof BigUint64Array) {
      this.#alive.get("clEnqueue")!.add(event[0])
    }
  }

  /** Takes note of a native wait for an event. Returns the way to say that it has ended. */
  awaited(event: unknown): () => void {
    this.#awaited.add(event)
    return () => {
      this.#awaited.delete(event)
    }
  }

  /** Whether a call may reach the driver, which a handle that is not alive, or still waited for, can crash. */
  allows(name: string, args: ReadonlyArray<unknown>): boolean {
    const giver = givers[name]
    if (giver === undefined) return true
    if (this.#alive.get(giver)!.has(args[0]) && !this.#awaited.has(args[0])) return true
    this.#forbidden.push(name)
    return false
  }

  /** How many handles are alive, by the function that gave them, and how many releases were not allowed. */
  get balance(): Readonly<Record<string, number>> {
    const alive = [...this.#alive].map(([giver, handles]): [string, number] => [giver, handles.size])
    const forbidden = Object.keys(givers).map((name): [string, number] => [
      name,
      this.#forbidden.filter((one) => one === name).length
    ])
    return Object.fromEntries([...alive, ...forbidden].filter(([, count]) => count > 0))
  }
}

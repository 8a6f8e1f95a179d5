/**
 * The function that creates what another one releases. Every function whose name begins with clEnqueue creates events.
 */
const givers: Readonly<Record<string, string>> = {
  clReleaseContext: "clCreateContext",
  clReleaseCommandQueue: "clCreateCommandQueue",
  clReleaseMemObject: "clCreateBuffer",
  clReleaseProgram: "clCreateProgramWithSource",
  clReleaseKernel: "clCreateKernel",
  clReleaseEvent: "clEnqueue",
  clReleaseSampler: "clCreateSampler",
  clSVMFree: "clSVMAlloc"
}

/** Other functions whose objects clReleaseMemObject and clReleaseSampler release. */
const countedAs: Readonly<Record<string, string>> = {
  clCreateSubBuffer: "clCreateBuffer",
  clCreateImage: "clCreateBuffer",
  clCreateSamplerWithProperties: "clCreateSampler"
}

const retaining: ReadonlySet<string> = new Set([
  "clRetainContext",
  "clRetainCommandQueue",
  "clRetainMemObject",
  "clRetainSampler"
])

/** The handle that a release names. */
const handleOf = (name: string, args: ReadonlyArray<unknown>): unknown => name === "clSVMFree" ? args[1] : args[0]

/** The argument with a list of handles, by function. Events that tests create are only in other lists. */
const listAt: Readonly<Record<string, number>> = {
  clWaitForEvents: 1,
  clWaitForEventsAsync: 1,
  clEnqueueMarkerWithWaitList: 2,
  clEnqueueMigrateMemObjects: 2
}

/** All handles and addresses that a call names; numbers and sizes are no bigints. */
const handlesIn = (name: string, args: ReadonlyArray<unknown>): ReadonlyArray<bigint> => {
  const at = listAt[name]
  const list = at === undefined ? undefined : args[at]
  const listed = list instanceof BigUint64Array ? [...list.subarray(0, Number(args[at! - 1]))] : []
  return [...args.filter((argument) => typeof argument === "bigint"), ...listed]
}

class MappedAddresses {
  readonly #counts = new Map<unknown, number>()

  get count(): number {
    return [...this.#counts.values()].reduce((sum, count) => sum + count, 0)
  }

  add(address: unknown): void {
    this.#counts.set(address, (this.#counts.get(address) ?? 0) + 1)
  }

  delete(address: unknown): void {
    this.#counts.set(address, (this.#counts.get(address) ?? 0) - 1)
  }
}

/** The OpenCL handles that are alive by the driver's own answers, and the calls that no driver must see. */
export class HandleLedger {
  readonly #alive = new Map<string, Set<unknown>>(Object.values(givers).map((giver) => [giver, new Set()]))
  /** Released handles, until the driver returns the same address for something else. */
  readonly #dead = new Set<unknown>()
  readonly #awaited = new Set<unknown>()
  /** Addresses of mapped memory: the driver may return one several times, and each must be unmapped. */
  readonly #mapped = new MappedAddresses()
  /** Each handle as often as it was retained: as many releases leave it alive. */
  readonly #retained: Array<unknown> = []
  readonly #forbidden: Array<string> = []

  /** Records the result of a call. */
  answered(name: string, args: ReadonlyArray<unknown>, result: unknown): void {
    const giver = givers[name]
    if (retaining.has(name) && result === 0) this.#retained.push(args[0])
    const succeeded = result === 0 || result === undefined
    const handle = handleOf(name, args)
    if (giver !== undefined && succeeded && !this.#letGo(handle)) {
      this.#alive.get(giver)!.delete(handle)
      this.#dead.add(handle)
    }
    if (name === "clEnqueueSVMFree" && result === 0) {
      for (const address of args[2] as BigUint64Array) {
        this.#alive.get("clSVMAlloc")!.delete(address)
        this.#dead.add(address)
      }
    }
    if (typeof result === "bigint") this.#dead.delete(result)
    if (name === "clSVMAlloc" && typeof result === "bigint") this.#reuse(result, result + BigInt(args[2] as number))
    if (result !== null) this.#alive.get(countedAs[name] ?? name)?.add(result)
    if (name === "clEnqueueUnmapMemObject" && result === 0) this.#mapped.delete(args[2])
    const maps = name.startsWith("clEnqueueMap")
    if (maps && result !== null) this.#mapped.add(result)
    const event = args.at(maps ? -2 : -1)
    if (name.startsWith("clEnqueue") && (maps ? result !== null : result === 0) && event instanceof BigUint64Array) {
      this.#alive.get("clEnqueue")!.add(event[0])
      this.#dead.delete(event[0])
    }
  }

  /** Addresses in memory that the driver has given out are no handles any more. */
  #reuse(begin: bigint, end: bigint): void {
    for (const handle of this.#dead) {
      if (typeof handle === "bigint" && begin <= handle && handle < end) this.#dead.delete(handle)
    }
  }

  /** Records the events or the program that a driver thread uses. The returned function says that the use has ended. */
  awaited(handles: Iterable<unknown>): () => void {
    for (const handle of handles) this.#awaited.add(handle)
    return () => {
      for (const handle of handles) this.#awaited.delete(handle)
    }
  }

  /**
   * Whether a call may reach the driver, which could crash on a handle that is released, or released while it is used.
   */
  allows(name: string, args: ReadonlyArray<unknown>): boolean {
    const allowed = this.#allowsRelease(name, args) && !handlesIn(name, args).some((handle) => this.#dead.has(handle))
    if (!allowed) this.#forbidden.push(name)
    return allowed
  }

  #allowsRelease(name: string, args: ReadonlyArray<unknown>): boolean {
    const giver = givers[name]
    if (giver === undefined) return true
    const handle = handleOf(name, args)
    return this.#alive.get(giver)!.has(handle) && !this.#awaited.has(handle)
  }

  /** Removes one retain of the handle, if there is one left. */
  #letGo(handle: unknown): boolean {
    const at = this.#retained.indexOf(handle)
    if (at >= 0) this.#retained.splice(at, 1)
    return at >= 0
  }

  /**
   * How many handles are alive, by the function that created them, and how many calls were not allowed, by function.
   */
  get balance(): Readonly<Record<string, number>> {
    const alive = [...this.#alive].map(([giver, handles]): [string, number] => [giver, handles.size])
    const forbidden = [...new Set(this.#forbidden)].map((name): [string, number] => [
      `${name} of what is gone`,
      this.#forbidden.filter((one) => one === name).length
    ])
    const mapped: [string, number] = ["clEnqueueMapBuffer", this.#mapped.count]
    return Object.fromEntries([...alive, ...forbidden, mapped].filter(([, count]) => count > 0))
  }
}

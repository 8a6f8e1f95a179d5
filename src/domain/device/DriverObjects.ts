/**
 * Counts the objects that a driver creates and releases, next to each call. Tests use it to prove that no program
 * leaves an object behind, however it ends.
 *
 * @since 0.1.0
 */
import { inOneLine, showing } from "../arguments/Showing.ts"

/**
 * The counters of one open device. It stays readable after the device is closed.
 *
 * **Example** (Proving that nothing is left)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool, DeviceContext } from "effect-gpu-pool"
 * import { Host } from "effect-gpu-pool/host"
 *
 * const program = Effect.gen(function*() {
 *   const { driverObjects } = yield* DeviceContext.DeviceContext
 *   yield* Effect.scoped(BufferPool.allocate(4096).pipe(Effect.provide(BufferPool.layer())))
 *   return driverObjects
 * })
 * const driverObjects = await Effect.runPromise(Effect.provide(program, Host.layer()))
 * driverObjects.live // => 0
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export class DriverObjects {
  readonly #live = new Map<string, number>()
  #created = 0
  #released = 0
  #taken = 0

  /** Objects that the driver has created. */
  get created(): number {
    return this.#created
  }

  /** Objects that it has released. */
  get released(): number {
    return this.#released
  }

  /**
   * Objects that are never released: the program has transferred their memory out of a mapping, and may use it for as long as the
   * process lives. They are not {@link live}.
   */
  get taken(): number {
    return this.#taken
  }

  /** Objects that are alive now. */
  get live(): number {
    return this.#created - this.#released - this.#taken
  }

  /** Live objects by kind, as `buffer` or `kernel`; kinds without live objects are left out. */
  get liveByKind(): Readonly<Record<string, number>> {
    return Object.fromEntries([...this.#live].filter(([, count]) => count !== 0))
  }

  /** To be called next to the driver's create call. */
  add(kind: string): void {
    this.#created += 1
    this.#live.set(kind, (this.#live.get(kind) ?? 0) + 1)
  }

  /** To be called next to the driver's release call. */
  remove(kind: string): void {
    this.#released += 1
    this.#end(kind)
  }

  /** To be called instead of `remove`, where the object stays for good because the program has taken its memory. */
  leave(kind: string): void {
    this.#taken += 1
    this.#end(kind)
  }

  #end(kind: string): void {
    this.#live.set(kind, (this.#live.get(kind) ?? 0) - 1)
  }
}

showing<DriverObjects>(({ created, live, liveByKind, taken }) =>
  inOneLine("DriverObjects", undefined, [
    `${live} live of ${created} created`,
    taken === 0 ? undefined : `${taken} taken by the program`,
    ...Object.entries(liveByKind).map(([kind, count]) => `${kind} ${count}`)
  ])
)(DriverObjects.prototype)

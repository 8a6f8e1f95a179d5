/**
 * A typed array in staging memory, which a pool leases.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { inOneLine, showing, state } from "../../domain/arguments/Showing.ts"
import { detachMemory, lend } from "../../domain/data/DetachMemory.ts"
import type { ViewType } from "../../domain/data/ElementClass.ts"
import * as HostData from "../../domain/data/HostData.ts"
import type { StridedShape } from "../../domain/data/StridedShape.ts"
import { type GpuError, outOfMemory, type Released, released } from "../../domain/GpuError.ts"
import type * as BufferLike from "../buffers/BufferLike.ts"
import * as BufferProblems from "../buffers/BufferProblems.ts"
import { type Elements, type LiveMapping, MappedArray } from "../buffers/mapping/MappedArray.ts"
import * as MappedMemory from "../buffers/mapping/MappedMemory.ts"
import * as Mapping from "../buffers/mapping/Mapping.ts"
import type { PooledBuffer } from "../buffers/PooledBuffer.ts"
import type { DeviceContext } from "../device/DeviceContext.ts"
import type { QueueDriver } from "../device/QueueDriver.ts"
import * as Attachments from "../lease/Attachments.ts"
import { LeaseHolder } from "../lease/LeaseHolder.ts"
import type { Direction, DirectionMemory } from "./Direction.ts"

/** The services of the device whose memory it is. @internal */
export type Services = Context.Context<DeviceContext | QueueDriver>

/** Runs `f` with other memory of the pool, of so many bytes, to download to. @internal */
export type UseMemory = <A, E, R>(
  bytes: number,
  f: (memory: BufferLike.BufferLike) => Effect.Effect<A, E, R>
) => Effect.Effect<A, E | GpuError, R>

/**
 * Zeros in memory of the program, for an array that no download has filled yet. They end with the lease, as a mapping
 * does.
 */
class FirstElements implements LiveMapping {
  readonly memory: ArrayBuffer
  readonly #lease: PooledBuffer
  #ended: Released["why"] | undefined = undefined

  constructor(lease: PooledBuffer, bytes: number) {
    const memory = HostData.allocate(bytes)
    if (memory === undefined) throw outOfMemory(bytes)
    this.memory = lend(memory)
    this.#lease = lease
    Attachments.attach(lease, this)
  }

  get label(): string | undefined {
    return this.#lease.label
  }

  get ended(): Released["why"] | undefined {
    return this.#ended
  }

  problem(operation: string): GpuError | undefined {
    if (this.#ended === undefined) return undefined
    const { label, size } = this.#lease
    return released(operation, { label, size, ended: this.#ended, what: "mapping" })
  }

  readonly endUnsafe = (why: Released["why"]): Exit.Exit<void, GpuError> => {
    this.#ended = why
    Attachments.detach(this.#lease, this)
    detachMemory(this.memory)
    return Exit.void
  }
}

/**
 * An array of the program in staging memory: PyCUDA's page-locked array, for as long as its lease lives. `StagingPool.upload`
 * and `StagingPool.download` move its elements to and from buffers.
 *
 * **Details**
 *
 * While the device uses the memory the array has no elements: the length of `data` is 0. After an upload, and after a
 * download, `data` is another typed array than before, so ask for it again. The elements of a fresh array to upload, or of one for
 * both directions, are unspecified, unless the pool clears. After an upload those of an array for both directions are what they
 * were, and those of an array to upload are unspecified. Those of a fresh array to download are zeros, in memory of the program that is made when they are asked for, so that
 * `CommandQueue.readInto(x, staged.data)` reads into it as into any array; `StagingPool.download` leaves out the copy by the program.
 *
 * **Example** (Rows to upload)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { StagingPool } from "effect-gpu-pool"
 *
 * Effect.gen(function*() {
 *   const rows = yield* StagingPool.allocate([2, 3], Float32Array)
 *   rows.setUnsafe(7, 1, 0)
 *   return [rows.data[3], rows.shape, rows.strides]
 * }).pipe(Effect.provide(StagingPool.layer())) // => [7, [2, 3], [3, 1]]
 * ```
 *
 * @see pycuda.tools.PooledHostAllocation
 * @category models
 * @since 0.1.0
 */
export class StagedArray<A extends Elements> implements LeaseHolder {
  /** The lease, for `Lease.release` and the like. Commands can use it while the array has no elements. */
  readonly lease: PooledBuffer
  readonly direction: Direction
  /** Elements along each axis. */
  readonly shape: ReadonlyArray<number>
  /** Elements from one to the next along each axis. */
  readonly strides: ReadonlyArray<number>
  /** Bytes of the elements. */
  readonly size: number
  /** @internal */
  readonly type: ViewType<A>
  /** @internal */
  readonly services: Services
  /** Other memory of its pool, for downloads that cannot go to its own. @internal */
  readonly useOther: UseMemory
  readonly #memory: DirectionMemory
  #mapped: MappedArray<A> | undefined = undefined
  /** Whether the last mapping ended before it had elements: by an interruption, or by a failure. */
  #isInterrupted = false
  /** Its elements before the first download. */
  #first: { readonly array: MappedArray<A>; readonly elements: FirstElements } | undefined = undefined
  readonly #layout: StridedShape

  /** @internal */
  constructor(
    lease: PooledBuffer,
    direction: Direction,
    memory: DirectionMemory,
    type: ViewType<A>,
    layout: StridedShape,
    services: Services,
    useOther: UseMemory
  ) {
    const { shape, span, strides } = layout
    this.#layout = layout
    this.lease = lease
    this.direction = direction
    this.#memory = memory
    this.type = type
    this.shape = shape
    this.strides = strides
    this.size = span * type.BYTES_PER_ELEMENT
    this.services = services
    this.useOther = useOther
  }

  /**
   * All elements, in memory order. Throws OutOfMemory when the process has no memory for the elements of a fresh array to
   * download.
   */
  get data(): A {
    return this.#array.data
  }

  /** The element at these indices, one for each axis. Throws Released without elements, and InvalidRequest outside the shape. */
  getUnsafe(...indices: ReadonlyArray<number>): A[number] {
    return this.#elements("StagedArray.getUnsafe").getUnsafe(...indices)
  }

  /** Stores an element at these indices, one for each axis. Throws as `getUnsafe`. */
  setUnsafe(value: A[number], ...indices: ReadonlyArray<number>): void {
    this.#elements("StagedArray.setUnsafe").setUnsafe(value, ...indices)
  }

  [LeaseHolder](): Iterable<PooledBuffer> {
    return [this.lease]
  }

  /** Whether its elements are the staging memory now. @internal */
  get isMapped(): boolean {
    return this.#mapped !== undefined && this.#mapped.mapping.ended === undefined
  }

  /** Whether commands can copy to its memory. @internal */
  get takesCopies(): boolean {
    return this.#memory.takesCopies
  }

  /** Maps the staging memory as its elements: waits until the device no longer uses it. @internal */
  map(): Effect.Effect<void, GpuError> {
    return Effect.suspend(() => {
      const { lease, shape, strides } = this
      const { access } = this.#memory
      // The mapping ends with the lease at the latest, so the scope stays open.
      const scope = Scope.makeUnsafe()
      const mapped = Mapping.map(lease, this.type, { access, shape, strides })
      const shown = Effect.map(
        Effect.provideContext(mapped, Context.add(this.services, Scope.Scope, scope)),
        (array) => {
          this.#first?.elements.endUnsafe("released")
          this.#first = undefined
          this.#mapped = array
          this.#isInterrupted = false
        }
      )
      // An interruption after the driver has mapped the memory must not leave it mapped for no one.
      return Effect.onExit(shown, (exit) => {
        if (Exit.isSuccess(exit)) return Exit.void
        this.#isInterrupted = true
        return Scope.close(scope, exit)
      })
    })
  }

  /** Stores bytes as its elements, which other code may have ended meanwhile. @internal */
  fill(operation: string, bytes: Uint8Array): Effect.Effect<void, GpuError> {
    return Effect.suspend(() => {
      const { data } = this
      // A destroyed device detaches all of them at once.
      if (!this.isMapped || data.byteLength !== this.size || bytes.byteLength !== this.size) {
        return this.problem(operation)
      }
      new Uint8Array(data.buffer, data.byteOffset, data.byteLength).set(bytes)
      return Effect.void
    })
  }

  /** The device may use the memory from now on. @internal */
  unmap(): Effect.Effect<void, GpuError> {
    if (this.#mapped !== undefined && this.isMapped) return Mapping.unmap(this.#mapped)
    // A driver that is still at an interrupted mapping maps again only after it.
    return this.#isInterrupted ? Effect.flatMap(this.map(), () => this.unmap()) : Effect.void
  }

  get #array(): MappedArray<A> {
    return this.#mapped ?? (this.#first ??= this.#begin()).array
  }

  /** If the lease has ended, they end at once: the array has no elements, as after a mapping. */
  #begin() {
    const elements = new FirstElements(this.lease, this.size)
    const array = new MappedArray(new this.type(elements.memory, 0, this.#layout.span), this.#layout, elements)
    if (this.lease.ended !== undefined) elements.endUnsafe(this.lease.ended)
    return { array, elements }
  }

  #elements(operation: string): MappedArray<A> {
    const array = this.#array
    if (array.mapping.ended === undefined) return array
    throw this.problem(operation)
  }

  /** The error of an access while it has no elements. @internal */
  problem(operation: string): GpuError {
    const { block, ended, label, size } = this.lease
    const isTaken = block !== undefined && MappedMemory.isTaken(block.value)
    return isTaken
      ? MappedMemory.takenProblem(operation, BufferProblems.named(this.lease))
      : released(operation, { label, size, ended, what: "mapping" })
  }
}

showing<StagedArray<Elements>>(({ direction, isMapped, lease, shape, type }) =>
  inOneLine("StagedArray", lease.label, [
    `${type.name} [${shape.join(", ")}]`,
    direction,
    lease.ended === undefined ? (isMapped ? "mapped" : "not mapped") : state(lease.ended, undefined)
  ])
)(StagedArray.prototype)

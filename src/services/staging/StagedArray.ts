/**
 * A typed array in staging memory, which a pool leases.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Scope from "effect/Scope"
import { inOneLine, showing, state } from "../../domain/arguments/Showing.ts"
import type { ViewType } from "../../domain/data/ElementClass.ts"
import type { StridedShape } from "../../domain/data/StridedShape.ts"
import { type GpuError, make as makeError, Released } from "../../domain/GpuError.ts"
import type { Elements, MappedArray } from "../buffers/mapping/MappedArray.ts"
import * as Mapping from "../buffers/mapping/Mapping.ts"
import type { PooledBuffer } from "../buffers/PooledBuffer.ts"
import type { DeviceContext } from "../device/DeviceContext.ts"
import type { QueueDriver } from "../device/QueueDriver.ts"
import { LeaseHolder } from "../lease/LeaseHolder.ts"

/**
 * Which way the data go: `"upload"` to the device, `"download"` from it.
 *
 * @category models
 * @since 0.1.0
 */
export type Direction = "upload" | "download"

/** The device whose memory it is. @internal */
export type Services = Context.Context<DeviceContext | QueueDriver>

/**
 * An array of the program in staging memory: PyCUDA's page-locked array, for as long as its lease lives. `StagingPool.upload`
 * and `StagingPool.download` move its elements to and from buffers.
 *
 * **Details**
 *
 * While the device uses the memory the array has no elements: the length of `data` is 0. After an upload, and after a
 * download, `data` is another typed array than before. The elements of a fresh array to upload are unspecified, unless the pool
 * clears; those of an array to download come with its first download.
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
  /** `Lease.release` and the like take it; and commands do while the array has no elements. */
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
  readonly #services: Services
  /** Of its mappings, each of which ends with the lease at the latest. */
  readonly #scope: Scope.Scope = Scope.makeUnsafe()
  #mapped: MappedArray<A> | undefined = undefined

  /** @internal */
  constructor(
    lease: PooledBuffer,
    direction: Direction,
    type: ViewType<A>,
    { shape, span, strides }: StridedShape,
    services: Services
  ) {
    this.lease = lease
    this.direction = direction
    this.type = type
    this.shape = shape
    this.strides = strides
    this.size = span * type.BYTES_PER_ELEMENT
    this.#services = services
  }

  /** All elements, in memory order. */
  get data(): A {
    return this.#mapped?.data ?? new this.type(new ArrayBuffer(0))
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

  /** Whether it has elements now. @internal */
  get isMapped(): boolean {
    return this.#mapped !== undefined && this.#mapped.mapping.ended === undefined
  }

  /** Gives it elements again: waits until the device no longer uses the memory. @internal */
  map(): Effect.Effect<void, GpuError> {
    const { lease, shape, strides } = this
    const access = this.direction === "upload" ? "write" : "read"
    const mapped = Mapping.map(lease, this.type, { access, shape, strides })
    return Effect.asVoid(
      Effect.map(
        Effect.provideContext(mapped, Context.add(this.#services, Scope.Scope, this.#scope)),
        (array) => this.#mapped = array
      )
    )
  }

  /** The device may use the memory from now on. @internal */
  unmap(): Effect.Effect<void, GpuError> {
    return this.#mapped === undefined ? Effect.void : Mapping.unmap(this.#mapped)
  }

  #elements(operation: string): MappedArray<A> {
    const mapped = this.#mapped
    if (mapped !== undefined && this.isMapped) return mapped
    throw this.released(operation)
  }

  /** The error of using its elements while it has none. @internal */
  released(operation: string): GpuError {
    const { label, size } = this.lease
    const why = this.lease.ended ?? "released"
    return makeError(new Released({ operation, label, size, why, what: "mapping" }))
  }
}

showing<StagedArray<Elements>>(({ direction, isMapped, lease, shape, type }) =>
  inOneLine("StagedArray", lease.label, [
    `${type.name} [${shape.join(", ")}]`,
    direction,
    lease.ended === undefined ? (isMapped ? "mapped" : "not mapped") : state(lease.ended, undefined)
  ])
)(StagedArray.prototype)

/**
 * The pool's source of buffers: block sizes by a policy, memory of an `Allocator`.
 *
 * @internal
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as BufferRequest from "../../domain/BufferRequest.ts"
import * as BufferUsage from "../../domain/BufferUsage.ts"
import type { BackendTraits } from "../../domain/device/BackendTraits.ts"
import type { DeviceLimits } from "../../domain/device/DeviceInfo.ts"
import type { GpuError } from "../../domain/GpuError.ts"
import type { Family } from "../../domain/pool/machine/Request.ts"
import type { Around } from "../../domain/pool/machine/SharedLimit.ts"
import type { Slabs } from "../../domain/pool/PoolCore.ts"
import * as SizePolicy from "../../domain/pool/SizePolicy.ts"
import type { Warn } from "../calls/Warnings.ts"
import type { DeviceBuffer } from "../device/DeviceBuffer.ts"
import { DeviceContext } from "../device/DeviceContext.ts"
import { QueueDriver } from "../device/QueueDriver.ts"
import type { Block } from "../lease/Lease.ts"
import type { PoolSource } from "../lease/PoolSource.ts"
import { CurrentCounted } from "../pool/CurrentReservations.ts"
import type { PoolRuntime } from "../pool/PoolRuntime.ts"
import { Allocator } from "./Allocator.ts"
import { allocateFrom, freeOf } from "./AllocatorCalls.ts"
import { PooledBuffer } from "./PooledBuffer.ts"

/** Greater than every usage. */
export const usages = 2 ** 16

export interface BufferSourceOptions {
  readonly allocator: Allocator["Service"]
  readonly driver: Pick<QueueDriver["Service"], "fillUnsafe">
  readonly limits: DeviceLimits
  readonly sizePolicy: SizePolicy.SizePolicy
  readonly maxBytes: number
  /** The limits of the allocator around the pool's memory. */
  readonly around: Around | undefined
  readonly warn: Warn
  readonly clears: boolean
}

export class BufferSource implements PoolSource<BufferUsage.BufferUsage, DeviceBuffer, PooledBuffer> {
  readonly service: string = "BufferPool"
  readonly what = undefined
  closed = false
  readonly over = Deferred.makeUnsafe<void>()
  index = 0
  readonly inFlight = new Set<Fiber.Fiber<DeviceBuffer, GpuError>>()
  readonly largest: number
  readonly borrows: boolean
  readonly clears: boolean
  readonly reclaim: Effect.Effect<void, GpuError>
  #blockSize: (size: number) => number
  readonly exactSize: (size: number) => number
  readonly #options: BufferSourceOptions
  readonly #policy: SizePolicy.SizePolicy
  readonly #granularity: number

  constructor(options: BufferSourceOptions) {
    const { allocator, clears, limits: { granularity, maxBufferSize, memoryBytes = Infinity }, sizePolicy } = options
    this.#options = options
    this.largest = Math.min(maxBufferSize, memoryBytes)
    this.#policy = sizePolicy
    this.#granularity = granularity
    this.borrows = this.#policy.borrow > 0
    this.clears = clears
    this.reclaim = allocator.reclaim
    this.#blockSize = this.#blockSizes(options.maxBytes)
    this.exactSize = this.#sizes(SizePolicy.exact, Infinity)
  }

  limitTo(maxBytes: number): void {
    this.#blockSize = this.#blockSizes(maxBytes)
  }

  #blockSizes(maxBytes: number): (size: number) => number {
    return this.#sizes(this.#policy, Math.min(this.largest, maxBytes))
  }

  #sizes(policy: SizePolicy.SizePolicy, maxBlockBytes: number): (size: number) => number {
    return SizePolicy.forDevice(policy, { granularity: this.#granularity, maxBlockBytes })
  }

  blockSize(size: number, _family?: Family): number {
    return this.#blockSize(size)
  }

  partSize(_size: number, _family: Family): number {
    return Infinity
  }

  mostBorrowed(blockSize: number): number {
    return SizePolicy.borrowLimit(this.#policy, blockSize)
  }

  family(usage: BufferUsage.BufferUsage): number {
    return this.ofBlocks(usage) + this.index * usages
  }

  owns(family: Family): boolean {
    return typeof family === "number" && Math.floor(family / usages) === this.index
  }

  isUsual(usage: BufferUsage.BufferUsage): boolean {
    return usage === BufferUsage.defaultUsage
  }

  problem(
    operation: string,
    size: number,
    usage: BufferUsage.BufferUsage,
    label: string | undefined
  ): GpuError | undefined {
    return BufferRequest.problem(operation, size, usage, label)
  }

  limitProblem(operation: string, bytes: number): GpuError | undefined {
    return BufferRequest.deviceProblem(operation, bytes, this.#options.limits)
  }

  create(
    usage: BufferUsage.BufferUsage,
    capacity: number,
    label: string | undefined,
    callSite: string | undefined
  ): Effect.Effect<DeviceBuffer, GpuError> {
    const { allocator, around, warn } = this.#options
    const allocated = allocateFrom(allocator, warn, capacity, { usage: this.ofBlocks(usage), label, callSite })
    return around === undefined
      ? allocated
      : Effect.provideService(allocated, CurrentCounted, around.counted(capacity))
  }

  /** The usage of the blocks of a request: a pool that clears its blocks fills them itself. */
  protected ofBlocks(usage: BufferUsage.BufferUsage): BufferUsage.BufferUsage {
    return this.clears ? usage | BufferUsage.copyDst : usage
  }

  destroyUnsafe(buffer: DeviceBuffer): Exit.Exit<void, GpuError> {
    return freeOf(this.#options.allocator, buffer)
  }

  clearUnsafe(buffer: DeviceBuffer, capacity: number): Exit.Exit<void, GpuError> {
    return this.#options.driver.fillUnsafe(buffer, 0, capacity, 0)
  }

  lease(
    block: Block<DeviceBuffer> | undefined,
    size: number,
    usage: BufferUsage.BufferUsage,
    label: string | undefined,
    sequence: number
  ): PooledBuffer {
    return new PooledBuffer(block, size, usage, label, sequence)
  }
}

/** The settings of a pool of buffers, beyond those of every pool. */
export const policyOf = (
  { sizePolicy = SizePolicy.defaultPolicy }: { readonly sizePolicy?: SizePolicy.SizePolicy | undefined }
): Pick<BufferSourceOptions, "sizePolicy"> => ({ sizePolicy })

/** What a source is made of, of a memory and the device in context. */
type Made = BufferSourceOptions & { readonly slabs: Slabs | undefined; readonly traits: BackendTraits }

/** The source of a pool over the Allocator in context. */
export const openSource = <S extends BufferSource>(
  Source: new(options: Made) => S,
  memory: PoolRuntime,
  settings: Pick<BufferSourceOptions, "clears" | "sizePolicy">
): Effect.Effect<S, never, Allocator | DeviceContext | QueueDriver> =>
  Effect.gen(function*() {
    const { info: { limits, traits } } = yield* DeviceContext
    const driver = yield* QueueDriver
    const allocator = yield* Allocator
    memory.join(allocator.limits ?? [])
    const { core: { maxBytes, slabs }, limits: around, warn } = memory
    return new Source({ ...settings, allocator, driver, limits, traits, slabs, maxBytes, around, warn })
  })

/**
 * The source of a pool that may split slabs: what a lease asks for, whether its buffer is split, and what it should be apart
 * from.
 *
 * @internal
 */
import { formatted } from "../../domain/arguments/Format.ts"
import * as BufferUsage from "../../domain/BufferUsage.ts"
import * as BufferUsageRules from "../../domain/BufferUsageRules.ts"
import type { BackendTraits } from "../../domain/device/BackendTraits.ts"
import { type GpuError, invalidRequest } from "../../domain/GpuError.ts"
import type { Family } from "../../domain/pool/machine/Request.ts"
import type { Slabs } from "../../domain/pool/PoolCore.ts"
import type { RequestOptions } from "../../domain/pool/PoolOptions.ts"
import * as BufferLike from "./BufferLike.ts"
import { BufferSource, type BufferSourceOptions, usages } from "./BufferSource.ts"

export interface SlabSourceOptions extends BufferSourceOptions {
  /** How the memory splits slabs, if it does. */
  readonly slabs: Slabs | undefined
  readonly traits: Pick<BackendTraits, "readsBesideWrites" | "stagesBothWays">
}

interface ApartOptions extends RequestOptions {
  readonly apart?: ReadonlyArray<BufferLike.BufferLike> | undefined
}

export class SlabSource extends BufferSource {
  /** Whether its memory splits slabs. */
  protected readonly splits: boolean
  /** The bytes of which parts are multiples. */
  readonly #unit: number
  /** Whether it matters to commands which leases are in one slab. */
  readonly #keepsApart: boolean
  /** Whether a part can be mapped while commands use those beside it. */
  readonly #splitsStaging: boolean

  constructor(options: SlabSourceOptions) {
    const { slabs, traits } = options
    super(slabs === undefined ? options : { ...options, sizePolicy: slabs.sizePolicy })
    this.splits = slabs !== undefined
    this.#unit = slabs?.unit ?? 1
    this.#keepsApart = this.splits && !traits.readsBesideWrites
    this.#splitsStaging = traits.stagesBothWays
  }

  /** Where a mapping takes the whole buffer, as on WebGPU, no command could use staging memory beside what is mapped. */
  splitsFamily(family: Family): boolean {
    return typeof family === "number" && (this.#splitsStaging || !BufferUsageRules.isStaging(family % usages))
  }

  /** A slab; of families that are not split, a block of whole units, which requests of nearly the same size can use again. */
  override blockSize(size: number, family: Family): number {
    const blockSize = super.blockSize(size)
    return this.splits && !this.splitsFamily(family) ? Math.min(this.#inUnits(size), blockSize) : blockSize
  }

  override partSize(size: number, family: Family): number {
    return this.splits && this.splitsFamily(family) ? this.#inUnits(size) : Infinity
  }

  #inUnits(size: number): number {
    return Math.ceil(size / this.#unit) * this.#unit
  }

  apartOf(operation: string, { apart }: ApartOptions): ReadonlyArray<object> | GpuError | undefined {
    if (apart === undefined) return undefined
    if (!Array.isArray(apart) || !apart.every(BufferLike.isBufferLike)) {
      return invalidRequest(
        operation,
        `apart ${formatted(apart)} is no array of leases and buffers`,
        "Pass the buffers that kernels will use together with the new one, or leave it out."
      )
    }
    const found = this.#keepsApart ? apart.flatMap((buffer) => BufferLike.deviceBuffer(buffer)?.allocation ?? []) : []
    return found.length > 0 ? found : undefined
  }

  /** From a slab the queue may copy what a dispatch cannot read there. Staging memory may only be copied from where its usage says so. */
  protected override ofBlocks(usage: BufferUsage.BufferUsage): BufferUsage.BufferUsage {
    const copies = this.#keepsApart && !BufferUsageRules.isStaging(usage) ? BufferUsage.copySrc : 0
    return super.ofBlocks(usage) | copies
  }
}

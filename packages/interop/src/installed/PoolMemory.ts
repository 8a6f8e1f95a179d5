/**
 * The program's pool as the memory of an installation: its leases and the buffers of other libraries are blocks of one pool.
 *
 * @internal
 */
import * as Allocator from "effect-gpu-pool/Allocator"
import type { Pool, PooledBuffer } from "effect-gpu-pool/BufferPool"
import * as BufferUsage from "effect-gpu-pool/BufferUsage"
import type { GpuError } from "effect-gpu-pool/GpuError"
import * as Lease from "effect-gpu-pool/Lease"
import type { PoolStats } from "effect-gpu-pool/PoolStats"
import type { QueueDriver } from "effect-gpu-pool/QueueDriver"
import type { WebGpu } from "effect-gpu-pool/webgpu"
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import type { Stack } from "../foreign/CallStack.ts"
import { programSite } from "../install/Holders.ts"
import type { Asked, Created, Lent, Memory } from "../install/Memory.ts"
import { bits, type Buffer } from "../install/Native.ts"
import { Slot } from "../install/Slot.ts"
import type { NativeDevice } from "./NativeDevice.ts"

export interface PoolParts {
  readonly pool: Pool
  readonly driver: Pick<QueueDriver["Service"], "flushUnsafe">
  readonly gpu: WebGpu.WebGpu["Service"]
  readonly device: NativeDevice
  /** With the scope of what other libraries lease. */
  readonly context: Context.Context<Scope.Scope>
}

export class PoolMemory implements Memory {
  readonly #parts: PoolParts
  readonly #runSync: <A>(effect: Effect.Effect<A, GpuError, Scope.Scope>) => Exit.Exit<A, GpuError>
  /** By GPUBuffer: a block keeps its slot, whoever has it. */
  readonly #slots = new WeakMap<object, Slot>()

  constructor(parts: PoolParts) {
    this.#parts = parts
    this.#runSync = Effect.runSyncExitWith(parts.context)
  }

  get isFreeing(): boolean {
    return this.#parts.device.isFreeing
  }

  lend(asked: Asked, stack: Stack | undefined): Lent {
    const usage = usageOf(asked.usage)
    if (usage === undefined) return undefined
    const { device, driver, gpu, pool } = this.#parts
    const options = { usage, label: asked.label, callSite: stack && programSite(stack), onExhausted: "fail" } as const
    const { answer, created } = device.creating(() =>
      this.#runSync(Allocator.deferred(pool.allocate(asked.size, options)))
    )
    if (Exit.isFailure(answer)) return refusalOf(answer.cause)
    // What the program has recorded on the block, and the zeros of a pool that clears, come before what other code submits. On a device
    // that is lost meanwhile nothing does.
    driver.flushUnsafe()
    const lease = answer.value
    const handle = gpu.handleUnsafe(lease)
    if (Exit.isFailure(handle)) throw Cause.squash(handle.cause)
    return this.#slotOf(lease, handle.value as Buffer, asked.usage, created)
  }

  /** Such a buffer is not the pool's. */
  own(): undefined {
    return undefined
  }

  giveBack(slot: Slot): boolean {
    const lease = slot.pooled!
    this.#parts.gpu.keepUnsafe(lease, true)
    this.#end(slot, lease)
    return false
  }

  discard(slot: Slot): void {
    slot.isBroken = true
    this.#end(slot, slot.pooled!)
  }

  /** Of a lease that has ended the pool holds the block. It has no use for the others either, when the driver has no memory. */
  refused({ block }: Slot): void {
    const memory = block?.value
    if (memory !== undefined && "recyclable" in memory) memory.recyclable = false
    if (block?.state === "held") this.trim()
  }

  trim(): void {
    this.#runSync(Allocator.deferred(this.#parts.pool.freeHeld))
  }

  /** The pool is the program's, which may go on with it. */
  stop(): void {}

  stats(): PoolStats {
    return Effect.runSync(this.#parts.pool.stats)
  }

  #slotOf(lease: PooledBuffer, buffer: Buffer, usage: number, created: Created | undefined): Slot {
    const known = this.#slots.get(buffer)
    const slot = known ?? new Slot(lease.capacity, usage)
    if (known === undefined) {
      this.#slots.set(buffer, slot)
      if (created?.buffer === buffer) slot.creation = created.creation
      else slot.isUsed = true
    }
    slot.pooled = lease
    slot.block = lease.block
    slot.held = buffer
    this.#parts.gpu.keepUnsafe(lease, false)
    return slot
  }

  #end(slot: Slot, lease: PooledBuffer): void {
    slot.pooled = undefined
    if (slot.isBroken) this.refused(slot)
    // It has ended already where the pool, or its device, has.
    this.#runSync(Effect.exit(Lease.release(lease)))
  }
}

/** Why a request is refused as for lack of memory; `undefined` where the device can say it better. */
const refusalOf = (cause: Cause.Cause<GpuError>): string | undefined => {
  const error = Option.getOrUndefined(Cause.findErrorOption(cause))
  if (error === undefined) throw Cause.squash(cause)
  const { message, reason: { _tag } } = error
  return _tag === "OutOfMemory" || _tag === "LimitExceeded" ? `createBuffer: ${message}` : undefined
}

const flags: ReadonlyArray<readonly [bit: number, usage: BufferUsage.BufferUsage]> = [
  [bits.copySource, BufferUsage.copySrc],
  [bits.copyDestination, BufferUsage.copyDst],
  [bits.index, BufferUsage.index],
  [bits.vertex, BufferUsage.vertex],
  [bits.uniform, BufferUsage.uniform],
  [bits.storage, BufferUsage.storage],
  [bits.indirect, BufferUsage.indirect]
]

/** The usage of a lease; `undefined` where no lease has it, as to be mapped. */
const usageOf = (usage: number): BufferUsage.BufferUsage | undefined => {
  const known = flags.filter(([bit]) => (usage & bit) !== 0)
  const left = known.reduce((rest, [bit]) => rest & ~bit, usage)
  return left === 0 ? known.reduce((all, [, flag]) => all | flag, 0) : undefined
}

/**
 * The synchronous heart of an image pool: grants leases on images, ends them, and gives images back to the driver. Its
 * state is one PoolCore and the lists of live leases. Everything here happens within one step, so no interruption can
 * come between two changes.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import type { DeviceInfo } from "../../../domain/DeviceInfo.ts"
import type { GpuError, Holder, Released } from "../../../domain/GpuError.ts"
import type { ImageUsage } from "../../../domain/images/ImageUsage.ts"
import type { PoolBlock, PoolCore } from "../../../domain/PoolCore.ts"
import { allOf, together } from "../../leasing/LeasePool.ts"
import * as Attachments from "../../memory/Attachments.ts"
import type { DeviceImage } from "../DeviceImage.ts"
import type { Images } from "../Images.ts"
import { PooledImage } from "../PooledImage.ts"
import { ImageList } from "./ImageList.ts"

/** @internal */
export type ImageBlock = PoolBlock<DeviceImage, string>

/** @internal */
export class ImageLeases {
  readonly core: PoolCore<DeviceImage, string>
  closed = false
  /** The live leases of `use`. */
  readonly loans = new ImageList(this, undefined)
  readonly #images: Images["Service"]
  readonly #lists = new Map<Scope.Scope | undefined, ImageList>([[undefined, this.loans]])
  /** Leases granted so far; their ages are counted from it. */
  #sequence = 0

  constructor(core: PoolCore<DeviceImage, string>, images: Images["Service"]) {
    this.core = core
    this.#images = images
  }

  get info(): DeviceInfo {
    return this.#images.info
  }

  grant(list: ImageList, block: ImageBlock, usage: ImageUsage, label: string | undefined): PooledImage {
    block.value.label = label
    const lease = new PooledImage(block, usage, label, this.#sequence++)
    list.add(lease)
    return lease
  }

  /**
   * Ends a live lease, what stands on it first; its image is held again, or freed. A failure is counted here and logged
   * by the effect that comes back, if one does.
   */
  endUnsafe(lease: PooledImage, why: Released["why"]): Effect.Effect<void> | undefined {
    lease.ended = why
    if (lease.list !== undefined) lease.list.remove(lease)
    const { block } = lease
    if (block === undefined) return undefined
    lease.block = undefined
    const ended = Attachments.endAll(block.value, why)
    return together(this.#failed(ended), this.recycle(block))
  }

  /** Makes an active image held, or frees it; and frees what has been held the longest while too much is. */
  recycle(block: ImageBlock): Effect.Effect<void> | undefined {
    if (!block.value.recyclable) {
      this.core.discard(block)
      return this.free(block)
    }
    if (!this.core.release(block)) return this.free(block)
    return this.core.excessHeld ? this.trimExcess() : undefined
  }

  trimExcess(): Effect.Effect<void> {
    const failures: Array<Effect.Effect<void> | undefined> = []
    while (this.core.excessHeld) {
      const oldest = this.core.evictOldest()
      if (oldest === undefined) break
      failures.push(this.free(oldest))
    }
    return allOf(failures)
  }

  /** Gives a detached image back to the driver, in this very step. */
  free(block: ImageBlock): Effect.Effect<void> | undefined {
    const exit = this.#images.destroyUnsafe(block.value)
    this.core.freed(block)
    return this.#failed(exit)
  }

  /** Frees detached images one after the other; each is evicted only when the one before it is gone. */
  freeAll(blocks: Iterable<ImageBlock>): Effect.Effect<void> {
    const failures: Array<Effect.Effect<void> | undefined> = []
    for (const block of blocks) failures.push(this.free(block))
    return allOf(failures)
  }

  /** Ends everything: the leases first, then the held images. */
  close(): Effect.Effect<void> {
    this.closed = true
    this.core.stopHolding()
    const ended = [...this.#lists.values()].map((list) => list.endAll("poolClosed"))
    return Effect.andThen(allOf(ended), this.freeAll(this.core.evictAll()))
  }

  /** The largest live leases, for the evidence of an out-of-memory error. */
  largestHolders(count: number): ReadonlyArray<Holder> {
    const leases = [...this.#lists.values()].flatMap((list) => [...list.leases])
    return leases.sort((one, other) => other.size - one.size || one.sequence - other.sequence).slice(0, count)
      .map(({ label, sequence, size }) => ({ label, size, capacity: size, age: this.#sequence - sequence - 1 }))
  }

  /**
   * Runs `f` with the list of a scope. A new list is registered in the scope before `f` can put a lease into it, because
   * the run loop may yield between two steps; it is closed already when the scope is. Another fiber may have registered
   * one for the same scope meanwhile: then that one is used, so that a scope has one list.
   */
  withList<A>(scope: Scope.Scope, f: (list: ImageList) => Effect.Effect<A, GpuError>): Effect.Effect<A, GpuError> {
    const known = this.#lists.get(scope)
    if (known !== undefined) return f(known)
    const list = new ImageList(this, scope)
    return Effect.flatMap(Scope.addFinalizerExit(scope, () => list.close()), () => {
      if (list.closed) return f(list)
      const other = this.#lists.get(scope)
      if (other !== undefined) return f(other)
      this.#lists.set(scope, list)
      return f(list)
    })
  }

  forget(list: ImageList): void {
    if (this.#lists.get(list.scope) === list) this.#lists.delete(list.scope)
  }

  #failed(exit: Exit.Exit<void, GpuError>): Effect.Effect<void> | undefined {
    if (Exit.isSuccess(exit)) return undefined
    this.core.releaseFailures += 1
    return Effect.catch(
      exit,
      (error) => Effect.logWarning(`An image of the image pool could not be given back: ${error.message}`)
    )
  }
}

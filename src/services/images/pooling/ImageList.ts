/**
 * The image leases of one scope and one pool, under one finalizer. Leases come and go in constant time and leave nothing
 * behind, however long the scope lives. Every live lease is in exactly one list.
 *
 * @internal
 */
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Released } from "../../../domain/GpuError.ts"
import { allOf } from "../../leasing/LeasePool.ts"
import type { PooledImage } from "../PooledImage.ts"
import type { ImageLeases } from "./ImageLeases.ts"

/** @internal */
export class ImageList {
  readonly pool: ImageLeases
  /** The scope that owns the leases; none for the loans of `use`. */
  readonly scope: Scope.Scope | undefined
  closed = false
  /** In the order in which they came. */
  readonly leases = new Set<PooledImage>()

  constructor(pool: ImageLeases, scope: Scope.Scope | undefined) {
    this.pool = pool
    this.scope = scope
  }

  add(lease: PooledImage): void {
    lease.list = this
    this.leases.add(lease)
  }

  remove(lease: PooledImage): void {
    this.leases.delete(lease)
    lease.list = undefined
  }

  /** The scope's finalizer. */
  close(): Effect.Effect<void> {
    this.closed = true
    this.pool.forget(this)
    return this.endAll("scopeClosed")
  }

  /** Ends the leases, the last one first. */
  endAll(why: Released["why"]): Effect.Effect<void> {
    const leases = [...this.leases]
    const failures: Array<Effect.Effect<void> | undefined> = []
    for (let lease = leases.pop(); lease !== undefined; lease = leases.pop()) {
      failures.push(this.pool.endUnsafe(lease, why))
    }
    return allOf(failures)
  }
}

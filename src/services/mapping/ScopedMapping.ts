/**
 * One mapping while it lasts: it ends with its scope, with the lease or buffer that is mapped, or when it is asked to,
 * whichever comes first.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { type GpuError, make as makeError, Released } from "../../domain/GpuError.ts"
import type { Claim } from "../../domain/MappedParts.ts"
import * as Attachments from "../lease/Attachments.ts"
import type { DriverMapping } from "../QueueDriver.ts"

/**
 * What is mapped, for the errors of a late use.
 *
 * @internal
 */
export interface MappedPart {
  readonly label: string | undefined
  /** Bytes. */
  readonly size: number
}

/** @internal */
export class ScopedMapping implements Attachments.Attachment {
  readonly #scope: Scope.Closeable
  #part: MappedPart = { label: undefined, size: 0 }
  /** How the mapping is undone; nothing before it begins, nor for one of no bytes. */
  #undo: (() => Exit.Exit<void, GpuError>) | undefined = undefined
  #ended: Released["why"] | undefined = undefined

  private constructor(scope: Scope.Closeable) {
    this.#scope = scope
  }

  /**
   * Registers a mapping that has not begun in a scope of its own within `parent`, so that no interruption can come between
   * its beginning and its end; it has ended already where `parent` is closed.
   */
  static readonly register = (parent: Scope.Scope): Effect.Effect<ScopedMapping> =>
    Effect.suspend(() => {
      const scope = Scope.forkUnsafe(parent)
      const mapping = new ScopedMapping(scope)
      return Effect.as(Scope.addFinalizerExit(scope, () => mapping.#close("scopeClosed")), mapping)
    })

  /** Begins, in the step in which the driver has mapped the claimed part of `owner`'s memory. */
  begin(part: MappedPart, owner: Attachments.Attachable, claim: Claim, { unmapUnsafe }: DriverMapping): void {
    this.#part = part
    claim.add()
    Attachments.attach(owner, this)
    this.#undo = () => {
      claim.remove()
      Attachments.detach(owner, this)
      return unmapUnsafe()
    }
  }

  /** What errors call the memory that is mapped. */
  get label(): string | undefined {
    return this.#part.label
  }

  /** How it ended, `undefined` while it has not. */
  get ended(): Released["why"] | undefined {
    return this.#ended
  }

  /** Why the mapping cannot be used, or `undefined` while it can. */
  problem(operation: string): GpuError | undefined {
    const why = this.#ended
    return why === undefined
      ? undefined
      : makeError(new Released({ operation, ...this.#part, why, what: "mapping" }))
  }

  /** Ends it, and leaves nothing in the scope that it was registered in. A second call does nothing. */
  readonly endUnsafe = (why: Released["why"]): Exit.Exit<void, GpuError> => {
    if (this.#ended !== undefined) return Exit.void
    this.#ended = why
    const undo = this.#undo
    this.#undo = undefined
    // Its only finalizer is this mapping's own, which has nothing left to do.
    Scope.closeUnsafe(this.#scope, Exit.void)
    return undo === undefined ? Exit.void : undo()
  }

  /** A finalizer cannot fail, so a failure is logged. */
  #close(why: Released["why"]): Effect.Effect<void> {
    return Effect.catch(
      this.endUnsafe(why),
      (error) => Effect.logWarning(`Mapped memory could not be given back: ${error.message}`)
    )
  }
}

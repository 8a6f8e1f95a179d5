/**
 * What stands on the memory of a buffer while it lasts: it ends with its scope or with the lease, whichever comes first.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { readValues } from "../../domain/ArgumentProblem.ts"
import { type GpuError, isGpuError, make as makeError, Released } from "../../domain/GpuError.ts"
import * as Attachments from "../lease/Attachments.ts"
import { logged } from "./GivingBack.ts"

/** Called once; `why` is "parentReleased" when the lease has ended first. */
type End = (why: "scopeClosed" | "parentReleased") => Exit.Exit<void, GpuError>

/** @internal */
export class ScopedAttachment implements Attachments.Attachment {
  /** One of its own within the caller's, which closes with it: nothing stays behind in a scope that lives for long. */
  readonly #scope: Scope.Closeable
  #owner: Attachments.Attachable | undefined
  #end: End | undefined
  #closed = false

  private constructor(scope: Scope.Closeable) {
    this.#scope = scope
  }

  /**
   * Registered before anything is made, since the run loop may yield between two steps. `make` then makes it in one step
   * and calls {@link begin}; it is not asked when the scope is closed already.
   */
  static acquire<A>(
    operation: string,
    make: (attachment: ScopedAttachment) => Exit.Exit<A, GpuError>
  ): Effect.Effect<A, GpuError, Scope.Scope> {
    return Effect.flatMap(Effect.scope, (parent) => {
      const attachment = new ScopedAttachment(Scope.forkUnsafe(parent))
      const registered = Scope.addFinalizerExit(attachment.#scope, () => logged(() => attachment.#close("scopeClosed")))
      return Effect.flatMap(
        registered,
        () => attachment.#closed ? Exit.fail(tooLate(operation)) : attachment.#make(operation, make)
      )
    })
  }

  /** Begins, in the step in which it was made; `owner` is a lease, or nothing that could end before the scope. */
  begin(owner: Attachments.Attachable | undefined, end: End): void {
    this.#owner = owner
    this.#end = end
    if (owner !== undefined) Attachments.attach(owner, this)
  }

  /** The lease ends. */
  endUnsafe(): Exit.Exit<void, GpuError> {
    const ended = this.#close("parentReleased")
    // Its only finalizer is this one's own, which has nothing left to do.
    Scope.closeUnsafe(this.#scope, Exit.void)
    return ended
  }

  /** What the program gave is looked at in there. */
  #make<A>(
    operation: string,
    make: (attachment: ScopedAttachment) => Exit.Exit<A, GpuError>
  ): Exit.Exit<A, GpuError> {
    const answer = readValues(operation, () => make(this))
    const made = isGpuError(answer) ? Exit.fail(answer) : answer
    if (Exit.isFailure(made)) Scope.closeUnsafe(this.#scope, Exit.void)
    return made
  }

  #close(why: "scopeClosed" | "parentReleased"): Exit.Exit<void, GpuError> {
    this.#closed = true
    const end = this.#end
    this.#end = undefined
    if (this.#owner !== undefined) Attachments.detach(this.#owner, this)
    return end === undefined ? Exit.void : end(why)
  }
}

const tooLate = (operation: string): GpuError =>
  makeError(new Released({ operation, label: undefined, size: 0, why: "scopeClosed" }))

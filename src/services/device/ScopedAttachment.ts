/**
 * An attachment to a buffer or an image: it ends with its scope or with its owner, whichever comes first.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { type GpuError, type Released, released } from "../../domain/GpuError.ts"
import { validated } from "../calls/Validated.ts"
import * as Attachments from "../lease/Attachments.ts"
import { logged } from "./ReleaseInOrder.ts"

type Why = Released["why"]

/** The kind of attachment: a sub-region, an image over a buffer, or a mapping of either. */
type Attached = "buffer" | "image" | "mapping"

/** Called once. */
type End = (why: Why) => Exit.Exit<void, GpuError>

export class ScopedAttachment implements Attachments.Attachment {
  /**
   * A scope of its own within the caller's. It closes when the attachment ends, so nothing is left behind in a
   * long-lived scope.
   */
  readonly #scope: Scope.Closeable
  readonly #what: Attached
  #owner: Attachments.Attachable | undefined
  #end: End | undefined
  #ended: Why | undefined

  private constructor(scope: Scope.Closeable, what: Attached) {
    this.#scope = scope
    this.#what = what
  }

  /**
   * Registers the attachment in the scope before it is made, since the run loop may yield between two steps. `make`
   * then makes it and calls {@link begin} in the same step. In a closed scope `make` is not called.
   */
  static acquire<A>(
    operation: string,
    what: Attached,
    make: (attachment: ScopedAttachment) => Effect.Effect<A, GpuError>
  ): Effect.Effect<A, GpuError, Scope.Scope> {
    return Effect.flatMap(Effect.scope, (parent) => {
      const attachment = new ScopedAttachment(Scope.forkUnsafe(parent), what)
      const close = () => attachment.#close("scopeClosed")
      const made = validated(
        operation,
        () => attachment.#ended === undefined ? make(attachment) : tooLate(operation, what)
      )
      return Effect.andThen(
        Scope.addFinalizerExit(attachment.#scope, () => logged(close, what === "image" ? "An image" : `A ${what}`)),
        Effect.onExit(
          made,
          (exit) => Exit.isSuccess(exit) ? Exit.void : Effect.sync(() => attachment.endUnsafe("released"))
        )
      )
    })
  }

  /** Attaches it to `owner`, in the step that made it; `undefined` where no owner can end before the scope. */
  begin(owner: Attachments.Attachable | undefined, end: End): void {
    this.#owner = owner
    this.#end = end
    if (owner !== undefined) Attachments.attach(owner, this)
  }

  /** Why it ended, `undefined` while it has not. */
  get ended(): Why | undefined {
    return this.#ended
  }

  /** Ends it, and leaves nothing in the scope that it was registered in. A second call does nothing. */
  readonly endUnsafe = (why: Why): Exit.Exit<void, GpuError> => {
    // A sub-region or image reports that its parent has ended, a mapping why.
    const ended = this.#close(this.#what === "mapping" ? why : "parentReleased")
    // The scope's only finalizer is this attachment's, which does nothing now.
    Scope.closeUnsafe(this.#scope, Exit.void)
    return ended
  }

  #close(why: Why): Exit.Exit<void, GpuError> {
    if (this.#ended !== undefined) return Exit.void
    this.#ended = why
    if (this.#owner !== undefined) Attachments.detach(this.#owner, this)
    return this.#end === undefined ? Exit.void : this.#end(why)
  }
}

const tooLate = (operation: string, what: Attached): GpuError =>
  released(operation, { label: undefined, size: 0, ended: "scopeClosed", what: what === "buffer" ? undefined : what })

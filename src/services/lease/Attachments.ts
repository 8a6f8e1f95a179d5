/**
 * Mappings and sub-regions, which end with a lease before its block goes to another owner.
 *
 * @internal
 */
import * as Exit from "effect/Exit"
import type { GpuError, Released } from "../../domain/GpuError.ts"

/** An attachment: an object over the memory of a lease or device buffer that must end with it. */
export interface Attachment {
  /**
   * Ends it in this step: commands that it recorded come before later ones on the queue. {@link Attachments} removes it
   * first and calls this at most once; a second end, by its own scope, does nothing. On a lost device it succeeds
   * without calling the driver.
   */
  readonly endUnsafe: (why: Released["why"]) => Exit.Exit<void, GpuError>
}

/**
 * Leases, device buffers and images. The field is `undefined` until something is attached, so a lease without
 * attachments pays one comparison.
 */
export interface Attachable {
  attached: Attachments | undefined
}

/** The attachments of one lease, device buffer or image. */
export class Attachments {
  readonly #attachments = new Set<Attachment>()

  get size(): number {
    return this.#attachments.size
  }

  add(attachment: Attachment): void {
    this.#attachments.add(attachment)
  }

  remove(attachment: Attachment): void {
    this.#attachments.delete(attachment)
  }

  /** Ends all, the last one first, also after one of them has failed; the result has every failure. */
  endAll(why: Released["why"]): Exit.Exit<void, GpuError> {
    const ending = [...this.#attachments]
    this.#attachments.clear()
    const exits: Array<Exit.Exit<void, GpuError>> = []
    for (let last = ending.pop(); last !== undefined; last = ending.pop()) exits.push(last.endUnsafe(why))
    return Exit.asVoidAll(exits)
  }
}

/** Lets `attachment` end with `owner`, in the step in which `owner` was found to be usable. */
export const attach = (owner: Attachable, attachment: Attachment): void => {
  owner.attached ??= new Attachments()
  owner.attached.add(attachment)
}

/** Removes an attachment that ended by itself. */
export const detach = (owner: Attachable, attachment: Attachment): void => owner.attached?.remove(attachment)

/** Ends the attachments of `owner`, before `owner` itself ends. */
export const endAll = (owner: Attachable, why: Released["why"]): Exit.Exit<void, GpuError> =>
  owner.attached === undefined ? Exit.void : owner.attached.endAll(why)

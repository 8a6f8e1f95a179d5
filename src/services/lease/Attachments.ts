/**
 * What ends with a lease, before its block goes to anybody else: mappings, and sub-regions.
 *
 * @internal
 */
import * as Exit from "effect/Exit"
import type { GpuError, Released } from "../../domain/GpuError.ts"

/**
 * Something that stands on the memory of a lease or device buffer and cannot outlive it.
 *
 * @internal
 */
export interface Attachment {
  /**
   * Ends it in this very step: whatever it recorded is ordered before what comes next on the queue. Called at most once
   * by {@link Attachments}, which has forgotten it by then; ending it again, as its own scope will, does nothing. On a
   * lost device there is nothing left to tell the driver, and the answer is a success.
   */
  readonly endUnsafe: (why: Released["why"]) => Exit.Exit<void, GpuError>
}

/**
 * Leases, device buffers and images. The field is empty until something is attached, so a lease that nothing stands on
 * pays one comparison.
 *
 * @internal
 */
export interface Attachable {
  attached: Attachments | undefined
}

/**
 * The attachments of one lease, device buffer or image.
 *
 * @internal
 */
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

  /** Ends all, the last one first, also after one of them has failed; the answer has every failure. */
  endAll(why: Released["why"]): Exit.Exit<void, GpuError> {
    const ending = [...this.#attachments]
    this.#attachments.clear()
    const exits: Array<Exit.Exit<void, GpuError>> = []
    for (let last = ending.pop(); last !== undefined; last = ending.pop()) exits.push(last.endUnsafe(why))
    return Exit.asVoidAll(exits)
  }
}

/**
 * Lets `attachment` end with `owner`, in the step in which `owner` was found to be usable.
 *
 * @internal
 */
export const attach = (owner: Attachable, attachment: Attachment): void => {
  owner.attached ??= new Attachments()
  owner.attached.add(attachment)
}

/**
 * For an attachment that ended by itself; nothing of it stays behind.
 *
 * @internal
 */
export const detach = (owner: Attachable, attachment: Attachment): void => owner.attached?.remove(attachment)

/**
 * Ends what stands on `owner`, before `owner` itself is given back.
 *
 * @internal
 */
export const endAll = (owner: Attachable, why: Released["why"]): Exit.Exit<void, GpuError> =>
  owner.attached === undefined ? Exit.void : owner.attached.endAll(why)

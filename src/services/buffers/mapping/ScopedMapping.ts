/**
 * A live mapping: it ends with its scope, with the mapped lease, buffer or image, or by `endUnsafe`, whichever comes
 * first.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Scope from "effect/Scope"
import { isDetached } from "../../../domain/data/DetachMemory.ts"
import { type GpuError, invalidRequest, type Released, released } from "../../../domain/GpuError.ts"
import type { DriverMapping } from "../../device/QueueDriver.ts"
import { ScopedAttachment } from "../../device/ScopedAttachment.ts"
import type { Attachable } from "../../lease/Attachments.ts"
import * as MappedMemory from "./MappedMemory.ts"

/** What is mapped. */
export interface Mapped {
  /** The label of the mapped memory, for errors of a late use. */
  readonly label: string | undefined
  /** Bytes. */
  readonly size: number
  readonly owner: Attachable
  /** The span that is claimed while it is mapped; `undefined` where the memory may be used meanwhile. */
  readonly claim?: MappedMemory.MappedSpan | undefined
  /** What messages call the part. */
  readonly name: string
}

export class ScopedMapping {
  readonly #attachment: ScopedAttachment
  #part: Pick<Mapped, "label" | "size"> = { label: undefined, size: 0 }

  private constructor(attachment: ScopedAttachment) {
    this.#attachment = attachment
  }

  /** A mapping that `make` checks and begins in one step, unless the scope is closed. */
  static readonly acquire = <A>(
    operation: string,
    make: (mapping: ScopedMapping) => Effect.Effect<A, GpuError>
  ): Effect.Effect<A, GpuError, Scope.Scope> =>
    ScopedAttachment.acquire(operation, "mapping", (attachment) => make(new ScopedMapping(attachment)))

  /** Claims, maps and attaches in one step; then waits for the memory, and passes it to `show`. */
  begin<A, M extends DriverMapping>(
    operation: string,
    { claim, label, name, owner, size }: Mapped,
    map: () => Exit.Exit<M, GpuError>,
    show: (memory: ArrayBuffer, mapped: M) => A
  ): Effect.Effect<A, GpuError> {
    if (claim !== undefined && MappedMemory.isTaken(claim)) return MappedMemory.takenProblem(operation, name)
    if (claim !== undefined && MappedMemory.conflicts(claim)) {
      return invalidRequest(
        operation,
        `${name} are mapped already, and one of the two mappings may write`,
        "End the other mapping first: close its scope, or unmap it."
      )
    }
    const mapped = map()
    if (Exit.isFailure(mapped)) return Exit.failCause(mapped.cause)
    const { memory, unmapUnsafe } = mapped.value
    this.#part = { label, size }
    if (claim !== undefined) MappedMemory.add(claim)
    this.#attachment.begin(owner, () => {
      if (claim !== undefined) MappedMemory.remove(claim)
      return unmapUnsafe()
    })
    return Effect.flatMap(memory, (contents) => {
      // The mapping may have ended while the device was busy. A GPUDevice that was destroyed detaches mapped memory
      // before it reports its loss.
      const why = this.ended ?? (isDetached(contents) ? "released" : undefined)
      return why === undefined ? Effect.succeed(show(contents, mapped.value)) : this.#released(operation, why)
    })
  }

  /** What errors call the memory that is mapped. */
  get label(): string | undefined {
    return this.#part.label
  }

  /** Why it ended, `undefined` while it has not. */
  get ended(): Released["why"] | undefined {
    return this.#attachment.ended
  }

  /** Why the mapping cannot be used, or `undefined` while it can. */
  problem(operation: string): GpuError | undefined {
    const why = this.ended
    return why === undefined ? undefined : this.#released(operation, why)
  }

  #released(operation: string, why: Released["why"]): GpuError {
    return released(operation, { ...this.#part, ended: why, what: "mapping" })
  }

  /** Ends it. A second call does nothing. */
  endUnsafe(why: Released["why"]): Exit.Exit<void, GpuError> {
    return this.#attachment.endUnsafe(why)
  }
}

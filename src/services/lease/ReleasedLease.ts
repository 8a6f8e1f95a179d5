/**
 * What operations answer on a lease that was released.
 *
 * @internal
 */
import { type GpuError, make, Released } from "../../domain/GpuError.ts"

/** A lease, as far as the error names it. */
interface Ended extends Pick<Released, "label" | "size" | "what"> {
  readonly ended?: Released["why"] | undefined
}

/** The error of using a lease that has ended. */
export const releasedError = (operation: string, { ended, label, size, what }: Ended): GpuError =>
  make(new Released({ operation, label, size, why: ended ?? "released", what }))

/**
 * The error of operations on a lease that has ended.
 *
 * @internal
 */
import { type GpuError, make, Released } from "../../domain/GpuError.ts"

/** The facts of a lease that the error names. */
interface Ended extends Pick<Released, "label" | "size" | "what"> {
  readonly ended?: Released["why"] | undefined
}

/** The error of using a lease that has ended. */
export const releasedError = (operation: string, { ended, label, size, what }: Ended): GpuError =>
  make(new Released({ operation, label, size, why: ended ?? "released", what }))

/**
 * A command on images, or a timed dispatch. Its module is loaded later, so it has its own function for encoding.
 *
 * @internal
 */
import type * as WebGpuHandle from "../WebGpuHandle.ts"
import type { Temporaries } from "./Temporaries.ts"

export interface LazyCommand {
  readonly _tag: "later"
  /** The uniform buffer has the scalars of all dispatches of the flush. */
  readonly encode: (
    encoder: WebGpuHandle.CommandEncoder,
    temporaries: Temporaries,
    uniforms: WebGpuHandle.Buffer | undefined
  ) => void
  readonly label: () => string
}

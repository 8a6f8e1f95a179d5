/**
 * What the library and the conformance suite must know of a backend, told by itself as a plain value.
 *
 * @since 0.1.0
 */
import type { ImageKind } from "../images/ImageShape.ts"

/**
 * What a backend may do to floats besides rounding them.
 *
 * @category models
 * @since 0.1.0
 */
export interface FloatRules {
  /** It may take subnormal numbers for zero, as operands and as results. */
  readonly flushes: boolean
  /** It may reorder sums and products, and round fewer of their steps. */
  readonly reorders: boolean
  /** It may simplify arithmetic as if no operand or result were infinite or no number. */
  readonly assumesFinite: boolean
}

/**
 * What a backend is like, whichever device is open.
 *
 * @category models
 * @since 0.1.0
 */
export interface BackendTraits {
  /** Which of a kernel's bodies it runs: statements in WGSL or OpenCL C, or a function of JavaScript. */
  readonly language: "wgsl" | "opencl" | "host"
  /** How long it takes for a kernel that is new to it: nothing to speak of, some ten milliseconds, or more. */
  readonly compiling: "none" | "fast" | "slow"
  readonly floats: FloatRules
  /** Whether a buffer can use the program's own memory: mode "use" of `MemoryObjects.fromHost`. */
  readonly usesHostMemory: boolean
  /** Whether what the program reads of a buffer comes through staging memory: see `StagingPool`. */
  readonly readsStaged: boolean
  /** Kinds of images that its devices need not have, nor kernels write. */
  readonly optionalImages: ReadonlyArray<ImageKind>
}

/**
 * A backend that runs JavaScript: floats as they are written, and everything else that there is.
 *
 * **Example** (A backend without images over buffers)
 *
 * ```ts
 * import { BackendTraits } from "effect-gpu-pool/backend"
 *
 * const traits: BackendTraits.BackendTraits = { ...BackendTraits.javaScript, optionalImages: ["1dBuffer"] }
 * ```
 *
 * @category constants
 * @since 0.1.0
 */
export const javaScript: BackendTraits = {
  language: "host",
  compiling: "none",
  floats: { flushes: false, reorders: false, assumesFinite: false },
  usesHostMemory: true,
  readsStaged: false,
  optionalImages: []
}

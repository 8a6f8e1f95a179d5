/**
 * What the library and the conformance suite must know of a backend, as a plain value that the backend provides.
 *
 * @since 0.1.0
 */
import type { ImageKind } from "../images/ImageShape.ts"
import type { Language } from "../language/Language.ts"

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
  /** It may simplify arithmetic as if no operand or result were infinite or NaN. */
  readonly assumesFinite: boolean
}

/**
 * What a backend is like, whichever device is open.
 *
 * @category models
 * @since 0.1.0
 */
export interface BackendTraits {
  /** The language of its kernels. */
  readonly language: Language
  /** How long compiling a new kernel takes: no time worth mentioning, tens of milliseconds, or more. */
  readonly compiling: "none" | "fast" | "slow"
  readonly floats: FloatRules
  /** Whether a buffer can use the program's own memory: mode "use" of `MemoryObjects.fromHost`. */
  readonly usesHostMemory: boolean
  /** Whether reads of a buffer go through staging memory: see `StagingPool`. */
  readonly readsStaged: boolean
  /** Whether the device has staging memory. Without it a `StagingPool` does not open. */
  readonly hasStaging: boolean
  /**
   * Whether staging memory is like other memory: one array can be uploaded and downloaded, and a pool may split slabs of it. Where
   * not, as on WebGPU, memory has one direction, and a mapping takes a whole buffer.
   */
  readonly stagesBothWays: boolean
  /**
   * Whether one dispatch may read a part of a buffer and write another. Where it may not, the queue copies what is only read:
   * see the option `apart` of `BufferPool.allocate`.
   */
  readonly readsBesideWrites: boolean
  /** Kinds of images that its devices need not have, nor kernels write. */
  readonly optionalImages: ReadonlyArray<ImageKind>
}

/**
 * The traits of a backend: its language, and what differs from the defaults. By default it compiles at once, computes
 * floats exactly as written, has staging memory and images of every kind, and cannot use the program's memory.
 *
 * **Example** (A backend without images over buffers)
 *
 * ```ts
 * import { BackendTraits } from "effect-gpu-pool/backend"
 * import { JavaScript } from "effect-gpu-pool/host"
 *
 * const traits = BackendTraits.make({ language: JavaScript.language, optionalImages: ["1dBuffer"] })
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (traits: Pick<BackendTraits, "language"> & Partial<BackendTraits>): BackendTraits => ({
  compiling: "none",
  floats: { flushes: false, reorders: false, assumesFinite: false },
  usesHostMemory: false,
  readsStaged: false,
  hasStaging: true,
  stagesBothWays: true,
  readsBesideWrites: true,
  optionalImages: [],
  ...traits
})

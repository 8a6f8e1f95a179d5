/**
 * The options of an installation.
 *
 * @since 0.1.0
 */
import * as GpuError from "effect-gpu-pool/GpuError"
import * as SizePolicy from "effect-gpu-pool/SizePolicy"

/**
 * The options of `install`.
 *
 * @category models
 * @since 0.1.0
 */
export interface InstallOptions {
  /**
   * The bytes that the buffers of programs and those that the pool holds may have together. A buffer for which too little is left,
   * when nothing is held any more, is refused as a device refuses one without memory. Default: no limit.
   */
  readonly maxBytes?: number | undefined
  /**
   * When reused buffers are made zero. `acquire`, the default, keeps WebGPU's promise that a new buffer is zero. With `never` a program
   * may find bytes of other buffers: for programs that write before they read.
   */
  readonly clear?: "acquire" | "never" | undefined
  /**
   * Whether uses that WebGPU forbids are refused too: of a buffer after its `destroy()`, by a bind group or a command that was encoded
   * before, and of bytes behind a buffer's end. Default: true. With `false` such a program may read and write bytes of others.
   */
  readonly strict?: boolean | undefined
  /** Whether the lines that make buffers are kept, for `holders()` and for errors: a few microseconds for each. Default: false. */
  readonly track?: boolean | undefined
  /** Which block serves a buffer of so many bytes. Default: `SizePolicy.defaultPolicy`. */
  readonly sizePolicy?: SizePolicy.SizePolicy | undefined
}

/**
 * The options with their defaults.
 *
 * @internal
 */
export interface Settings {
  readonly maxBytes: number
  readonly clears: boolean
  readonly isStrict: boolean
  readonly tracks: boolean
  readonly sizePolicy: SizePolicy.SizePolicy
}

/**
 * Throws a `GpuError` for options that are none.
 *
 * @internal
 */
export const settingsOf = (operation: string, options: InstallOptions): Settings => {
  const { clear = "acquire", maxBytes = Infinity, sizePolicy = SizePolicy.defaultPolicy, strict, track } = options
  const problem = SizePolicy.problem(operation, sizePolicy) ??
    (maxBytes > 0 && (maxBytes === Infinity || Number.isSafeInteger(maxBytes)) ? undefined : GpuError.invalidRequest(
      operation,
      `maxBytes ${String(maxBytes)} is no whole number of bytes from 1`,
      "Pass a limit in bytes, or leave it out for none."
    )) ??
    (clear === "acquire" || clear === "never" ? undefined : GpuError.invalidRequest(
      operation,
      `clear ${String(clear)} is neither "acquire" nor "never"`,
      "Leave it out, so that reused buffers are zero, as WebGPU promises."
    ))
  if (problem !== undefined) throw problem
  return { maxBytes, clears: clear === "acquire", isStrict: strict !== false, tracks: track === true, sizePolicy }
}

/**
 * A call site with its callers, as one text: what keeps, compares and prints call sites needs to know nothing of stacks.
 *
 * @since 0.1.0
 */

const separator = " ← "

/**
 * The text of some frames, the innermost first; that of one frame is the frame itself.
 *
 * **Example** (A call site and its caller)
 *
 * ```ts
 * import { CallStack } from "effect-gpu-pool/machine"
 *
 * CallStack.textOf(["/app/Tiles.ts:4:9", "decode (/app/Decoder.ts:20:3)"]) // => "/app/Tiles.ts:4:9 ← decode (/app/Decoder.ts:20:3)"
 * ```
 *
 * @category conversions
 * @since 0.1.0
 */
export const textOf = (frames: ReadonlyArray<string>): string => frames.join(separator)

/**
 * The frames of a text that {@link textOf} made, the innermost first: one, the call site, unless `CallSite.trackFrames` asked for more;
 * none of an empty text.
 *
 * **Example** (The call site alone)
 *
 * ```ts
 * import { CallStack } from "effect-gpu-pool/machine"
 *
 * const [callSite] = CallStack.framesOf("/app/Tiles.ts:4:9 ← decode (/app/Decoder.ts:20:3)")
 * callSite // => "/app/Tiles.ts:4:9"
 * ```
 *
 * @category conversions
 * @since 0.1.0
 */
export const framesOf = (text: string): ReadonlyArray<string> => text === "" ? [] : text.split(separator)

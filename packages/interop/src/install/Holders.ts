/**
 * Who has buffers.
 *
 * @since 0.1.0
 */
import { enoughFrames, framesOf, isForeign, siteOf, type Stack } from "../foreign/CallStack.ts"
import type { Slot } from "./Slot.ts"

/**
 * Buffers of one label that one line of the program made.
 *
 * @category models
 * @since 0.1.0
 */
export interface BufferHolder {
  /** The label, or an empty text. */
  readonly label: string
  /** The line that made them; `undefined` without the option `track`. */
  readonly site: string | undefined
  readonly count: number
  /** The bytes that the program asked for. */
  readonly bytes: number
}

/**
 * The frames from where a stack is taken to the patched method.
 *
 * @internal
 */
export const ownFrames = 2

/**
 * The line of the program that asked for a buffer.
 *
 * @internal
 */
export const programSite = (stack: Stack): string | undefined =>
  siteOf(framesOf(stack, enoughFrames + ownFrames).slice(ownFrames), isForeign)

/**
 * By label and line, those with the most bytes first.
 *
 * @internal
 */
export const holdersOf = (live: Iterable<Slot>): ReadonlyArray<BufferHolder> => {
  const groups = new Map<string, BufferHolder>()
  for (const { label, size, stack } of live) {
    const site = stack && programSite(stack)
    const key = JSON.stringify([label, site])
    const { bytes, count } = groups.get(key) ?? { bytes: 0, count: 0 }
    groups.set(key, { label, site, count: count + 1, bytes: bytes + size })
  }
  return [...groups.values()].sort((a, b) => b.bytes - a.bytes)
}

const number = (value: number): string => value.toLocaleString("en")

/** One line of an error: `3 buffers "logits" with 12,288 B, made at classify (file:///app/leak.mjs:11:80)`. */
const textOf = ({ bytes, count, label, site }: BufferHolder): string =>
  `${number(count)} buffer${count === 1 ? "" : "s"}${label === "" ? "" : ` "${label}"`} with ${number(bytes)} B${
    site === undefined ? "" : `, made at ${site}`
  }`

/**
 * The message of the error for a buffer that the limit refuses.
 *
 * @internal
 */
export const refusalOf = (
  size: number,
  { live, maxBytes, usedBytes }: {
    readonly live: Iterable<Slot>
    readonly maxBytes: number
    readonly usedBytes: number
  }
): string => {
  const holders = holdersOf(live)
  const shown = holders.slice(0, 3).map(textOf)
  if (holders.length > 3) shown.push(`${number(holders.length - 3)} other groups`)
  return `createBuffer: ${number(size)} B do not fit: the installed pool may have ${
    number(maxBytes)
  } B, and live buffers have ${number(usedBytes)} of them: ${
    shown.length === 0 ? "none" : shown.join("; ")
  }. Destroy buffers that are not needed, or install the pool with a larger maxBytes.`
}

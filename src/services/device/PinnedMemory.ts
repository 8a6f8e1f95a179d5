/**
 * Memory of the program that a buffer or an image uses as its own.
 *
 * @internal
 */
import type { ViewType } from "../../domain/data/ElementClass.ts"
import { type GpuError, invalidRequest } from "../../domain/GpuError.ts"
import { maker } from "./DetachedMemory.ts"
import type { HostMode } from "./DeviceContext.ts"

type Pinned = Uint8Array<ArrayBuffer>

/** Why a device cannot use data as its memory, or `undefined`. `alignment` is that of its elements, in bytes. */
export const modeProblem = (
  operation: string,
  mode: HostMode,
  data: Pinned,
  alignment: number
): GpuError | undefined => {
  if (mode === "copy") return undefined
  const problem = movesProblem(operation, data.buffer)
  if (problem !== undefined) return problem
  if (data.byteLength === 0) {
    return invalidRequest(
      operation,
      "there are no bytes that a device could use as memory",
      "Pass data of at least one byte, or let it be copied."
    )
  }
  return data.byteOffset % alignment === 0 ? undefined : invalidRequest(
    operation,
    `the data begins at byte ${data.byteOffset} of its ArrayBuffer`,
    `Memory of a device holds elements of ${alignment} bytes too: begin at a multiple of ${alignment}, or let it be copied.`
  )
}

/** Why a driver cannot keep the address of memory, or `undefined`: the memory must not move. */
const movesProblem = (operation: string, memory: ArrayBuffer): GpuError | undefined =>
  (memory as { readonly resizable?: boolean }).resizable === true
    ? invalidRequest(
      operation,
      "the data's ArrayBuffer is resizable",
      "Pass data of a fixed length: a resize would take it away from the device."
    )
    : undefined

/**
 * Whether the program transferred or resized data while a device took it: the error, or `undefined`. A driver's own
 * error for that misleads.
 */
export const changedProblem = (
  operation: string,
  data: Uint8Array<ArrayBuffer>,
  before: number
): GpuError | undefined =>
  data.byteLength === before ? undefined : invalidRequest(
    operation,
    `the data had ${before} bytes and has ${data.byteLength} now`,
    "Do not resize or transfer it before the effect has completed."
  )

/** A view of the memory, or of a range of it, or why there is none. */
export const viewOf = <A extends ArrayBufferView>(
  operation: string,
  what: "buffer" | "image",
  pinned: Pinned | undefined,
  type: ViewType<A>,
  offset: number = 0,
  size?: number | undefined
): A | GpuError => {
  if (pinned === undefined) {
    return invalidRequest(
      operation,
      `the ${what} has no memory of the program`,
      `Make it by ${maker[what]} with mode "use", or read it.`
    )
  }
  const bytes = size ?? pinned.byteLength
  const itemSize = type.BYTES_PER_ELEMENT
  return bytes % itemSize === 0 && offset % itemSize === 0
    ? new type(pinned.buffer, pinned.byteOffset + offset, bytes / itemSize)
    : invalidRequest(
      operation,
      `the ${bytes} bytes are no whole number of elements of ${type.name}`,
      "Pass a typed array class that fits, such as Uint8Array."
    )
}

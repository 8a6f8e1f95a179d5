/**
 * Bytes on their way into a buffer, in calls that every driver survives.
 *
 * @internal
 */
import type * as WebGpuHandle from "../WebGpuHandle.ts"

/**
 * How much one call may copy: Dawn on Mesa's lavapipe ends the process at 2 GiB, whatever `maxBufferSize` says. Mapping, clearing
 * and `writeBuffer` take more there. It is an object so that tests can lower it.
 */
export const largestCopy = { bytes: 2 ** 30 }

/** Copies between two buffers. Offsets and `bytes` are multiples of 4. */
export const encodeCopy = (
  encoder: WebGpuHandle.CommandEncoder,
  source: WebGpuHandle.Buffer,
  from: number,
  target: WebGpuHandle.Buffer,
  to: number,
  bytes: number
): void => {
  if (
    from === 0 && to === 0 && bytes <= largestCopy.bytes && shortForm.isThere &&
    isCopied(encoder, source, target, bytes)
  ) {
    return
  }
  for (let done = 0; done < bytes; done += largestCopy.bytes) {
    encoder.copyBufferToBuffer(source, from + done, target, to + done, Math.min(largestCopy.bytes, bytes - done))
  }
}

/**
 * The form without offsets, a call of which takes Dawn a fifth less time. It is not in `WebGpuApi`, to whose types those of a program
 * must conform: older ones lack it.
 */
interface ShortForm {
  copyBufferToBuffer(source: WebGpuHandle.Buffer, destination: WebGpuHandle.Buffer, size: number): unknown
}

/** Whether encoders have the short form, unless one has thrown. It is an object so that tests can set it again. */
export const shortForm = { isThere: true }

/** Copies by the short form. Encoders of older browsers throw; the long form then fails for any other reason there was. */
const isCopied = (
  encoder: WebGpuHandle.CommandEncoder,
  source: WebGpuHandle.Buffer,
  target: WebGpuHandle.Buffer,
  bytes: number
): boolean => {
  try {
    const short: ShortForm = encoder as WebGpuHandle.CommandEncoder & ShortForm
    short.copyBufferToBuffer(source, target, bytes)
  } catch {
    shortForm.isThere = false
  }
  return shortForm.isThere
}

/** Writes host data, of which the last bytes go through a padded word: WebGPU writes multiples of 4 bytes. */
export const writeBytes = (
  queue: WebGpuHandle.Queue,
  target: WebGpuHandle.Buffer,
  to: number,
  data: Uint8Array<ArrayBuffer>
): void => {
  const whole = data.byteLength - data.byteLength % 4
  if (whole > 0) queue.writeBuffer(target, to, data, 0, whole)
  if (whole === data.byteLength) return
  const last = new Uint8Array(4)
  last.set(data.subarray(whole))
  queue.writeBuffer(target, to + whole, last)
}

/** A picture, and its file. */
import { encode } from "fast-png"

export interface Picture {
  readonly width: number
  readonly height: number
  /** Red, green and blue of each pixel, row by row. */
  readonly rgb: Uint8Array
}

/** The bytes of a PNG. */
export const png = ({ height, rgb, width }: Picture): Uint8Array =>
  encode({ width, height, data: rgb, channels: 3, depth: 8 })

/**
 * Whether a driver stores the elements of a format in the bytes that this library counts.
 *
 * The standard does not say how many bytes an element of an order with an x has, and drivers disagree: some store x, some do not. Host
 * data of the wrong size would make the driver read or write beyond it, so the driver is asked with an image of one element.
 *
 * @internal
 */
import * as ImageFormat from "../../../domain/images/ImageFormat.ts"
import type { ImageKind } from "../../../domain/images/ImageShape.ts"
import * as OpenClCode from "../OpenClCode.ts"
import type { OpenDevice } from "../opening/OpenDevice.ts"
import * as ImageQueries from "./ImageQueries.ts"
import * as OpenClImageFormat from "./OpenClImageFormat.ts"
import { description } from "./OpenClImageLayout.ts"

const one = { width: 1, height: 1, depth: 1, layers: 1 }

export class ElementSizes {
  readonly #device: OpenDevice
  readonly #agreed = new Map<string, boolean>()

  constructor(device: OpenDevice) {
    this.#device = device
  }

  /** Asks once for each format. `flags` and `kind` are those with which the driver lists it. */
  agree(format: ImageFormat.ImageFormat, flags: number, kind: ImageKind): boolean {
    if (!format.order.endsWith("x")) return true
    const name = ImageFormat.format(format)
    const known = this.#agreed.get(name)
    if (known !== undefined) return known
    const agreed = this.#ask(format, flags, kind === "1dBuffer" ? "1d" : kind) === ImageFormat.elementBytes(format)
    this.#agreed.set(name, agreed)
    return agreed
  }

  /** The bytes of an element, or `undefined` where the driver makes no such image. */
  #ask(format: ImageFormat.ImageFormat, flags: number, kind: ImageKind): number | undefined {
    const { api, context, hostMemoryFlag } = this.#device
    const code = new Int32Array(new ArrayBuffer(4))
    const shape = description({ kind, ...one }, {})
    const encoded = OpenClImageFormat.encode(format)
    const memory = api.clCreateImage(context, flags | hostMemoryFlag, encoded, shape, null, code)
    if (memory === null || code[0] !== OpenClCode.success) return undefined
    const { elementSize } = ImageQueries.describe(api, memory)
    api.clReleaseMemObject(memory)
    return elementSize
  }
}

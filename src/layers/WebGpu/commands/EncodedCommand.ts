/**
 * A command that encodes itself, outside of the passes of dispatches.
 *
 * @internal
 */
import type { CommandLabel } from "../../../domain/arguments/CommandLabel.ts"
import type { OpenDevice } from "../opening/OpenDevice.ts"
import type * as WebGpuHandle from "../WebGpuHandle.ts"

export interface EncodedCommand {
  readonly _tag: "encoded"
  readonly label: CommandLabel
  /** The uniform buffer has the scalars of all dispatches of the flush. */
  readonly encode: (
    encoder: WebGpuHandle.CommandEncoder,
    temporaries: Temporaries,
    uniforms: WebGpuHandle.Buffer | undefined
  ) => void
}

export const command = (label: CommandLabel, encode: EncodedCommand["encode"]): EncodedCommand => ({
  _tag: "encoded",
  label,
  encode
})

/** A buffer full of a pattern, to copy from. */
export interface Pattern {
  readonly buffer: WebGpuHandle.Buffer
  readonly bytes: number
}

/** Textures that one submit needs: they are destroyed after it. */
export class Temporaries {
  readonly #opened: OpenDevice
  readonly #textures: Array<WebGpuHandle.Texture> = []

  constructor(opened: OpenDevice) {
    this.#opened = opened
  }

  add(descriptor: Parameters<WebGpuHandle.Device["createTexture"]>[0]): WebGpuHandle.Texture {
    const texture = this.#opened.device.createTexture(descriptor)
    this.#opened.driverObjects.add("temporary")
    this.#textures.push(texture)
    return texture
  }

  /** To be called when the commands that use them are submitted. */
  destroy(): void {
    for (const texture of this.#textures) {
      texture.destroy()
      this.#opened.driverObjects.remove("temporary")
    }
    this.#textures.length = 0
  }
}

/**
 * Textures that a submit needs and nobody keeps.
 *
 * @internal
 */
import type { DriverObjects } from "../../../domain/device/DriverObjects.ts"
import type * as WebGpuHandle from "../WebGpuHandle.ts"

export class Temporaries {
  readonly #device: WebGpuHandle.Device
  readonly #driverObjects: DriverObjects
  readonly #textures: Array<WebGpuHandle.Texture> = []

  constructor(device: WebGpuHandle.Device, driverObjects: DriverObjects) {
    this.#device = device
    this.#driverObjects = driverObjects
  }

  add(descriptor: Parameters<WebGpuHandle.Device["createTexture"]>[0]): WebGpuHandle.Texture {
    const texture = this.#device.createTexture(descriptor)
    this.#driverObjects.add("temporary")
    this.#textures.push(texture)
    return texture
  }

  /** To be called when the commands that use them are submitted. */
  destroy(): void {
    for (const texture of this.#textures) {
      texture.destroy()
      this.#driverObjects.remove("temporary")
    }
    this.#textures.length = 0
  }
}

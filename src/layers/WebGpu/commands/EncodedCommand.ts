/**
 * A command that encodes itself, outside of the passes of dispatches.
 *
 * @internal
 */
import type { CommandLabel } from "../../../domain/arguments/CommandLabel.ts"
import type { LazyModule } from "../../../services/calls/LazyModule.ts"
import type { DeviceBuffer } from "../../../services/device/DeviceBuffer.ts"
import type { OpenDevice } from "../opening/OpenDevice.ts"
import { gpuOf } from "../WebGpuBuffer.ts"
import type * as WebGpuHandle from "../WebGpuHandle.ts"
import { encodeCopy } from "./ByteCopies.ts"
import type { Run, Scratch } from "./Scratch.ts"

export interface EncodedCommand {
  readonly label: CommandLabel
  /** The uniform buffer has the scalars of all dispatches of the flush. */
  readonly encode: (
    encoder: WebGpuHandle.CommandEncoder,
    temporaries: Temporaries,
    uniforms: WebGpuHandle.Buffer | undefined
  ) => void
}

export const command = (label: CommandLabel, encode: EncodedCommand["encode"]): EncodedCommand => ({ label, encode })

/** A buffer full of a pattern, to copy from. */
export interface Pattern {
  readonly buffer: WebGpuHandle.Buffer
  readonly bytes: number
}

/** What the submits of a queue need besides: textures, which are destroyed after each, and the queue's scratch memory. */
export class Temporaries {
  readonly scratch: LazyModule<Scratch>
  readonly #opened: OpenDevice
  readonly #textures: Array<WebGpuHandle.Texture> = []

  constructor(opened: OpenDevice, scratch: LazyModule<Scratch>) {
    this.#opened = opened
    this.scratch = scratch
  }

  add(descriptor: Parameters<WebGpuHandle.Device["createTexture"]>[0]): WebGpuHandle.Texture {
    const texture = this.#opened.device.createTexture(descriptor)
    this.#opened.driverObjects.add("temporary")
    this.#textures.push(texture)
    return texture
  }

  /** Copies runs between two buffers; together they have `bytes` bytes. Between parts of one GPUBuffer they go through scratch memory. */
  copy(
    encoder: WebGpuHandle.CommandEncoder,
    source: DeviceBuffer,
    target: DeviceBuffer,
    runs: Iterable<Run>,
    bytes: number
  ): void {
    const [here, there] = [gpuOf(source), gpuOf(target)]
    const through = here === there ? this.scratch.value : undefined
    if (through !== undefined) return through.copy(encoder, source, target, runs, bytes)
    for (const [from, to, length] of runs) {
      encodeCopy(encoder, here, source.origin + from, there, target.origin + to, length)
    }
  }

  /** To be called when the commands that use them are submitted. */
  destroy(): void {
    for (const texture of this.#textures) {
      texture.destroy()
      this.#opened.driverObjects.remove("temporary")
    }
    this.#textures.length = 0
    this.scratch.value?.submitted()
  }
}

/**
 * A dispatch, as its queue keeps it until it has ended.
 *
 * @internal
 */
import * as CommandLabel from "../../../domain/arguments/CommandLabel.ts"
import * as ImageFormat from "../../../domain/images/ImageFormat.ts"
import type { DeviceBuffer } from "../../../services/device/DeviceBuffer.ts"
import type { DeviceImage } from "../../../services/device/DeviceImage.ts"
import type { Dispatch, VectorBinding } from "../../../services/device/QueueDriver.ts"
import type { OpenClKernel } from "../kernels/OpenClKernel.ts"
import type { Recording } from "./Recorder.ts"

/** Computes its text only when something failed. */
export class DispatchRecording implements Recording<"clEnqueueNDRangeKernel"> {
  readonly call = "clEnqueueNDRangeKernel"
  readonly timed: Dispatch["timed"]
  readonly #kernel: OpenClKernel
  readonly #vectors: ReadonlyArray<VectorBinding>
  readonly #images: ReadonlyArray<DeviceImage>
  readonly #count: number

  constructor(kernel: OpenClKernel, { count, images, timed, vectors }: Dispatch) {
    this.#kernel = kernel
    this.#vectors = vectors
    this.#images = images
    this.#count = count
    this.timed = timed
  }

  get bytes(): number {
    const imageBytes = this.#images.reduce((sum, { format, shape }) => sum + ImageFormat.imageBytes(format, shape), 0)
    return this.#vectors.reduce((sum, { size }) => sum + size, imageBytes)
  }

  get buffers(): ReadonlyArray<DeviceBuffer> {
    return this.#vectors.map(({ buffer }) => buffer)
  }

  get images(): ReadonlyArray<DeviceImage> {
    return this.#images
  }

  label(): string {
    return CommandLabel.dispatch(this.#kernel.kernel.name, this.#count)
  }
}

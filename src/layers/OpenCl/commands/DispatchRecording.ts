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
import type { Recording } from "./Recorder.ts"

/** Computes what only a failure needs when it is asked. */
export class DispatchRecording implements Recording<"clEnqueueNDRangeKernel"> {
  readonly call = "clEnqueueNDRangeKernel"
  readonly label: CommandLabel.CommandLabel
  readonly timed: Dispatch["timed"]
  readonly images: ReadonlyArray<DeviceImage>
  readonly #vectors: ReadonlyArray<VectorBinding>

  constructor({ compiled, count, images, timed, vectors }: Dispatch) {
    this.label = CommandLabel.dispatch(compiled.kernel.name, count)
    this.images = images
    this.timed = timed
    this.#vectors = vectors
  }

  get bytes(): number {
    const imageBytes = this.images.reduce((sum, { format, shape }) => sum + ImageFormat.imageBytes(format, shape), 0)
    return this.#vectors.reduce((sum, { size }) => sum + size, imageBytes)
  }

  get buffers(): ReadonlyArray<DeviceBuffer> {
    return this.#vectors.map(({ buffer }) => buffer)
  }
}

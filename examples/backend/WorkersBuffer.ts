/** Buffers in memory that all threads see. */
import { DeviceBuffer, type DeviceInfo } from "effect-gpu-pool/backend"

export class WorkersBuffer extends DeviceBuffer.DeviceBuffer {
  readonly memory: SharedArrayBuffer

  constructor(
    owner: DeviceInfo.DeviceInfo,
    memory: SharedArrayBuffer,
    size: number,
    usage: number,
    label: string | undefined,
    part?: DeviceBuffer.Part
  ) {
    super(owner, size, usage, label, part)
    this.memory = memory
  }
}

/**
 * Parts of slabs: leases that share a GPUBuffer.
 *
 * @internal
 */
import { unsupported } from "../../domain/GpuError.ts"
import type { DeviceBuffer } from "../../services/device/DeviceBuffer.ts"
import { gpuOf, WebGpuBuffer } from "./WebGpuBuffer.ts"

/** The error for a handle of a lease that shares its GPUBuffer. */
const sharing = unsupported(
  "WebGpu.handle",
  "webgpu",
  "the GPUBuffer of a part of a slab, which other leases use too",
  "Call WebGpu.binding, which says where the lease begins and how long it is, or use a pool without PoolStrategy.arena."
)

class SlabPart extends WebGpuBuffer {
  override readonly sharing = sharing
}

/** A part that a pool leases, and that ends with it. */
export const partUnsafe = (whole: DeviceBuffer, origin: number, size: number): WebGpuBuffer => {
  const part = { parent: whole, origin, isAlone: true }
  return new SlabPart(whole.owner, size, whole.usage, undefined, gpuOf(whole), { part })
}

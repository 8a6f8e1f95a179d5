/**
 * The images of a device that has none: it lists no formats, so the library calls nothing else of it, except for
 * samplers.
 */
import { Exit } from "effect"
import { GpuError } from "effect-gpu-pool"
import type { ImageDriver } from "effect-gpu-pool/backend"
import { backend } from "./DriverErrors.ts"

const unsupported = GpuError.make(
  new GpuError.Unsupported({ operation: "Images", backend, feature: "an image", hint: "Use buffers." })
)

const refuse = () => Exit.fail(unsupported)

export const noImages: ImageDriver.ImageDriver["Service"] = {
  largest: () => ({ width: 1, height: 1, depth: 1, layers: 1 }),
  formats: () => [],
  create: () => unsupported,
  createFromHost: () => unsupported,
  destroyUnsafe: refuse,
  writeUnsafe: refuse,
  readUnsafe: (_source, _region, answer) => {
    answer(unsupported)
    return () => {}
  },
  fillUnsafe: refuse,
  copyUnsafe: refuse,
  toBufferUnsafe: refuse,
  fromBufferUnsafe: refuse,
  createSampler: refuse,
  destroySamplerUnsafe: refuse
}

/**
 * The description of a small device, for rules that read only the description.
 */
import type { DType } from "../../src/domain/data/DType.ts"
import type { DeviceInfo, ImageLimits } from "../../src/domain/device/DeviceInfo.ts"
import { info } from "./someDevice.ts"

export const describedDevice = (dtypes: ReadonlyArray<DType>, images?: ImageLimits | undefined): DeviceInfo => ({
  ...info,
  backend: "opencl",
  limits: { ...info.limits, maxBufferSize: 1024, maxBindingSize: 1024, maxVectorArguments: 2, images },
  dtypes: new Set(dtypes)
})

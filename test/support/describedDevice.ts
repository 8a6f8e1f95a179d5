/**
 * The description of a small device, for rules that read only the description.
 */
import type { DType } from "../../src/domain/data/DType.ts"
import * as BackendTraits from "../../src/domain/device/BackendTraits.ts"
import type { DeviceInfo, ImageLimits } from "../../src/domain/device/DeviceInfo.ts"
import { language } from "../../src/layers/Host/language/JavaScript.ts"

export const describedDevice = (dtypes: ReadonlyArray<DType>, images?: ImageLimits | undefined): DeviceInfo => ({
  backend: "opencl",
  traits: BackendTraits.make({ language }),
  name: "a device",
  vendor: "",
  driver: "",
  limits: {
    maxBufferSize: 1024,
    maxBindingSize: 1024,
    granularity: 1,
    regionAlignment: 4,
    copyAlignment: 4,
    leastCopyAlignment: 1,
    memoryBytes: undefined,
    defaultMaxBytes: undefined,
    maxWorkgroupSize: 64,
    maxVectorArguments: 2,
    images
  },
  dtypes: new Set(dtypes)
})

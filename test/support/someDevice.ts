/** The description of a device that nobody opens, for tests of what is decided from it. */
import * as BackendTraits from "../../src/domain/device/BackendTraits.ts"
import type { DeviceInfo } from "../../src/domain/device/DeviceInfo.ts"
import { language } from "../../src/layers/Host/language/JavaScript.ts"

export const info: DeviceInfo = {
  backend: "host",
  traits: BackendTraits.make({ language }),
  name: "a device",
  vendor: "",
  driver: "",
  limits: {
    maxBufferSize: 2 ** 40,
    maxBindingSize: 2 ** 40,
    granularity: 1,
    regionAlignment: 4,
    copyAlignment: 4,
    leastCopyAlignment: 1,
    memoryBytes: undefined,
    defaultMaxBytes: undefined,
    maxWorkgroupSize: 64,
    maxVectorArguments: 64
  },
  dtypes: new Set(["f32", "i32", "u32", "f16", "f64"])
}

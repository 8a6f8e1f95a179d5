/**
 * OpenCL's platforms and devices in the list of devices.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import type { ListedDevice } from "../../domain/selection/ListedDevice.ts"
import type { Backend } from "../../services/backend/Backend.ts"
import { sameDevice } from "../../services/backend/SameDevice.ts"
import * as OpenCl from "./OpenCl.ts"
import { driverFacts } from "./OpenClDriverFacts.ts"

export const openClBackend: Backend = {
  name: "opencl",
  list: Effect.map(
    Effect.suspend(() => OpenCl.devices),
    (platforms) => platforms.length === 0 ? [noDriver] : platforms.flatMap(listedOf)
  ),
  rank: ({ type }) => type === "gpu" ? 1 : 2,
  open: (listed, options) =>
    sameDevice(listed, OpenCl.layer({ platform: listed.platform?.index, device: listed.device?.index, ...options })),
  facts: driverFacts
}

const noDriver: ListedDevice = {
  backend: "opencl",
  platform: undefined,
  device: undefined,
  type: undefined,
  driver: "",
  memoryBytes: undefined,
  unusable: "the OpenCL loader finds no platform: no driver is installed"
}

const listedOf = (platform: OpenCl.OpenClPlatform): ReadonlyArray<ListedDevice> => {
  const { index, name, vendor } = platform
  const common = { backend: "opencl" as const, platform: { index, name, vendor } }
  if (platform.devices.length === 0) {
    const unusable = "the platform has no device"
    return [{ ...common, device: undefined, type: undefined, driver: "", memoryBytes: undefined, unusable }]
  }
  return platform.devices.map((device) => ({
    ...common,
    device: { index: device.index, name: device.name, vendor: device.vendor },
    type: device.type,
    driver: `${device.version}, driver ${device.driverVersion}`,
    memoryBytes: device.globalMemoryBytes,
    unusable: device.unusable
  }))
}

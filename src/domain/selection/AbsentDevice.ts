/**
 * The entry in a list of devices with which a backend says why it has no device.
 *
 * @internal
 */
import type { ListedDevice } from "./ListedDevice.ts"

export const absentDevice = (
  backend: string,
  platform: ListedDevice["platform"],
  unusable: string
): ListedDevice => ({
  backend,
  platform,
  device: undefined,
  type: undefined,
  driver: "",
  memoryBytes: undefined,
  unusable
})

/**
 * The entry of a list of devices that says why there is none.
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

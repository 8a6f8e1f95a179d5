/**
 * Mapping in one synchronous step.
 */
import * as Exit from "effect/Exit"
import type { DeviceStatus } from "../../../domain/device/DeviceStatus.ts"
import type { GpuError } from "../../../domain/GpuError.ts"
import { BytesInFlight } from "../../device/BytesInFlight.ts"
import type { DeviceBuffer } from "../../device/DeviceBuffer.ts"
import type { DriverMapping, MapAccess, QueueDriver } from "../../device/QueueDriver.ts"
import { distrustUnverified } from "../../device/UnverifiedMemory.ts"
import { PrivateMapping } from "./PrivateMapping.ts"

/**
 * Maps bytes of a buffer, checked and claimed: in place where the driver can, else a copy.
 */
export const mapUnsafe = (
  driver: QueueDriver["Service"],
  status: DeviceStatus,
  memory: DeviceBuffer,
  { access, bytes, offset }: { readonly access: MapAccess; readonly bytes: number; readonly offset: number }
): Exit.Exit<DriverMapping, GpuError> => {
  const inPlace = driver.mapUnsafe?.(memory, offset, bytes, access) ?? Exit.succeed(undefined)
  const copied = () =>
    new PrivateMapping(status, {
      bytes,
      readUnsafe: (answer) => driver.readUnsafe(memory, offset, bytes, answer),
      writeUnsafe: (data) => {
        const written = driver.writeUnsafe(memory, offset, data)
        BytesInFlight.of(driver).add(data.byteLength)
        return written
      }
    }, access)
  return Exit.map(distrustUnverified(inPlace, memory), (mapping) => mapping ?? copied())
}

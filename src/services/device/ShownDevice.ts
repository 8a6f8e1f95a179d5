/**
 * A device that shows itself in one line.
 *
 * @internal
 */
import { deviceState, inOneLine, showing } from "../../domain/arguments/Showing.ts"
import type { DeviceContext } from "./DeviceContext.ts"

/**
 * Shows a backend's device, which has the driver's handles, as one line.
 */
export const showingDevice = showing<DeviceContext["Service"]>(
  ({ driverObjects, info, status }) =>
    inOneLine("DeviceContext", undefined, [deviceState(status, info), `${driverObjects.live} driver objects live`]),
  "DeviceContext"
)

/**
 * A device with some methods of its drivers replaced.
 */
import * as Context from "effect/Context"
import * as Device from "../../src/services/backend/Device.ts"
import { DeviceContext } from "../../src/services/device/DeviceContext.ts"
import { ImageDriver } from "../../src/services/device/ImageDriver.ts"
import { KernelCache } from "../../src/services/device/KernelCache.ts"
import { QueueDriver } from "../../src/services/device/QueueDriver.ts"

type Queue = QueueDriver["Service"]
type Images = ImageDriver["Service"]

export const withDrivers = <R>(
  services: Context.Context<R | Device.Services>,
  change: {
    readonly queue?: (driver: Queue) => Partial<Queue>
    readonly images?: (driver: Images) => Partial<Images>
  }
): Context.Context<R | Device.Services> => {
  const [queue, images] = [Context.get(services, QueueDriver), Context.get(services, ImageDriver)]
  const changed = Device.fromDrivers({
    device: Context.get(services, DeviceContext),
    cache: Context.get(services, KernelCache),
    queue: { ...queue, ...change.queue?.(queue) },
    images: { ...images, ...change.images?.(images) }
  })
  return Context.merge(services, changed)
}

/**
 * What a migration moves: whole buffers, and images.
 *
 * @internal
 */
import { DeviceBuffer } from "../../../services/device/DeviceBuffer.ts"
import type { DeviceImage } from "../../../services/device/DeviceImage.ts"

/**
 * What to migrate, each once. NVIDIA's driver 580 refuses sub-buffers or ends the process, so a region moves with the
 * buffer that it is a part of; without contents it does not move, since the rest of that buffer must keep its contents.
 */
export const movableWholes = (
  objects: ReadonlyArray<DeviceBuffer | DeviceImage>,
  contentUndefined: boolean
): ReadonlyArray<DeviceBuffer | DeviceImage> => {
  const wholes = new Set<DeviceBuffer | DeviceImage>()
  for (const object of objects) {
    if (!(object instanceof DeviceBuffer) || object.parent === undefined) wholes.add(object)
    else if (!contentUndefined && !object.root.destroyed) wholes.add(object.root)
  }
  return [...wholes]
}

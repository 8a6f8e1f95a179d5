/**
 * What the program does with a mapped buffer or image.
 *
 * @internal
 */
import { type GpuError, invalidRequest } from "../../../domain/GpuError.ts"
import { shown } from "../../../domain/ShownValue.ts"
import type { MapAccess } from "../../device/QueueDriver.ts"

const accesses: ReadonlySet<unknown> = new Set<MapAccess>(["read", "write", "readwrite"])

/** Programs without types can pass anything. */
export const accessProblem = (operation: string, access: MapAccess): GpuError | undefined =>
  accesses.has(access) ? undefined : invalidRequest(
    operation,
    `there is no access ${shown(access)}`,
    `Pass "read", "write" or "readwrite".`
  )

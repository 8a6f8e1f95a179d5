/**
 * What every mapping asks for, of a buffer or of an image: what the program does, and the class of its elements.
 *
 * @internal
 */
import { type GpuError, invalidRequest } from "../../domain/GpuError.ts"
import { shown } from "../../domain/ShownValue.ts"
import type { ElementType } from "../CommandQueue.ts"
import type { MapAccess } from "../QueueDriver.ts"

const accesses: ReadonlySet<unknown> = new Set<MapAccess>(["read", "write", "readwrite"])

/** Programs without types can pass anything. @internal */
export const accessProblem = (operation: string, access: MapAccess): GpuError | undefined =>
  accesses.has(access) ? undefined : invalidRequest(
    operation,
    `access ${shown(access)} is none`,
    `Pass "read", "write" or "readwrite".`
  )

/** @internal */
export const typeProblem = <A extends ArrayBufferView>(
  operation: string,
  type: ElementType<A>
): GpuError | undefined =>
  typeof type === "function" && Number.isInteger(type.BYTES_PER_ELEMENT) ? undefined : invalidRequest(
    operation,
    "the element type is no typed array class",
    "Pass a class such as Float32Array."
  )

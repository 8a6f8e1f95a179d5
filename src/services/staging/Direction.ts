/**
 * Which way the data of a staged array go, and what memory that takes.
 *
 * @since 0.1.0
 */
import { formatted } from "../../domain/arguments/Format.ts"
import * as BufferUsage from "../../domain/BufferUsage.ts"
import type { BackendTraits } from "../../domain/device/BackendTraits.ts"
import { type GpuError, invalidRequest } from "../../domain/GpuError.ts"
import type { MapAccess } from "../device/QueueDriver.ts"

/**
 * Which way the data go: `"upload"` to the device, `"download"` from it, `"both"` either way.
 *
 * @category models
 * @since 0.1.0
 */
export type Direction = "upload" | "download" | "both"

/** The memory of an array of a direction, and what the program does with it while it is mapped. @internal */
export interface DirectionMemory {
  readonly usage: BufferUsage.BufferUsage
  readonly access: MapAccess
  /** Whether commands can copy to it. Where they cannot, a download is a read into the mapped elements. */
  readonly takesCopies: boolean
}

const upload: DirectionMemory = { usage: BufferUsage.upload, access: "write", takesCopies: false }

const download: DirectionMemory = { usage: BufferUsage.download, access: "read", takesCopies: true }

const { copyDst, copySrc, hostMemory } = BufferUsage.flags

/** Memory that the driver maps whatever copies use it. @internal */
export const bothWays: BufferUsage.BufferUsage = hostMemory | copySrc | copyDst

const both: DirectionMemory = { usage: bothWays, access: "readwrite", takesCopies: true }

/** @internal */
export const memoryOf = (
  operation: string,
  direction: Direction,
  bytes: number,
  { stagesBothWays }: Pick<BackendTraits, "stagesBothWays">
): DirectionMemory | GpuError => {
  if (direction === "upload") return upload
  if (direction === "download") return download
  // Memory to upload keeps what the program has stored, and memory of no bytes is of every kind.
  if (direction === "both") return stagesBothWays || bytes === 0 ? both : upload
  return invalidRequest(
    operation,
    `there is no direction ${formatted(direction)}`,
    `Pass "upload", "download" or "both", or leave it out to upload.`
  )
}

/**
 * The interface by which reads use a pool of staging memory: the queue depends on it, and the pool implements it.
 *
 * @internal
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { DeviceInfo } from "../../../domain/device/DeviceInfo.ts"
import type { GpuError } from "../../../domain/GpuError.ts"
import type { DeviceBuffer } from "../../device/DeviceBuffer.ts"

/** The checked bytes of a buffer that are to be read. */
export interface Part {
  readonly memory: DeviceBuffer
  /** Bytes. */
  readonly offset: number
  readonly bytes: number
}

/** Checks a read, and finds its bytes; nothing where there are none. */
export type Check = (operation: string) => Part | GpuError | undefined

/** Runs `f` with staging memory of `bytes` bytes: of a pool, or made for this call where the pool has no room. */
export type UseStaging = <A, E, R>(
  bytes: number,
  f: (staging: DeviceBuffer) => Effect.Effect<A, E, R>
) => Effect.Effect<A, E | GpuError, R>

/** A pool of staging memory, as reads use it. */
export interface StagingMemory {
  /** The device that its memory belongs to. */
  readonly info: DeviceInfo
  readonly use: UseStaging
  /** Reads through its memory. */
  readonly read: (operation: string, check: Check) => Effect.Effect<ArrayBuffer, GpuError>
}

/** The pool of staging memory in context, if there is one. `StagingPool.layer` provides it. */
export const CurrentStagingMemory = Context.Reference<StagingMemory | undefined>("effect-gpu-pool/StagingMemory", {
  defaultValue: () => undefined
})

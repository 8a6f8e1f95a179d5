/**
 * Recording commands: what the queue does for the parts of it that know a kind of command.
 *
 * @internal
 */
import type * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import type { GpuError } from "../../domain/GpuError.ts"
import type { QueueDriver, ReadAnswer } from "../../services/device/QueueDriver.ts"
import type { Pointer } from "./OpenClApi.ts"
import type { Command } from "./RecordedCommands.ts"

/** A command before it is enqueued. */
export interface Recording extends Command {
  /** The OpenCL function. */
  readonly call: string
  /** Bytes of device memory that it needs, for OutOfMemory. */
  readonly bytes: number
}

/** Calls the function, which puts its event where `event` points, and returns its code. */
export type Enqueue = (queue: bigint, event: Pointer) => number

export interface Recorder extends Pick<QueueDriver["Service"], "copyUnsafe"> {
  /** Enqueues a command, which then counts as recorded work: awaited, and told by its label when it fails. */
  record(recording: Recording, enqueue: Enqueue): Exit.Exit<void, GpuError>
  /**
   * As `record`, for a command whose outcome a program needs. The effect waits for it, and fails when it failed, also where
   * another fiber was told so before.
   */
  recordAwaited(recording: Recording, enqueue: Enqueue): Exit.Exit<Effect.Effect<void, GpuError>, GpuError>
  /**
   * As `recordAwaited`, for a command that reads `bytes` bytes into memory of its own. The driver keeps what it reads from until
   * it has ended, also where that is released meanwhile. There is nothing to give up.
   */
  recordRead(
    recording: Recording,
    answer: ReadAnswer,
    enqueue: (queue: bigint, event: Pointer, memory: ArrayBuffer) => number
  ): () => void
  /** As `record`, for a command that gives back what the driver gave: on a lost device too. */
  recordReturn(recording: Recording, enqueue: Enqueue): Exit.Exit<void, GpuError>
}

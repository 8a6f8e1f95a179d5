/**
 * Recording commands: what the queue does for the parts of it that know a kind of command.
 *
 * @internal
 */
import type * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as CommandLabel from "../../../domain/arguments/CommandLabel.ts"
import type { GpuError } from "../../../domain/GpuError.ts"
import * as ImageFormat from "../../../domain/images/ImageFormat.ts"
import type { Dispatch, QueueDriver, ReadAnswer } from "../../../services/device/QueueDriver.ts"
import type { OpenClApi, Pointer } from "../OpenClApi.ts"
import type { Command } from "./RecordedCommands.ts"

/** Nothing waits in the driver. */
export const CL_NON_BLOCKING = 0

/** A command before it is enqueued. */
export interface Recording<Call extends string = string> extends Command {
  /** The OpenCL function. */
  readonly call: Call
  /** Bytes of device memory that it needs, for OutOfMemory. */
  readonly bytes: number
}

/** Calls the function, which puts its event where `event` points, and returns its code. */
export type Enqueue = (queue: bigint, event: Pointer) => number

/** The functions that enqueue a command and return a code: those that map return an address. */
export type Enqueuing = Exclude<Extract<keyof OpenClApi, `clEnqueue${string}`>, `clEnqueueMap${string}`>

/** What such a function takes between the queue and the events. */
export type ArgumentsOf<Call extends Enqueuing> = Parameters<OpenClApi[Call]> extends
  readonly [queue: bigint, ...between: infer Between, waitCount: number, waitList: Pointer, event: Pointer] ? Between
  : never

/** The same without the memory that it reads into, which is last. */
export type ReadArgumentsOf<Call extends Enqueuing> = ArgumentsOf<Call> extends
  readonly [...before: infer Before, memory: Pointer] ? Before : never

export interface Recorder extends Pick<QueueDriver["Service"], "copyUnsafe"> {
  /** Enqueues a command as recorded work: a finish waits for it, and its failure has its label. */
  record(recording: Recording, enqueue: Enqueue): Exit.Exit<void, GpuError>
  /** As `record`, by the function that the recording names. */
  enqueue<Call extends Enqueuing>(recording: Recording<Call>, ...args: ArgumentsOf<Call>): Exit.Exit<void, GpuError>
  /**
   * As `record`, for a command whose outcome a program needs. The effect waits for it, and fails when it failed, even
   * where another fiber has already got that failure.
   */
  recordAwaited(recording: Recording, enqueue: Enqueue): Exit.Exit<Effect.Effect<void, GpuError>, GpuError>
  /**
   * As `enqueue`, for one or more commands that read `bytes` bytes into the same memory, each with what it takes. The
   * driver keeps the memory that it reads until a command has ended, even when that is released meanwhile. The returned
   * function does nothing: a read cannot be cancelled.
   */
  enqueueReads<Call extends Enqueuing>(
    recording: Recording<Call>,
    answer: ReadAnswer,
    reads: ReadonlyArray<ReadArgumentsOf<Call>>
  ): () => void
  /** As `record`, for a command that returns memory to the driver: it is enqueued on a lost device too. */
  recordReturn(recording: Recording, enqueue: Enqueue): Exit.Exit<void, GpuError>
}

/** A dispatch. What only a failure needs is computed when it is asked. */
export const dispatchRecording = (
  { compiled, count, images, range, timed, vectors }: Dispatch
): Recording<"clEnqueueNDRangeKernel"> => ({
  call: "clEnqueueNDRangeKernel",
  label: CommandLabel.dispatch(compiled.kernel.name, count, range),
  timed,
  images,
  get bytes() {
    const imageBytes = images.reduce((sum, { format, shape }) => sum + ImageFormat.imageBytes(format, shape), 0)
    return vectors.reduce((sum, { size }) => sum + size, imageBytes)
  },
  get buffers() {
    return vectors.map(({ buffer }) => buffer)
  }
})

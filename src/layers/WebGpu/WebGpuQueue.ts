/**
 * The queue of a WebGPU device: records commands, submits them in flushes, and follows each flush's errors.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Scope from "effect/Scope"
import * as CommandLabel from "../../domain/CommandLabel.ts"
import { type GpuError, LimitExceeded, make as makeError } from "../../domain/GpuError.ts"
import type { DeviceBuffer } from "../../services/DeviceBuffer.ts"
import { commandsPerFlush, type Dispatch, type QueueDriver } from "../../services/QueueDriver.ts"
import { awaitDevice } from "./AwaitDevice.ts"
import * as Commands from "./Commands.ts"
import { inScopes } from "./ErrorScopes.ts"
import { FillPattern } from "./FillPattern.ts"
import type { OpenDevice } from "./OpenDevice.ts"
import * as Readback from "./Readback.ts"
import { UniformRing } from "./UniformRing.ts"
import { gpuOf } from "./WebGpuBuffer.ts"
import type { WebGpuKernel } from "./WebGpuKernel.ts"
import { maxDispatchItems, workgroups, writeScalars } from "./WgslSource.ts"

/** @internal */
export const make = (opened: OpenDevice): Effect.Effect<QueueDriver, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => new WebGpuQueue(opened)),
      (queue) => Effect.sync(() => queue.close())
    ),
    (queue): QueueDriver => ({
      writeUnsafe: (target, offset, data) => queue.write(target, offset, data),
      copyUnsafe: (source, sourceOffset, target, targetOffset, bytes) =>
        queue.copy(source, sourceOffset, target, targetOffset, bytes),
      fillUnsafe: (target, offset, bytes, pattern) => queue.fill(target, offset, bytes, pattern),
      dispatchUnsafe: (dispatch) => queue.dispatch(dispatch),
      flushUnsafe: () => queue.flush(),
      read: (source, offset, bytes) => queue.read(source, offset, bytes),
      finish: queue.finish,
      touch: () => Effect.void,
      reclaim: queue.reclaim
    })
  )

class WebGpuQueue {
  readonly #opened: OpenDevice
  readonly #device: GPUDevice
  readonly #uniforms: UniformRing
  readonly #pattern: FillPattern
  readonly #largestGrid: number
  #commands: Array<Commands.Command> = []

  constructor(opened: OpenDevice) {
    this.#opened = opened
    this.#device = opened.device
    this.#uniforms = new UniformRing(opened.device, opened.driverObjects)
    this.#pattern = new FillPattern(opened.device, opened.driverObjects)
    this.#largestGrid = opened.device.limits.maxComputeWorkgroupsPerDimension
  }

  /**
   * Recorded work is submitted first, since the device does a write when it is called. WebGPU writes multiples of 4
   * bytes: the last ones go through a padded word.
   */
  write(target: DeviceBuffer, offset: number, data: Uint8Array<ArrayBuffer>): Exit.Exit<void, GpuError> {
    const flushed = this.flush()
    if (Exit.isFailure(flushed)) return flushed
    const whole = data.byteLength - data.byteLength % 4
    const scopes = inScopes(this.#device, () => {
      const buffer = gpuOf(target)
      if (whole > 0) this.#device.queue.writeBuffer(buffer, offset, data, 0, whole)
      if (whole < data.byteLength) {
        const last = new Uint8Array(4)
        last.set(data.subarray(whole))
        this.#device.queue.writeBuffer(buffer, offset + whole, last)
      }
    })
    const [bytes, name] = [data.byteLength, target.label]
    this.#opened.failures.follow("GPUQueue.writeBuffer", scopes, () => [CommandLabel.write(bytes, name)])
    return Exit.void
  }

  copy(
    source: DeviceBuffer,
    sourceOffset: number,
    target: DeviceBuffer,
    targetOffset: number,
    bytes: number
  ): Exit.Exit<void, GpuError> {
    const names = { sourceName: source.label, targetName: target.label }
    return this.record({ _tag: "copy", source, sourceOffset, target, targetOffset, bytes, ...names })
  }

  fill(target: DeviceBuffer, offset: number, bytes: number, pattern: number): Exit.Exit<void, GpuError> {
    const fill = { _tag: "fill", target, targetName: target.label, offset, bytes } as const
    if (pattern === 0) return this.record({ ...fill, pattern: undefined })
    if (this.#pattern.known(pattern, bytes) === undefined) {
      const flushed = this.flush()
      if (Exit.isFailure(flushed)) return flushed
      const scopes = inScopes(this.#device, () => this.#pattern.write(pattern, bytes))
      this.#opened.failures.follow("GPUQueue.writeBuffer", scopes, () => {
        this.#distrust()
        return ["the pattern of a fill"]
      })
    }
    return this.record({ ...fill, pattern: this.#pattern.known(pattern, bytes) })
  }

  dispatch(dispatch: Dispatch): Exit.Exit<void, GpuError> {
    const error = this.#opened.status.error
    if (error !== undefined) return Exit.fail(error)
    const kernel = dispatch.compiled as WebGpuKernel
    const { workgroupSize } = kernel.kernel
    const groups = workgroups(dispatch.count, workgroupSize, this.#largestGrid)
    if (groups === undefined) {
      return Exit.fail(makeError(
        new LimitExceeded({
          operation: "CommandQueue.dispatch",
          requested: dispatch.count,
          limitName: "maxDispatchItems",
          limit: maxDispatchItems(workgroupSize, this.#largestGrid)
        })
      ))
    }
    const { members, uniformBytes } = kernel.source
    const uniformOffset = this.#uniforms.add(uniformBytes)
    writeScalars(this.#uniforms.view, uniformOffset, members, dispatch)
    const { count, vectors } = dispatch
    return this.record({ _tag: "dispatch", kernel, vectors, count, groups, uniformOffset })
  }

  record(command: Commands.Command): Exit.Exit<void, GpuError> {
    const error = this.#opened.status.error
    if (error !== undefined) return Exit.fail(error)
    if (this.#commands.push(command) === 1) queueMicrotask(this.#endOfTurn)
    return this.#commands.length < commandsPerFlush ? Exit.void : this.flush()
  }

  flush(): Exit.Exit<void, GpuError> {
    const error = this.#opened.status.error
    if (error !== undefined) return Exit.fail(error)
    if (this.#commands.length === 0) return Exit.void
    const commands = this.#commands
    this.#commands = []
    const scopes = inScopes(this.#device, () => {
      const uniforms = this.#uniforms.upload()
      const encoder = this.#device.createCommandEncoder()
      Commands.encode(encoder, commands, uniforms)
      this.#device.queue.submit([encoder.finish()])
    })
    // Flushes pile up until somebody waits; their commands' arguments need not.
    const names = commands.map(Commands.name)
    this.#opened.failures.follow("GPUQueue.submit", scopes, () => {
      this.#distrust()
      return names.map(Commands.label)
    })
    return Exit.void
  }

  read(source: DeviceBuffer, offset: number, bytes: number): Effect.Effect<ArrayBuffer, GpuError> {
    const submitted = Effect.suspend(() => this.flush())
    const copied = Effect.andThen(submitted, Readback.read(this.#opened, source, offset, bytes))
    return Effect.tap(copied, this.#recorded)
  }

  get finish(): Effect.Effect<void, GpuError> {
    return Effect.andThen(Effect.suspend(() => this.flush()), Effect.andThen(this.#worked, this.#recorded))
  }

  /** Dawn gives destroyed memory back when a submit that came after the destroy completes. */
  get reclaim(): Effect.Effect<void, GpuError> {
    return Effect.suspend(() => {
      const flushed = this.flush()
      if (Exit.isFailure(flushed)) return flushed
      this.#device.queue.submit([])
      return this.#worked
    })
  }

  /** What was recorded and never submitted is dropped: its buffers go with the device. */
  close(): void {
    this.#commands = []
    this.#uniforms.reset()
    this.#pattern.reset()
  }

  /**
   * A microtask runs when the synchronous step that recorded the first command is over: all that a fiber records
   * without waiting goes into one submit. It never outlives the turn, so it neither keeps the process alive nor meets a
   * closed device.
   */
  readonly #endOfTurn = (): void => {
    this.flush()
  }

  readonly #worked = Effect.suspend(() =>
    awaitDevice<void>({
      status: this.#opened.status,
      call: "GPUQueue.onSubmittedWorkDone",
      start: async () => {
        await this.#device.queue.onSubmittedWorkDone()
        return Exit.void
      }
    })
  )

  /** Fails with what went wrong in earlier flushes and writes. */
  readonly #recorded = Effect.suspend(() =>
    Effect.flatMap(
      awaitDevice<void>({
        status: this.#opened.status,
        call: "GPUDevice.popErrorScope",
        start: async () => {
          await this.#opened.failures.settled()
          return Exit.void
        }
      }),
      () => this.#opened.failures.take() ?? Effect.void
    )
  )

  /**
   * What a failed flush made or used may be invalid itself, so the next one starts afresh; commands recorded meanwhile
   * may name the old pattern and go first. Kept bind groups name the old uniform buffer and no longer match.
   */
  #distrust(): void {
    this.flush()
    this.#uniforms.reset()
    this.#pattern.reset()
  }
}

/**
 * Commands on shared virtual memory by address, recorded as all other commands.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { listOf, optionsProblem } from "../../../domain/ArgumentProblem.ts"
import * as BufferUsage from "../../../domain/BufferUsage.ts"
import * as BytePattern from "../../../domain/BytePattern.ts"
import * as CommandLabel from "../../../domain/CommandLabel.ts"
import { type GpuError, invalidRequest, isGpuError } from "../../../domain/GpuError.ts"
import * as HostData from "../../../domain/HostData.ts"
import * as KnownOptions from "../../../domain/KnownOptions.ts"
import { shown } from "../../../domain/ShownValue.ts"
import type * as BufferLike from "../../../services/buffers/BufferLike.ts"
import { distrustUnproven } from "../../../services/device/UnprovenMemory.ts"
import type { OpenCl } from "../OpenCl.ts"
import { useOpened } from "../UseOpened.ts"
import { unsupported } from "./SvmCapabilities.ts"
import type { SvmMemory } from "./SvmMemory.ts"
import { rangeProblem, usableTargetOf } from "./SvmTarget.ts"

/**
 * The range of a buffer that {@link fill} sets, in bytes.
 *
 * @category models
 * @since 0.1.0
 */
export interface FillOptions {
  /** Where to start: a multiple of the pattern's bytes, 0 without it. */
  readonly offset?: number | undefined
  /** A multiple of the pattern's bytes; up to the end of the buffer without it. */
  readonly size?: number | undefined
}

/**
 * The ranges between which {@link copy} copies, in bytes. They need no alignment.
 *
 * @category models
 * @since 0.1.0
 */
export interface CopyOptions {
  /** Where to start in the source, 0 without it. */
  readonly sourceOffset?: number | undefined
  /** Where to start in the target, 0 without it. */
  readonly targetOffset?: number | undefined
  /** Up to the end of the source without it. */
  readonly size?: number | undefined
}

/**
 * Where {@link migrate} moves memory to.
 *
 * @category models
 * @since 0.1.0
 */
export interface MigrateOptions {
  /** `"device"` without it. */
  readonly to?: "device" | "host" | undefined
  /** The contents need not be kept, which saves the transfer. */
  readonly contentUndefined?: boolean | undefined
}

const knownOfFill = KnownOptions.of<FillOptions>({ offset: true, size: true })
const knownOfCopy = KnownOptions.of<CopyOptions>({ sourceOffset: true, targetOffset: true, size: true })
const knownOfMigrate = KnownOptions.of<MigrateOptions>({ to: true, contentUndefined: true })

const CL_MIGRATE_MEM_OBJECT_HOST = 1
const CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED = 2
const CL_NON_BLOCKING = 0

/**
 * Repeats a pattern of 1, 2, 4, 8, 16, 32, 64 or 128 bytes over a buffer in shared virtual memory, or over a range of
 * it. The pattern is copied before the effect completes.
 *
 * Fails with InvalidRequest for another pattern, a range that is no multiple of the pattern or is outside the buffer, a
 * mapped buffer, or a usage without `copyDst`; with Unsupported, Released, ForeignDevice, DeviceLost or DriverError.
 *
 * **Example** (Setting each element to one double)
 *
 * ```ts
 * import type { PooledBuffer } from "effect-gpu-pool"
 * import { Svm } from "effect-gpu-pool/opencl"
 *
 * const ones = (x: PooledBuffer.PooledBuffer) => Svm.fill(x, Float64Array.of(1))
 * ```
 *
 * @see pyopencl.enqueue_svm_memfill, which fills the whole allocation whatever part is asked for
 * @category commands
 * @since 0.1.0
 */
export const fill = (
  buffer: BufferLike.BufferLike,
  pattern: HostData.HostData,
  options?: FillOptions
): Effect.Effect<void, GpuError, OpenCl> =>
  useOpened(
    "Svm.fill",
    ({ svm }) => optionsProblem("Svm.fill", options, knownOfFill) ?? fillOn(svm, buffer, pattern, options ?? {})
  )

const fillOn = (
  svm: SvmMemory,
  buffer: BufferLike.BufferLike,
  pattern: HostData.HostData,
  options: FillOptions
): Exit.Exit<void, GpuError> | GpuError => {
  const operation = "Svm.fill"
  const target = usableTargetOf(svm, operation, buffer, BufferUsage.copyDst)
  if (isGpuError(target)) return target
  const bytes = HostData.bytes(operation, pattern, "pattern")
  if (isGpuError(bytes)) return bytes
  const noPattern = BytePattern.sizeProblem(operation, bytes)
  if (noPattern !== undefined) return noPattern
  const offset = options.offset ?? 0
  const size = options.size ?? buffer.size - offset
  const problem = rangeProblem(operation, buffer.size, offset, size, bytes.byteLength)
  if (problem !== undefined) return problem
  if (target === undefined || size === 0) return Exit.void
  const copied = new Uint8Array(new ArrayBuffer(bytes.byteLength))
  copied.set(bytes)
  const { label } = buffer
  const recorded = svm.queue.record(
    {
      call: "clEnqueueSVMMemFill",
      bytes: size,
      label: () => CommandLabel.fill(size, label),
      memory: copied.buffer,
      buffers: [target.buffer]
    },
    (queue, event) =>
      svm.device.api.clEnqueueSVMMemFill(
        queue,
        target.address + BigInt(offset),
        copied,
        copied.byteLength,
        size,
        0,
        null,
        event
      )
  )
  return distrustUnproven(recorded, target.buffer)
}

/**
 * Copies bytes between two buffers in shared virtual memory, or within one where the ranges do not overlap. (To and
 * from other buffers `CommandQueue.copy` copies, to and from arrays of the program `CommandQueue.write` and `read`.)
 *
 * Fails with InvalidRequest for ranges that overlap or are outside their buffers, a mapped buffer, or a usage without
 * `copySrc` and `copyDst`; with Unsupported, Released, ForeignDevice, DeviceLost or DriverError.
 *
 * **Example** (The second half over the first)
 *
 * ```ts
 * import type { PooledBuffer } from "effect-gpu-pool"
 * import { Svm } from "effect-gpu-pool/opencl"
 *
 * const fold = (x: PooledBuffer.PooledBuffer) => Svm.copy(x, x, { sourceOffset: x.size / 2, size: x.size / 2 })
 * ```
 *
 * @see pyopencl.enqueue_copy, for SVM
 * @category commands
 * @since 0.1.0
 */
export const copy = (
  source: BufferLike.BufferLike,
  target: BufferLike.BufferLike,
  options?: CopyOptions
): Effect.Effect<void, GpuError, OpenCl> =>
  useOpened(
    "Svm.copy",
    ({ svm }) => optionsProblem("Svm.copy", options, knownOfCopy) ?? copyOn(svm, source, target, options ?? {})
  )

const copyOn = (
  svm: SvmMemory,
  source: BufferLike.BufferLike,
  target: BufferLike.BufferLike,
  options: CopyOptions
): Exit.Exit<void, GpuError> | GpuError => {
  const operation = "Svm.copy"
  const from = usableTargetOf(svm, operation, source, BufferUsage.copySrc)
  if (isGpuError(from)) return from
  const to = usableTargetOf(svm, operation, target, BufferUsage.copyDst)
  if (isGpuError(to)) return to
  const sourceOffset = options.sourceOffset ?? 0
  const targetOffset = options.targetOffset ?? 0
  const bytes = options.size ?? source.size - sourceOffset
  const problem = rangeProblem(operation, source.size, sourceOffset, bytes, 1, "sourceOffset") ??
    rangeProblem(operation, target.size, targetOffset, bytes, 1, "targetOffset")
  if (problem !== undefined) return problem
  if (from === undefined || to === undefined || bytes === 0) return Exit.void
  const first = from.address + BigInt(sourceOffset)
  const second = to.address + BigInt(targetOffset)
  const distance = first < second ? second - first : first - second
  if (distance < BigInt(bytes)) {
    return invalidRequest(
      operation,
      `the ${bytes} bytes from ${sourceOffset} and those from ${targetOffset} overlap`,
      "Copy ranges that do not overlap, or go through a second buffer."
    )
  }
  const [sourceLabel, targetLabel] = [source.label, target.label]
  const recorded = svm.queue.record(
    {
      call: "clEnqueueSVMMemcpy",
      bytes,
      label: () => CommandLabel.copy(bytes, sourceLabel, targetLabel),
      buffers: [from.buffer, to.buffer]
    },
    (queue, event) => svm.device.api.clEnqueueSVMMemcpy(queue, CL_NON_BLOCKING, second, first, bytes, 0, null, event)
  )
  return distrustUnproven(recorded, from.buffer, to.buffer)
}

/**
 * Moves buffers in shared virtual memory to where they will be used next, ahead of time. Contents stay, unless they are
 * said to be undefined. Needs OpenCL 2.1; else the answer is Unsupported.
 *
 * Fails with InvalidRequest for a mapped buffer or one that is not in shared virtual memory; with Released,
 * ForeignDevice, DeviceLost or DriverError.
 *
 * **Example** (Results on their way before they are needed)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { CommandQueue } from "effect-gpu-pool"
 * import type { PooledBuffer } from "effect-gpu-pool"
 * import { Svm } from "effect-gpu-pool/opencl"
 *
 * const fetch = (results: ReadonlyArray<PooledBuffer.PooledBuffer>) =>
 *   Effect.andThen(Svm.migrate(results, { to: "host" }), CommandQueue.flush)
 * ```
 *
 * @see pyopencl.enqueue_svm_migratemem
 * @category commands
 * @since 0.1.0
 */
export const migrate = (
  buffers: ReadonlyArray<BufferLike.BufferLike>,
  options?: MigrateOptions
): Effect.Effect<void, GpuError, OpenCl> =>
  useOpened(
    "Svm.migrate",
    ({ svm }) => optionsProblem("Svm.migrate", options, knownOfMigrate) ?? migrateOn(svm, buffers, options ?? {})
  )

const migrateOn = (
  svm: SvmMemory,
  buffers: ReadonlyArray<BufferLike.BufferLike>,
  options: MigrateOptions
): Exit.Exit<void, GpuError> | GpuError => {
  const operation = "Svm.migrate"
  const { to = "device" } = options
  if (to !== "device" && to !== "host") {
    return invalidRequest(operation, `to ${shown(to)} is no place`, `Pass "device" or "host".`)
  }
  const targets = []
  const listed = listOf(operation, "buffers", buffers)
  if (isGpuError(listed)) return listed
  for (const buffer of listed) {
    const target = usableTargetOf(svm, operation, buffer, 0)
    if (isGpuError(target)) return target
    if (target !== undefined) targets.push(target)
  }
  if (!svm.capabilities.migrates) {
    return unsupported(operation, "moving shared virtual memory", "It came with OpenCL 2.1. Leave it out.")
  }
  if (targets.length === 0) return Exit.void
  const addresses = new BigUint64Array(new ArrayBuffer(8 * targets.length))
  const sizes = new BigUint64Array(new ArrayBuffer(8 * targets.length))
  for (const [index, { address, owner }] of targets.entries()) {
    addresses[index] = address
    sizes[index] = BigInt(owner.size)
  }
  const labels = targets.map(({ owner }) => owner.label)
  const flags = (to === "host" ? CL_MIGRATE_MEM_OBJECT_HOST : 0) |
    (options.contentUndefined === true ? CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED : 0)
  const used = targets.map(({ buffer }) => buffer)
  const recorded = svm.queue.record(
    {
      call: "clEnqueueSVMMigrateMem",
      bytes: targets.reduce((sum, { owner }) => sum + owner.size, 0),
      label: () => labels.map(CommandLabel.touch).join(", "),
      buffers: used
    },
    (queue, event) =>
      svm.device.api.clEnqueueSVMMigrateMem(queue, targets.length, addresses, sizes, flags, 0, null, event)
  )
  return distrustUnproven(recorded, ...used)
}

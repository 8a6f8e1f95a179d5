/**
 * Arguments of a dispatch, checked and bound as a driver takes them.
 *
 * @internal
 */
import { attempt } from "../../domain/arguments/ArgumentProblem.ts"
import { formatted, withArticle } from "../../domain/arguments/Format.ts"
import * as BufferUsage from "../../domain/BufferUsage.ts"
import { overlaps } from "../../domain/data/MemorySpan.ts"
import * as ValueType from "../../domain/data/ValueType.ts"
import type { DeviceInfo } from "../../domain/device/DeviceInfo.ts"
import { type GpuError, invalidRequest, isGpuError, limitExceeded } from "../../domain/GpuError.ts"
import { fixed, type Kernel } from "../../domain/kernel/Kernel.ts"
import type { ImageArg, KernelArgument, ScalarArg, VectorArg } from "../../domain/kernel/KernelArgument.ts"
import type * as Workgroup from "../../domain/kernel/Workgroup.ts"
import type * as BufferLike from "../buffers/BufferLike.ts"
import * as BufferMemory from "../buffers/BufferMemory.ts"
import { DeviceBuffer } from "../device/DeviceBuffer.ts"
import type { DeviceImage } from "../device/DeviceImage.ts"
import { EmptyBuffer } from "../device/EmptyBuffer.ts"
import type { VectorBinding } from "../device/QueueDriver.ts"
import * as ImageArguments from "../images/ImageArguments.ts"
import type { ArgumentValue, OffsetBuffer } from "./DispatchArguments.ts"
import { type DispatchRange, rangeOf } from "./DispatchRange.ts"

/**
 * Checked arguments in the kernel's order, as a queue driver takes them.
 */
export interface BoundArguments extends ImageArguments.BoundImages, DispatchRange {
  readonly vectors: ReadonlyArray<VectorBinding>
  readonly scalars: ReadonlyArray<ValueType.HeldValue>
}

const operation = "CommandQueue.dispatch"

/** What a dispatch needs to know of a kernel besides its list of arguments; computed once per kernel. */
interface Shape {
  /** The kernel as it was at its first use. */
  readonly kernel: Kernel
  readonly vectors: ReadonlyArray<VectorArg>
  /** The arguments that bind memory: the vectors, then the images. */
  readonly memory: ReadonlyArray<VectorArg | ImageArg>
  /** Indices of the itemwise vectors among {@link vectors}. */
  readonly itemwise: ReadonlyArray<number>
  /** Whether there are images or samplers. */
  readonly hasImages: boolean
}

const shapes = new WeakMap<Kernel, Shape>()

const shapeOf = (given: Kernel): Shape => {
  const known = shapes.get(given)
  if (known !== undefined) return known
  const kernel = fixed(given)
  const vectors = kernel.args.filter((argument) => argument._tag === "VectorArg")
  const shape = {
    kernel,
    vectors,
    memory: [...vectors, ...kernel.args.filter((argument) => argument._tag === "ImageArg")],
    itemwise: vectors.flatMap(({ name }, index) => kernel.itemwise.includes(name) ? [index] : []),
    hasImages: kernel.args.some(({ _tag }) => _tag === "ImageArg" || _tag === "SamplerArg")
  }
  shapes.set(given, shape)
  return shape
}

/**
 * Checks the arguments of a dispatch and puts them in order. The kernel's definition was checked before. Every dispatch
 * runs this, so it loops over the arguments once, and a second time only for images.
 */
export const bind = (
  given: Kernel,
  args: Readonly<Record<string, ArgumentValue>>,
  items: Workgroup.Range,
  device: BufferMemory.Device
): BoundArguments | GpuError => {
  const shape = shapeOf(given)
  const { kernel } = shape
  const bounds = rangeOf(kernel, items, device.info)
  if (isGpuError(bounds)) return bounds
  const { count, range } = bounds
  const vectors: Array<VectorBinding> = []
  const scalars: Array<ValueType.HeldValue> = []
  const memory: Array<DeviceBuffer | DeviceImage> = []
  for (const argument of kernel.args) {
    const value = args[argument.name]
    if (argument._tag === "ScalarArg") {
      const held = holdScalar(argument, value)
      if (isGpuError(held)) return held
      scalars.push(held)
    } else if (argument._tag === "VectorArg") {
      const bound = bindVector(argument, value, count, device)
      if (isGpuError(bound)) return bound
      vectors.push(bound)
      memory.push(bound.buffer)
    }
  }
  const bound = shape.hasImages
    ? ImageArguments.bind(kernel, args, device.info, device.status.error)
    : ImageArguments.none
  if (isGpuError(bound)) return bound
  const { images, samplers } = bound
  if (shape.hasImages) memory.push(...images)
  return aliasProblem(shape.memory, memory) ??
    itemsProblem(shape, vectors, count) ?? { vectors, scalars, images, samplers, count, range }
}

const missingProblem = ({ name }: KernelArgument, what: string): GpuError =>
  invalidRequest(operation, `argument "${name}" is missing`, `Pass ${what} by that name.`)

const holdScalar = (argument: ScalarArg, value: unknown): ValueType.HeldValue | GpuError => {
  const { element, length } = ValueType.partsOf(argument.dtype)
  if (value === undefined) {
    const type = withArticle(argument.dtype)
    const wanted = ValueType.wanted(element)
    return missingProblem(argument, length === 1 ? `${wanted}, ${type},` : `${type}, an array of ${length},`)
  }
  if (length !== 1) return holdVector(argument, element, length, value)
  return ValueType.holds(element, value) ? ValueType.rounded(element, value) : invalidRequest(
    operation,
    `argument "${argument.name}" is ${formatted(value)}, no ${argument.dtype}`,
    `Pass ${ValueType.wanted(element)}.`
  )
}

/** A copy, since the program may change its array before the dispatch runs. */
const holdVector = (
  { dtype, name }: ScalarArg,
  element: ValueType.Parts["element"],
  length: number,
  value: unknown
): ValueType.HeldValue | GpuError => {
  const lanes = lanesOf(value)
  if (lanes?.length !== length) {
    return invalidRequest(
      operation,
      lanes === undefined
        ? `argument "${name}" is ${formatted(value)}, no ${dtype}`
        : `argument "${name}" has ${formatted(lanes.length)} elements, and a ${dtype} has ${length}`,
      `Pass an array or a typed array of ${length}, each ${ValueType.wanted(element)}.`
    )
  }
  const held: Array<number | bigint> = []
  for (let lane = 0; lane < length; lane++) {
    const one = lanes[lane]
    if (!ValueType.holds(element, one)) {
      return invalidRequest(
        operation,
        `element ${lane} of argument "${name}", a ${dtype}, is ${formatted(one)}`,
        `Pass ${ValueType.wanted(element)}.`
      )
    }
    held.push(ValueType.rounded(element, one) as number | bigint)
  }
  return Object.freeze(held)
}

const lanesOf = (value: unknown): ArrayLike<unknown> | undefined =>
  typeof value === "object" && value !== null && "length" in value ? value as ArrayLike<unknown> : undefined

const viewOf = (value: BufferLike.BufferLike | OffsetBuffer): OffsetBuffer =>
  "buffer" in value ? value : { buffer: value, offset: 0 }

const bindVector = (
  argument: VectorArg,
  value: ArgumentValue | undefined,
  count: number,
  device: BufferMemory.Device
): VectorBinding | GpuError => {
  if (value === undefined) return missingProblem(argument, "a lease")
  const { buffer, offset } = viewOf(value as BufferLike.BufferLike | OffsetBuffer)
  let memory: DeviceBuffer | undefined
  try {
    memory = BufferMemory.use(operation, buffer, device, BufferUsage.storage)
  } catch (thrown) {
    // The same problem with the argument's name, which is built only when the dispatch fails.
    const named = `${operation}, argument "${argument.name}"`
    const problem = attempt(() => BufferMemory.use(named, buffer, device, BufferUsage.storage))
    if (isGpuError(problem)) return problem
    throw thrown
  }
  const { info } = device
  const problem = accessProblem(argument, buffer) ?? sizeProblem(argument, buffer, offset, count, info)
  if (problem !== undefined) return problem
  // No driver gets an empty buffer: one without an element can be bound only for 0 items.
  const bound = memory ?? new EmptyBuffer(info, buffer.usage, buffer.label)
  return originProblem(argument, bound) ?? { buffer: bound, size: buffer.size, offset }
}

/**
 * Elements must be aligned to their own size. Where a device aligns sub-regions to less, only this check finds a wrong
 * offset.
 */
const originProblem = ({ dtype, name }: VectorArg, { origin }: DeviceBuffer): GpuError | undefined =>
  origin % ValueType.elementBytes(dtype) === 0 ? undefined : invalidRequest(
    operation,
    `argument "${name}" is a sub-region from byte ${origin} on, where no ${dtype} can begin`,
    `Begin the sub-region at a multiple of ${ValueType.elementBytes(dtype)} bytes.`
  )

const accessProblem = (argument: VectorArg, buffer: BufferLike.BufferLike): GpuError | undefined => {
  const forbidden = argument.access !== "read" && BufferUsage.has(buffer.usage, BufferUsage.kernelReadOnly)
    ? "kernelReadOnly"
    : argument.access !== "write" && BufferUsage.has(buffer.usage, BufferUsage.kernelWriteOnly)
    ? "kernelWriteOnly"
    : undefined
  return forbidden === undefined ? undefined : invalidRequest(
    operation,
    `argument "${argument.name}" has access "${argument.access}", but the buffer is ${forbidden}`,
    "Allocate the buffer without that flag, or declare the argument's access."
  )
}

const sizeProblem = (
  argument: VectorArg,
  buffer: BufferLike.BufferLike,
  offset: number,
  count: number,
  info: DeviceInfo
): GpuError | undefined => {
  const itemSize = ValueType.elementBytes(argument.dtype)
  // For 0 items nothing runs and nothing is bound, so any buffer is allowed.
  if (count > 0 && buffer.size < itemSize) {
    return invalidRequest(
      operation,
      `argument "${argument.name}" is a buffer of ${buffer.size} bytes, which holds no ${argument.dtype}`,
      "Allocate at least one element, or dispatch 0 items: an empty buffer cannot be bound."
    )
  }
  // Bodies get lengths as unsigned 32-bit numbers. A buffer of small elements can have more elements than that within
  // the device's limit.
  const limit = Math.min(info.limits.maxBindingSize, 0xffffffff * itemSize)
  if (buffer.size > limit) {
    return limitExceeded({
      operation: `${operation}, argument "${argument.name}"`,
      requested: buffer.size,
      limitName: "maxBindingSize",
      limit,
      owner: { kind: "device", name: info.name }
    })
  }
  if (!argument.withOffset && offset !== 0) {
    return invalidRequest(
      operation,
      `argument "${argument.name}" is not declared withOffset`,
      "Declare it so, or pass the buffer itself."
    )
  }
  const elements = Math.floor(buffer.size / itemSize)
  const last = count === 0 ? elements : elements - 1
  return Number.isInteger(offset) && offset >= 0 && offset <= last ? undefined : invalidRequest(
    operation,
    `offset ${offset} of argument "${argument.name}" is outside its ${elements} elements`,
    "Pass the index of the first element."
  )
}

/**
 * On no device may a kernel read memory that it writes. WebGPU allows one buffer or image twice in a dispatch only when
 * nothing writes it, whichever ranges of it are bound.
 */
const aliasProblem = (
  declared: ReadonlyArray<VectorArg | ImageArg>,
  bound: ReadonlyArray<DeviceBuffer | DeviceImage>
): GpuError | undefined => {
  for (let i = 1; i < bound.length; i++) {
    for (let j = 0; j < i; j++) {
      if (!overlaps(bound[j]!.wholeMemory, bound[i]!.wholeMemory)) continue
      const [first, second] = [declared[j]!, declared[i]!]
      if (first.access === "read" && second.access === "read") continue
      return invalidRequest(
        operation,
        `the arguments "${first.name}" and "${second.name}" are ${
          sharing(bound[j]!, bound[i]!)
        } and one of them is written`,
        `Give the kernel two different ${second._tag === "VectorArg" ? "buffers" : "images"}.`
      )
    }
  }
  return undefined
}

/** How two bound objects have the same memory. The buffers come first. */
const sharing = (one: DeviceBuffer | DeviceImage, other: DeviceBuffer | DeviceImage): string => {
  if (other instanceof DeviceBuffer) {
    const isPart = one instanceof DeviceBuffer && one !== other && (one.parent ?? other.parent) !== undefined
    return isPart ? "sub-regions of one buffer" : "the same buffer"
  }
  if (one instanceof DeviceBuffer) return "a buffer and an image over it"
  return other.beneath === undefined ? "the same image" : "images over one buffer"
}

/** Item `i` of an itemwise vector touches its element `i`, counted from the offset, and there must be one. */
const itemsProblem = (
  shape: Shape,
  vectors: ReadonlyArray<VectorBinding>,
  count: number
): GpuError | undefined => {
  for (const index of shape.itemwise) {
    const { offset, size } = vectors[index]!
    const { dtype, name } = shape.vectors[index]!
    const elements = Math.floor(size / ValueType.elementBytes(dtype))
    if (offset + count <= elements) continue
    return invalidRequest(
      operation,
      `${count} items from offset ${offset} of argument "${name}" exceed its ${elements} elements`,
      `Dispatch at most ${elements - offset} items, or pass a larger buffer.`
    )
  }
  return undefined
}

/**
 * OpenCL's memory objects themselves: the driver's facts about them, and handles for and from other OpenCL code.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Scope from "effect/Scope"
import { valid } from "../../../domain/arguments/ArgumentProblem.ts"
import { withArticle } from "../../../domain/arguments/Format.ts"
import * as BufferUsage from "../../../domain/BufferUsage.ts"
import * as BufferUsageRules from "../../../domain/BufferUsageRules.ts"
import { type GpuError, invalidRequest } from "../../../domain/GpuError.ts"
import * as Adoption from "../../../services/backend/Adoption.ts"
import * as BufferLike from "../../../services/buffers/BufferLike.ts"
import { leaseOf } from "../../../services/buffers/LeaseUnder.ts"
import type { DeviceBuffer, Part } from "../../../services/device/DeviceBuffer.ts"
import type { DeviceImage } from "../../../services/device/DeviceImage.ts"
import type { DeviceSampler } from "../../../services/device/DeviceSampler.ts"
import { logged, releaseInOrderUnsafe } from "../../../services/device/ReleaseInOrder.ts"
import { ScopedAttachment } from "../../../services/device/ScopedAttachment.ts"
import * as ImageLike from "../../../services/images/ImageLike.ts"
import { PooledImage } from "../../../services/images/PooledImage.ts"
import type { Attachable } from "../../../services/lease/Attachments.ts"
import * as AdoptedImage from "../images/AdoptedImage.ts"
import type { OpenCl } from "../OpenCl.ts"
import * as OpenClCode from "../OpenClCode.ts"
import { driverError } from "../OpenClError.ts"
import type { OpenDevice } from "../opening/OpenDevice.ts"
import { own, useOpenedDevice } from "../OwnDevice.ts"
import { typeOf } from "./AdoptedHandle.ts"
import { usageOf } from "./MemoryFlags.ts"
import { handleForProgramUnsafe, memoryHandle } from "./MemoryHandle.ts"
import * as MemoryQuery from "./MemoryQuery.ts"
import { allocationOf, OpenClBuffer } from "./OpenClObject.ts"

/**
 * A lease, a device buffer, or an image.
 *
 * @category models
 * @since 0.1.0
 */
export type MemoryObject = BufferLike.BufferLike | ImageLike.ImageLike

/**
 * What the driver says of a memory object. A field is `undefined` where the driver does not answer, as for queries of a
 * later OpenCL version.
 *
 * @category models
 * @since 0.1.0
 */
export interface MemoryInfo {
  /** CL_MEM_TYPE by its name, as `CL_MEM_OBJECT_BUFFER`. */
  readonly type: string | undefined
  /** CL_MEM_FLAGS by their names. */
  readonly flags: ReadonlyArray<string> | undefined
  /** CL_MEM_SIZE in bytes: of a lease that of its whole block. */
  readonly size: number | undefined
  /** CL_MEM_HOST_PTR: the address of the program's memory in use, or 0. */
  readonly hostPointer: bigint | undefined
  /** CL_MEM_MAP_COUNT: how often it is mapped now. */
  readonly mapCount: number | undefined
  /** CL_MEM_REFERENCE_COUNT; drivers count references of their own too. */
  readonly referenceCount: number | undefined
  /** CL_MEM_CONTEXT: the cl_context. */
  readonly context: bigint | undefined
  /** CL_MEM_ASSOCIATED_MEMOBJECT: the cl_mem under it, or 0. */
  readonly associatedMemory: bigint | undefined
  /** CL_MEM_OFFSET: its first byte in that, or 0. */
  readonly offset: number | undefined
  /** CL_MEM_USES_SVM_POINTER, since OpenCL 2.0: whether the memory in use is shared virtual memory. */
  readonly usesSvmPointer: boolean | undefined
  /** CL_MEM_PROPERTIES, since OpenCL 3.0: names and values alternate. */
  readonly properties: ReadonlyArray<bigint> | undefined
}

/**
 * Everything that the driver says of a memory object. Fails with Released, ForeignDevice or DeviceLost, and with
 * InvalidRequest for a buffer of no bytes, which has no memory object.
 *
 * **Example** (Seeing where a buffer lies)
 *
 * ```ts
 * import { Effect } from "effect"
 * import type { BufferPool } from "effect-gpu-pool"
 * import { OpenClMemory } from "effect-gpu-pool/opencl"
 *
 * const describe = (lease: BufferPool.PooledBuffer) =>
 *   Effect.map(OpenClMemory.info(lease), ({ flags, mapCount, size }) => `${size} bytes, ${flags}, mapped ${mapCount} times`)
 * ```
 *
 * @see pyopencl.MemoryObject.get_info
 * @category accessors
 * @since 0.1.0
 */
export const info = (object: MemoryObject): Effect.Effect<MemoryInfo, GpuError, OpenCl> =>
  useOpenedDevice(
    "OpenClMemory.info",
    ({ api, opened }, operation) => Exit.succeed(MemoryQuery.describe(api, memoryHandle(operation, object, opened)))
  )

/**
 * How the handle of a buffer, an image or a sampler is taken over.
 *
 * @category models
 * @since 0.1.0
 */
export interface AdoptOptions {
  /**
   * Whether the program hands its reference over: it is released when the scope closes, and the program must not
   * release it. By default the program keeps its reference, and the library retains one of its own.
   */
  readonly takeOver?: boolean | undefined
  /** All that the memory object allows when left out; it can be less. */
  readonly usage?: BufferUsage.BufferUsage | undefined
  /** Its name in errors. */
  readonly label?: string | undefined
}

/**
 * A buffer around a cl_mem that other code has made on this device's context, until the scope closes. Every operation
 * takes it; adopting one cl_mem twice, or the handle of a buffer of this library, gives buffers that are equal
 * (`Equal.equals`) and count as one where operations compare.
 *
 * **Gotchas**
 *
 * Pass a valid handle only: for another number the driver reads the memory at that address. The handle of a lease is
 * that of its block, which goes to the next owner when the lease ends, whatever references there are.
 *
 * Fails with InvalidRequest for what is no handle of a buffer (images among them), ForeignDevice for one of another
 * context, DeviceLost, and DriverError.
 *
 * **Example** (Working on memory of another OpenCL library)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { CommandQueue } from "effect-gpu-pool"
 * import { OpenClMemory } from "effect-gpu-pool/opencl"
 *
 * const clear = Effect.fnUntraced(function*(theirs: bigint) {
 *   const buffer = yield* OpenClMemory.adopt(theirs)
 *   yield* CommandQueue.fill(buffer, 0)
 *   yield* CommandQueue.finish
 * }, Effect.scoped)
 * ```
 *
 * @see pyopencl.MemoryObject.from_int_ptr
 * @category constructors
 * @since 0.1.0
 */
export const adopt = (
  memory: bigint,
  options?: AdoptOptions
): Effect.Effect<DeviceBuffer, GpuError, OpenCl | Scope.Scope> =>
  Effect.flatMap(own, ({ opened, queue }) =>
    Effect.map(
      Adoption.acquire(
        operation,
        opened.status,
        options,
        (options) => adoptUnsafe(opened, memory, options),
        ({ buffer, ownParent }) =>
          Effect.ensuring(
            Effect.suspend(() => releaseInOrderUnsafe(opened, queue, buffer)),
            ownParent === undefined ? Exit.void : logged(() => releaseInOrderUnsafe(opened, queue, ownParent))
          )
      ),
      ({ buffer }) => buffer
    ))

/**
 * An image around a cl_mem that other code has made on this device's context, until the scope closes; shape, format and
 * usage are what the driver says. Every operation of `Images` and every dispatch takes it. Adopting one cl_mem twice, or the
 * handle of an image of this library, gives images that are equal (`Equal.equals`) and count as one where operations compare.
 *
 * **Gotchas**
 *
 * Pass a valid handle only: for another number the driver reads the memory at that address.
 *
 * Fails with InvalidRequest for what is no handle of an image; Unsupported for a format that `ImageFormat` does not have, for
 * mip levels, and for an image over a buffer; ForeignDevice for one of another context, DeviceLost, and DriverError.
 *
 * **Example** (Reading an image of another OpenCL library)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Images } from "effect-gpu-pool/images"
 * import { OpenClMemory } from "effect-gpu-pool/opencl"
 *
 * const pixels = (theirs: bigint) =>
 *   Effect.scoped(Effect.flatMap(OpenClMemory.adoptImage(theirs, { label: "theirs" }), (image) => Images.read(image)))
 * ```
 *
 * @see pyopencl.MemoryObject.from_int_ptr
 * @category constructors
 * @since 0.1.0
 */
export const adoptImage = (
  memory: bigint,
  options?: Omit<AdoptOptions, "usage">
): Effect.Effect<DeviceImage, GpuError, OpenCl | Scope.Scope> =>
  Effect.flatMap(own, (own) =>
    Adoption.acquire(
      "OpenClMemory.adoptImage",
      own.opened.status,
      options,
      ({ label, takeOver }) =>
        adopted(
          own.opened,
          AdoptedImage.find(own.opened, own.images, memory, label),
          takeOver,
          ["clRetainMemObject", memory],
          (found) => own.images.adoptUnsafe(memory, { ...found, label })
        ),
      (image) => own.allocator.destroyUnsafe(image),
      "An image"
    ))

/**
 * A sampler around a cl_sampler that other code has made on this device's context, until the scope closes; its options are
 * what the driver says. Every dispatch takes it. Adopting one cl_sampler twice, or the handle of a sampler of this library,
 * gives samplers that are equal (`Equal.equals`).
 *
 * **Gotchas**
 *
 * Pass a valid handle only: for another number the driver reads the memory at that address.
 *
 * Fails with InvalidRequest for what is no address, ForeignDevice for a sampler of another context, Unsupported for one that
 * does what `SamplerOptions` cannot say, DeviceLost, and DriverError.
 *
 * **Example** (Reading as another OpenCL library does)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { OpenClMemory } from "effect-gpu-pool/opencl"
 *
 * const isSmooth = (theirs: bigint) =>
 *   Effect.scoped(Effect.map(OpenClMemory.adoptSampler(theirs), ({ options }) => options.filter === "linear"))
 * ```
 *
 * @see pyopencl.Sampler.from_int_ptr
 * @category constructors
 * @since 0.1.0
 */
export const adoptSampler = (
  sampler: bigint,
  options?: Pick<AdoptOptions, "takeOver">
): Effect.Effect<DeviceSampler, GpuError, OpenCl | Scope.Scope> =>
  Effect.flatMap(own, (own) =>
    Adoption.acquire(
      "OpenClMemory.adoptSampler",
      own.opened.status,
      options,
      ({ takeOver }) =>
        adopted(
          own.opened,
          AdoptedImage.findSampler(own.opened, sampler),
          takeOver,
          ["clRetainSampler", sampler],
          (found) => own.images.samplers.adoptUnsafe(sampler, found)
        ),
      (sampler) => own.allocator.destroySamplerUnsafe(sampler),
      "A sampler"
    ))

/**
 * The cl_mem of a lease, a device buffer or an image with a reference for other code, which is released when the scope
 * closes: until then the handle is valid, also when the buffer is freed before. The reference to a lease, or to a
 * sub-region of one, ends with the lease, since its block goes to the next owner. Other code that needs the memory for
 * longer must retain it itself.
 *
 * Fails with Released, ForeignDevice, DeviceLost or DriverError, and with InvalidRequest for a buffer of no bytes.
 *
 * **Example** (Lending memory to another OpenCL library)
 *
 * ```ts
 * import { Effect } from "effect"
 * import type { DeviceBuffer } from "effect-gpu-pool/backend"
 * import { OpenClMemory } from "effect-gpu-pool/opencl"
 *
 * const lend = (buffer: DeviceBuffer.DeviceBuffer, theirs: (memory: bigint) => Promise<void>) =>
 *   Effect.scoped(Effect.flatMap(OpenClMemory.retain(buffer), (memory) => Effect.promise(() => theirs(memory))))
 * ```
 *
 * @see pyopencl.MemoryObjectHolder.int_ptr
 * @category accessors
 * @since 0.1.0
 */
export const retain = (object: MemoryObject): Effect.Effect<bigint, GpuError, OpenCl | Scope.Scope> =>
  useOpenedDevice(
    "OpenClMemory.retain",
    ({ opened, queue }) =>
      ScopedAttachment.acquire("OpenClMemory.retain", "buffer", (attachment) => {
        const handle = handleForProgramUnsafe("OpenClMemory.retain", object, opened, queue)
        if (Exit.isFailure(handle)) return handle
        const memory = handle.value
        take(opened, ["clRetainMemObject", memory])
        opened.driverObjects.add("reference")
        const buffer = BufferLike.isBufferLike(object) ? BufferLike.deviceBuffer(object) : undefined
        // Memory that the driver does not own must live as long as the driver has its address.
        const beneath = buffer && allocationOf(buffer)
        beneath?.retain()
        const pinned = pinnedOf(object)
        attachment.begin(ownerOf(object), () => {
          // First, while the reference keeps the context alive: the layer may have closed.
          const freed = beneath?.releaseUnsafe() ?? Exit.void
          if (pinned !== undefined) opened.keepUntilEnded(pinned.buffer)
          const code = opened.api.clReleaseMemObject(memory)
          if (code !== OpenClCode.success) return Exit.fail(driverError({ call: "clReleaseMemObject", code }))
          opened.driverObjects.remove("reference")
          return freed
        })
        return Exit.succeed(memory)
      })
  )

/** The program's memory that it uses, which must stay for as long as the driver has its address. */
const pinnedOf = (object: MemoryObject): Uint8Array<ArrayBuffer> | undefined => {
  if (BufferLike.isBufferLike(object)) return BufferLike.deviceBuffer(object)?.root.pinned
  const { beneath, pinned } = ImageLike.deviceImage(object)
  return pinned ?? beneath?.root.pinned
}

/**
 * The owner whose end ends a reference: a lease, whose block goes to the next owner, or an image over a buffer.
 * `undefined` for a buffer without a lease, which a reference may keep alive after it was freed.
 */
const ownerOf = (object: MemoryObject): Attachable | undefined => {
  if (BufferLike.isBufferLike(object)) return leaseOf(object)
  if (object instanceof PooledImage) return object
  const image = ImageLike.deviceImage(object)
  return image.beneath === undefined ? undefined : image
}

/** What adoption made. A sub-buffer's parent may have to be adopted with it. */
interface Adopted {
  readonly buffer: OpenClBuffer
  readonly ownParent: OpenClBuffer | undefined
}

const operation = "OpenClMemory.adopt"

type Retain = readonly [call: "clRetainMemObject" | "clRetainSampler", handle: bigint]

/** Takes a reference of this library's own; throws why it cannot. */
const take = ({ api }: OpenDevice, [call, handle]: Retain): void => {
  const code = api[call](handle)
  if (code !== OpenClCode.success) throw driverError({ call, code })
}

/** Makes an object around what was found at a handle, with a reference that is the library's. */
const adopted = <Found extends object, A>(
  device: OpenDevice,
  found: Found,
  takeOver: boolean | undefined,
  retain: Retain,
  make: (found: Found) => A
): Exit.Exit<A, GpuError> => {
  if (takeOver !== true) take(device, retain)
  return Exit.succeed(make(found))
}

const adoptUnsafe = (
  device: OpenDevice,
  memory: bigint,
  { label, takeOver, usage }: AdoptOptions
): Exit.Exit<Adopted, GpuError> => {
  const found = describe(device, memory, label)
  if (usage !== undefined) valid(usageProblem(usage, found.usage))
  return adopted(device, found, takeOver, ["clRetainMemObject", memory], (found) => {
    const { ownParent, part } = parentOf(device, memory)
    const buffer = new OpenClBuffer(memory, device.info, found.size, usage ?? found.usage, label, part)
    device.adoptUnsafe(buffer)
    return { buffer, ownParent }
  })
}

/** What a handle is of; throws why it cannot be adopted. */
const describe = (
  device: OpenDevice,
  memory: bigint,
  label: string | undefined
): { readonly size: number; readonly usage: BufferUsage.BufferUsage } => {
  const type = typeOf(operation, device, memory, label)
  if (type !== MemoryQuery.bufferType) {
    throw invalidRequest(
      operation,
      `the handle is of ${withArticle(MemoryQuery.typeName(type))}`,
      "Pass the cl_mem of a buffer; OpenClMemory.adoptImage takes an image's."
    )
  }
  const { api } = device
  return {
    size: MemoryQuery.property(api, memory, "size") ?? 0,
    usage: usageOf(MemoryQuery.property(api, memory, "flags") ?? 0)
  }
}

const usageProblem = (usage: BufferUsage.BufferUsage, whole: BufferUsage.BufferUsage): GpuError | undefined => {
  const problem = BufferUsageRules.problem(usage)
  return problem === undefined && BufferUsageRules.isWithin(usage, whole) ? undefined : invalidRequest(
    operation,
    problem ?? `the usage ${BufferUsage.format(usage)} is beyond the memory object's ${BufferUsage.format(whole)}`,
    "Leave the usage out, or name some of the flags that it has."
  )
}

/** The whole buffer that a sub-buffer is a part of: one that is known here, or adopted along with it. */
const parentOf = (
  device: OpenDevice,
  memory: bigint
): { readonly part: Part | undefined; readonly ownParent: OpenClBuffer | undefined } => {
  const { api, info } = device
  const handle = MemoryQuery.property(api, memory, "associatedMemory") ?? 0n
  if (handle === 0n) return { part: undefined, ownParent: undefined }
  const origin = MemoryQuery.property(api, memory, "offset") ?? 0
  const known = device.known(handle)
  if (known !== undefined) {
    const size = MemoryQuery.property(api, memory, "size") ?? 0
    const within = device.known(memory)?.wholeMemory ?? device.partWith(known, origin, origin + size)
    return { part: { parent: known, origin, within }, ownParent: undefined }
  }
  api.clRetainMemObject(handle)
  const size = MemoryQuery.property(api, handle, "size") ?? 0
  const flags = MemoryQuery.property(api, handle, "flags") ?? 0
  const parent = new OpenClBuffer(handle, info, size, usageOf(flags), undefined)
  device.adoptUnsafe(parent)
  return { part: { parent, origin }, ownParent: parent }
}

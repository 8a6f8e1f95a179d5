/**
 * Programs of other libraries, on a device with and without a pool: what they computed, and what the driver was asked for. It runs in
 * Node and in pages.
 */
import { install, type InstallationStats, type InstallOptions } from "@effect-gpu-pool/interop/install"
import { SizePolicy } from "effect-gpu-pool"

/** How a program runs that can do so in several ways, as one process tells another. */
export interface Course {
  readonly steps: number
  /** Whether its library gives back what it would keep for itself. */
  readonly passesThrough?: boolean
  /** Whether onnxruntime-web keeps what it has freed, as it does by itself. */
  readonly keeps?: boolean
  /** Whether the blocks of the pool are powers of two. */
  readonly doubles?: boolean
  /** Layers of the model with a KV cache, which has two tensors for each. */
  readonly layers?: number
}

/**
 * A program. It gets a device, or takes one from `navigator.gpu`, which is the same one, and gives its results: each is compared by its
 * bytes. It says when a step is done.
 */
export type Workload = (
  device: GPUDevice,
  course: Course,
  stepped: () => void
) => Promise<ReadonlyArray<ArrayBufferView>>

/** The results of the steps of a course. */
export const inSteps = async (
  { steps }: Course,
  stepped: () => void,
  step: () => Promise<ArrayBufferView>
): Promise<ReadonlyArray<ArrayBufferView>> => {
  const results: Array<ArrayBufferView> = []
  for (let count = 0; count < steps; count++) {
    results.push(await step())
    stepped()
  }
  return results
}

/** What the driver makes for a device, whoever asked for it. */
export class Driver {
  /** Buffers that it has made. */
  creates = 0
  /** Those that are not destroyed; what is collected without that counts on. */
  live = 0
  liveBytes = 0
  peakBytes = 0
  readonly #destroyed = new WeakSet<object>()
  readonly #classes = new WeakMap<object, object>()

  /** From now on, below any pool that is installed later. */
  constructor(device: GPUDevice) {
    const createBuffer = device.createBuffer.bind(device)
    Object.defineProperty(device, "createBuffer", {
      value: (descriptor: GPUBufferDescriptor) => this.#count(createBuffer(descriptor), descriptor.size),
      writable: true,
      configurable: true
    })
  }

  #count(buffer: GPUBuffer, bytes: number): GPUBuffer {
    this.creates++
    this.live++
    this.liveBytes += bytes
    this.peakBytes = Math.max(this.peakBytes, this.liveBytes)
    const native = Object.getPrototypeOf(buffer) as GPUBuffer
    const known = this.#classes.get(native)
    const counting = known ?? this.#classOver(native)
    if (known === undefined) this.#classes.set(native, counting)
    return Object.setPrototypeOf(buffer, counting) as GPUBuffer
  }

  #classOver(native: GPUBuffer): object {
    const end = (buffer: GPUBuffer): void => {
      if (this.#destroyed.has(buffer)) return
      this.#destroyed.add(buffer)
      this.live--
      // The driver's own size: a pool shows a program the size that it asked for.
      this.liveBytes -= Reflect.get(native, "size", buffer) as number
    }
    const destroy = function(this: GPUBuffer): undefined {
      end(this)
      return native.destroy.call(this)
    }
    return Object.create(native, { destroy: { value: destroy, writable: true, configurable: true } }) as object
  }
}

/** What a run of a workload did. */
export interface Run {
  /** A digest of the bytes of each result. */
  readonly results: ReadonlyArray<string>
  /** How many results have a byte that is not zero. */
  readonly filled: number
  /** Errors that no scope of the program has caught. */
  readonly errors: ReadonlyArray<string>
  /** Buffers that the driver has made, and the most bytes of those that were not destroyed at a time. */
  readonly creates: number
  readonly peakBytes: number
  /** Those that it had made when a step was done, for each that the workload has told of. */
  readonly createsAfter: ReadonlyArray<number>
  /** What the pool has done, where there is one. */
  readonly stats: InstallationStats | undefined
}

const bytesOf = ({ buffer, byteLength, byteOffset }: ArrayBufferView): Uint8Array<ArrayBuffer> =>
  new Uint8Array(buffer, byteOffset, byteLength).slice()

/** The number of bytes, and their SHA-256. */
export const digestOf = async (view: ArrayBufferView): Promise<string> => {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytesOf(view)))
  return `${view.byteLength} B ${Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("")}`
}

/**
 * Opens a device with all that its adapter has, and lets every `requestDevice` of a library give this one. Libraries may ask for
 * anything that the adapter has.
 */
export const openShared = async (gpu: GPU): Promise<GPUDevice> => {
  const adapter = await gpu.requestAdapter()
  if (adapter === null) throw new Error("there is no adapter")
  const requiredLimits: Record<string, number> = {}
  // Its limits are accessors of its class.
  for (const name in adapter.limits) {
    const limit: unknown = Reflect.get(adapter.limits, name)
    if (typeof limit === "number") requiredLimits[name] = limit
  }
  const requiredFeatures = Array.from(adapter.features) as Array<GPUFeatureName>
  const device = await adapter.requestDevice({ requiredLimits, requiredFeatures })
  Object.defineProperty(adapter, "requestDevice", { value: async () => device, configurable: true })
  Object.defineProperty(gpu, "requestAdapter", { value: async () => adapter, configurable: true })
  return device
}

/** Runs a workload on a device of its own: with a pool under it where there are options of one. */
export const measure = async (
  gpu: GPU,
  workload: Workload,
  options: InstallOptions | undefined,
  course: Course = { steps: 0 }
): Promise<Run> => {
  const device = await openShared(gpu)
  const errors: Array<string> = []
  device.addEventListener("uncapturederror", ({ error }) => errors.push(error.message))
  const driver = new Driver(device)
  const policy = course.doubles === true ? { sizePolicy: SizePolicy.sizeClasses(0, { borrow: 1 }) } : {}
  const installation = options === undefined ? undefined : install(device, { ...options, ...policy })
  const createsAfter: Array<number> = []
  const outputs = (await workload(device, course, () => createsAfter.push(driver.creates))).map(bytesOf)
  const stats = installation?.stats()
  // Errors of what was submitted arrive before this.
  await device.queue.onSubmittedWorkDone()
  return {
    results: await Promise.all(outputs.map(digestOf)),
    filled: outputs.filter((bytes) => bytes.some((byte) => byte !== 0)).length,
    errors,
    creates: driver.creates,
    peakBytes: driver.peakBytes,
    createsAfter,
    stats
  }
}

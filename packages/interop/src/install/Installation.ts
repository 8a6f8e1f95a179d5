/**
 * A pool under a device.
 *
 * @since 0.1.0
 */
/// <reference lib="esnext.disposable" preserve="true" />
import * as GpuError from "effect-gpu-pool/GpuError"
import type { PoolStats } from "effect-gpu-pool/PoolStats"
import { innerOf, type Method, replace } from "../foreign/Patch.ts"
import type { PoolableDevice } from "../foreign/PoolableDevice.ts"
import { Buffers, type MakeMemory } from "./Buffers.ts"
import { Calls } from "./Calls.ts"
import { ErrorScopes } from "./ErrorScopes.ts"
import { type BufferHolder, holdersOf } from "./Holders.ts"
import type { BindGroupDescriptor, Buffer, BufferDescriptor, CommandEncoder, DeviceError, Native } from "./Native.ts"
import { type InstallOptions, type Settings, settingsOf } from "./Options.ts"
import { OwnMemory } from "./OwnMemory.ts"

/**
 * What an installed pool has done: the counters of its buffers, as every pool has them, and those of an installation.
 *
 * @category models
 * @since 0.1.0
 */
export interface InstallationStats extends PoolStats {
  /** How many reused buffers were made zero. */
  readonly cleared: number
  /** How many of them needed no zeros, since the program wrote them in full first. */
  readonly clearsLeftOut: number
  /** How many buffers were dropped without `destroy()`, and collected with their memory. */
  readonly collected: number
  /** How many buffers `maxBytes` has refused. */
  readonly refused: number
  /** How many calls were refused, because they used a buffer after its `destroy()`. */
  readonly staleUses: number
}

/**
 * A pool under a device. `install` makes one.
 *
 * @category models
 * @since 0.1.0
 */
export class Installation {
  readonly #buffers: Buffers
  readonly #ends: Array<() => void> = []

  /** @internal */
  constructor(device: PoolableDevice, settings: Settings, makeMemory: MakeMemory) {
    const native = nativeOf(device)
    const errors = new ErrorScopes(device)
    const buffers = new Buffers(native, settings, errors, device.limits.maxBufferSize, makeMemory)
    this.#buffers = buffers
    this.#replaceErrorScopes(device, errors)
    this.#replace(
      device,
      "createBuffer",
      () => (descriptor) => buffers.create(descriptor as BufferDescriptor)
    )
    this.#replace(device, "destroy", (inner) => () => {
      Reflect.apply(inner, device, [])
      buffers.end()
    })
    for (const [object, name, replacing] of new Calls(native, buffers, settings.isStrict).replacements(device)) {
      this.#replace(object, name, replacing)
    }
    device.lost.then(() => buffers.end(), ignored)
  }

  /** @internal */
  get isInstalled(): boolean {
    return this.#ends.length > 0
  }

  /** The counters: buffers that programs have are active, those that wait for the next are held. */
  stats(): InstallationStats {
    const { clears, collected, memory, refused, staleUses } = this.#buffers
    return { ...memory.stats(), cleared: clears.cleared, clearsLeftOut: clears.leftOut, collected, refused, staleUses }
  }

  /** Who has buffers, by label and, with the option `track`, by the line that made them: those with the most bytes first. */
  holders(): ReadonlyArray<BufferHolder> {
    return holdersOf(this.#buffers.live)
  }

  /** Destroys the buffers that wait for the next. */
  trim(): void {
    this.#buffers.trim()
  }

  /**
   * Ends the pool: the methods of the device and its queue are again what they were, and buffers that wait are destroyed. Those that
   * programs have stay as they are until they destroy them; then their memory goes back to the device.
   */
  stop(): void {
    if (this.#ends.length === 0) return
    this.#buffers.stop()
    for (const end of this.#ends.splice(0)) end()
  }

  /**
   * The same, and all buffers that came from it are destroyed.
   *
   * @internal
   */
  end(): void {
    this.#buffers.end()
    this.stop()
  }

  /** As `stop`. */
  [Symbol.dispose](): void {
    this.stop()
  }

  #replace(object: object, name: string, replacing: (inner: Method) => Method): void {
    this.#ends.push(replace(object, name, replacing))
  }

  #replaceErrorScopes(device: object, errors: ErrorScopes): void {
    this.#replace(device, "pushErrorScope", (inner) => (filter) => {
      Reflect.apply(inner, device, [filter])
      errors.push(String(filter))
    })
    this.#replace(
      device,
      "popErrorScope",
      (inner) => () => errors.pop(Reflect.apply(inner, device, []) as Promise<DeviceError | null>)
    )
  }
}

const ignored = (): void => {}

const boundOf = (object: object, name: string): (...args: ReadonlyArray<unknown>) => unknown => {
  const method = innerOf(object, name)
  return (...args) => Reflect.apply(method, object, args)
}

/** The methods that the device has without this package, so that observations do not hear the pool. */
const nativeOf = (device: PoolableDevice): Native => {
  const [createBuffer, createCommandEncoder] = [
    boundOf(device, "createBuffer"),
    boundOf(device, "createCommandEncoder")
  ]
  const [createBindGroup, popErrorScope] = [boundOf(device, "createBindGroup"), boundOf(device, "popErrorScope")]
  return {
    createBuffer: (descriptor) => createBuffer(descriptor) as Buffer,
    createCommandEncoder: () => createCommandEncoder() as CommandEncoder,
    createBindGroup: (descriptor: BindGroupDescriptor) => createBindGroup(descriptor) as object,
    pushErrorScope: boundOf(device, "pushErrorScope"),
    popErrorScope: () => popErrorScope() as Promise<DeviceError | null>,
    submit: boundOf(device.queue, "submit"),
    writeBuffer: boundOf(device.queue, "writeBuffer")
  }
}

/** Those that have not been stopped. */
const installed = new WeakMap<object, Installation>()

/**
 * Puts a pool under a WebGPU device: whatever library uses it, a buffer that one destroys serves the next that asks for its usage and
 * about its size. Programs see what WebGPU promises them: zeros, sizes, mapping, errors.
 *
 * **Details**
 *
 * Buffers of which copies can be the target are pooled, except those that are mapped at creation or to be written, and those that
 * queries are resolved into: these go to the device, and count for `maxBytes`. Textures are not pooled.
 *
 * Throws a `GpuError` with reason `InvalidRequest` for options that are none, and for a value that is no device or that has a pool
 * installed.
 *
 * **Gotchas**
 *
 * A reused buffer is the same object, since an implementation takes only its own. What a program does with one after its `destroy()` is
 * refused where WebGPU refuses it, also by commands and bind groups that were made before; but when the object has become a buffer of
 * other code already, a direct call such as `queue.writeBuffer`, or a second `destroy()`, acts on that buffer.
 *
 * **Example** (Pooling what other libraries allocate)
 *
 * ```ts no-run
 * import { install } from "@effect-gpu-pool/interop/install"
 *
 * declare const device: GPUDevice
 * declare const infer: (device: GPUDevice) => Promise<void>
 *
 * const installation = install(device, { maxBytes: 1 << 30, track: true })
 * await infer(device)
 * const { hits, misses, heldBytes } = installation.stats()
 * console.log(hits, misses, heldBytes, installation.holders())
 * installation.stop()
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const install = (device: PoolableDevice, options: InstallOptions = {}): Installation => {
  checkDevice("install", device)
  const settings = settingsOf("install", options)
  return open(
    "install",
    device,
    settings,
    (native, live) => new OwnMemory(native, settings, live, device.limits.maxBufferSize)
  )
}

/**
 * Throws a `GpuError` for what is no device, as a promise of one.
 *
 * @internal
 */
export const checkDevice = (operation: string, device: Partial<PoolableDevice> | null | undefined): void => {
  if (device?.limits !== undefined && device.queue !== undefined && device.lost !== undefined) return
  throw GpuError.invalidRequest(
    operation,
    `${device === null ? "null" : typeof device} was given for a GPUDevice`,
    "Pass the GPUDevice itself, and await a promise of it before."
  )
}

/**
 * Puts a pool under a device. Throws a `GpuError` if it has one.
 *
 * @internal
 */
export const open = (
  operation: string,
  device: PoolableDevice,
  settings: Settings,
  makeMemory: MakeMemory
): Installation => {
  if (installed.get(device)?.isInstalled === true) {
    throw GpuError.invalidRequest(operation, "the device has a pool installed", "Use that one, or stop() it first.")
  }
  const installation = new Installation(device, settings, makeMemory)
  installed.set(device, installation)
  return installation
}

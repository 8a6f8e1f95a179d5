/**
 * The devices of this machine, on every backend, and layers that open the one that the user wants. For Node: a list or
 * an opening loads npm `webgpu` and `koffi`. A backend whose package is missing is listed with that reason.
 *
 * @since 0.1.0
 */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import { valid } from "../domain/arguments/ArgumentProblem.ts"
import { line } from "../domain/arguments/Format.ts"
import * as LayerOptions from "../domain/arguments/LayerOptions.ts"
import { doctor } from "../domain/device/OptionalPackage.ts"
import { deviceUnavailable as unavailable, type GpuError, isGpuError, type ProbedDevice } from "../domain/GpuError.ts"
import { absentDevice } from "../domain/selection/AbsentDevice.ts"
import * as DeviceSelector from "../domain/selection/DeviceSelector.ts"
import type { ListedDevice } from "../domain/selection/ListedDevice.ts"
import * as SelectorSyntax from "../domain/selection/SelectorSyntax.ts"
import { type Backend, OpenOptions } from "../services/backend/Backend.ts"
import type { Services } from "../services/backend/Device.ts"
import * as BufferPools from "../services/backend/several/BufferPools.ts"
import * as OpenPools from "../services/backend/several/OpenPools.ts"
import { validated } from "../services/calls/Validated.ts"
import { Backends } from "./Backends.ts"
import * as SelectionSources from "./SelectionSources.ts"
import type { Choice, SourceOptions } from "./SelectionSources.ts"
import type { TestDevice, TestDevices } from "./TestDevices.ts"

export type { Backend, OpenOptions } from "../services/backend/Backend.ts"
export type { Services } from "../services/backend/Device.ts"
export { Backends } from "./Backends.ts"
export type { Choice, SourceOptions } from "./SelectionSources.ts"
export type { TestDevice, TestDevices } from "./TestDevices.ts"

/**
 * Every device that a driver of this machine names, in the order of the backends WebGPU, OpenCL, host, and of their own
 * indices. Never fails: a backend that cannot be loaded, a platform without devices and a device that cannot be used
 * are entries whose `unusable` says why.
 *
 * **Details**
 *
 * No device is opened. The first call in a process loads every driver, which can take a second; functions that take a
 * selection load only the drivers of its backends. WebGPU has no list of devices: its entries are the adapters for high
 * performance, for low power and as a fallback, each once.
 *
 * **Example** (What can be opened here)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Devices, DeviceSelector } from "effect-gpu-pool/devices"
 *
 * const usable = Effect.map(Devices.list, (listed) =>
 *   listed.filter(({ unusable }) => unusable === undefined).map((device) =>
 *     DeviceSelector.format(DeviceSelector.of(device))
 *   ))
 * const selectors = await Effect.runPromise(usable)
 * selectors.at(-1) // => "host:0:0"
 * ```
 *
 * @see pyopencl.get_platforms, pyopencl.Platform.get_devices
 * @category listing
 * @since 0.1.0
 */
export const list: Effect.Effect<ReadonlyArray<ListedDevice>> = Effect.suspend(() => listFor(undefined))

/** The devices of the selected backends, without loading the drivers of the others. */
const listFor = (selector: DeviceSelector.DeviceSelector | undefined): Effect.Effect<ReadonlyArray<ListedDevice>> =>
  Effect.flatMap(Backends, (all) => {
    const asked = all.filter(({ name }) => selector?.some(({ backend }) => backend === name) ?? true)
    const listed = Effect.forEach(
      asked,
      ({ list, name }) => Effect.catch(list, (error) => Effect.succeed([absentDevice(name, undefined, whyOf(error))]))
    )
    return Effect.map(listed, (listed) => listed.flat())
  })

const namesOf = (backends: ReadonlyArray<Backend>): ReadonlyArray<string> => backends.map(({ name }) => name)

/** As `validated`, where `f` also gets the names of the backends. */
const selectingStep = <A, E, R>(
  operation: string,
  f: (operation: string, backends: ReadonlyArray<string>) => Effect.Effect<A, E, R>
): Effect.Effect<A, E | GpuError, R> =>
  Effect.flatMap(Backends, (all) => validated(operation, (operation) => f(operation, namesOf(all))))

/** The reason of an error without its hint; of several tried devices, the reason of the first. */
const whyOf = ({ message, reason }: GpuError): string => {
  if (reason._tag !== "DeviceUnavailable" || reason.tried[0] === undefined) return message
  const [{ device, why }] = reason.tried
  return why.includes(device) ? why : `${device}: ${why}`
}

/**
 * All usable devices that a selection matches, each once, in its order. Fails with InvalidRequest for a string that is
 * not a selection, and with DeviceUnavailable when any part of the selection matches no usable device. The error names
 * the devices that exist.
 *
 * **Example** (All devices of a vendor)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Devices } from "effect-gpu-pool/devices"
 *
 * const names = Effect.map(
 *   Devices.select("opencl:nvidia"),
 *   (devices) => devices.map(({ device }) => device?.name)
 * )
 * ```
 *
 * @category listing
 * @since 0.1.0
 */
export const select = (
  selector: string | DeviceSelector.DeviceSelector
): Effect.Effect<ReadonlyArray<ListedDevice>, GpuError> =>
  selectingStep("Devices.select", (operation, backends) => {
    const wanted = valid(SelectorSyntax.from(selector, operation, backends))
    return Effect.flatMap(listFor(wanted), (listed) => {
      const { devices, misses } = DeviceSelector.select(wanted, listed)
      return misses.length === 0 ? Effect.succeed(devices) : unavailable(misses.map(triedOf), lookUp)
    })
  })

const lookUp = `Run \`npx @effect-gpu-pool/cli devices\` to see what there is. ${doctor}`

const triedOf = ({ backend, selector, why }: DeviceSelector.Miss): ProbedDevice => ({
  backend,
  device: selector === backend ? "any device" : selector.slice(backend.length + 1),
  why
})

/**
 * Opens the first device of a selection that can be opened: see {@link DeviceSelector} for the order. The layer fails
 * with InvalidRequest for a string that is not a selection, and with DeviceUnavailable when it can open no device; that
 * error lists every device that it tried, and why each failed.
 *
 * **Example** (A pool on a GPU if there is one, else on the host)
 *
 * ```ts
 * import { Effect, Layer } from "effect"
 * import { BufferPool } from "effect-gpu-pool"
 * import { Devices } from "effect-gpu-pool/devices"
 *
 * const gpu = BufferPool.layer().pipe(Layer.provideMerge(Devices.layer("opencl:nvidia;opencl:amd;host")))
 * const program = BufferPool.use(64, (buffer) => Effect.succeed(buffer.size))
 * await Effect.runPromise(Effect.provide(program, gpu)) // => 64
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (
  selector: string | DeviceSelector.DeviceSelector,
  options?: OpenOptions
): Layer.Layer<Services, GpuError> =>
  Layer.effectContext(selectingStep("Devices.layer", (operation, backends) => {
    const wanted = valid(SelectorSyntax.from(selector, operation, backends))
    const read = LayerOptions.read(operation, OpenOptions, options)
    return isGpuError(read) ? read : openFirst({ source: "code", selector: wanted }, read)
  }))

/**
 * How the devices are opened, and the pools on them.
 *
 * @category models
 * @since 0.1.0
 */
export interface PoolsOptions<R = never> extends OpenOptions, BufferPools.Options<R> {}

/**
 * `BufferPools` over the devices of this machine. The name of a device is a selection, as {@link layer} takes it and as
 * {@link DeviceSelector} explains: `"opencl:nvidia:1"`. The first device of it that can be opened is opened at its
 * first use.
 *
 * Two selections are two devices for `BufferPools`, also where both select the same hardware. `DeviceSelector.of` gives
 * the canonical selection of a listed device.
 *
 * Fails with InvalidRequest for invalid options. An effect on a device fails with InvalidRequest for a text that is not
 * a selection, and with DeviceUnavailable when nothing could be opened.
 *
 * **Example** (A result of each device of a vendor)
 *
 * ```ts no-run
 * import { Effect } from "effect"
 * import { BufferPool, CommandQueue } from "effect-gpu-pool"
 * import { BufferPools, Devices, DeviceSelector } from "effect-gpu-pool/devices"
 *
 * const job = BufferPool.use(4, (x) => Effect.andThen(CommandQueue.fill(x, 7), CommandQueue.read(x, Uint32Array)))
 *
 * const program = Effect.gen(function*() {
 *   const gpus = yield* Devices.select("opencl:nvidia")
 *   const names = gpus.map((gpu) => DeviceSelector.format(DeviceSelector.of(gpu)))
 *   return yield* Effect.forEach(names, (name) => BufferPools.on(name, job), { concurrency: "unbounded" })
 * }).pipe(Effect.provide(Devices.layerPools({ pool: { maxBytes: "50%" } })))
 * ```
 *
 * @see cupy.cuda.MemoryPool
 * @category layers
 * @since 0.1.0
 */
export const layerPools = <R = never>(
  options?: PoolsOptions<R>
): Layer.Layer<BufferPools.BufferPools, GpuError, R> =>
  Layer.effect(
    BufferPools.BufferPools,
    Effect.flatMap(Backends, (backends) => {
      const operation = "Devices.layerPools"
      const schema = Schema.Struct({ ...OpenOptions.fields, ...OpenPools.optionsOf<R>().fields })
      const given = LayerOptions.read(operation, schema, options)
      if (isGpuError(given)) return given
      const { byteGranular, kernelCacheCapacity, ...pools } = given
      const names = namesOf(backends)
      return OpenPools.make({
        operation,
        // The same selection is the same device, however its text is written.
        nameOf: (operation, device) => {
          const selector = SelectorSyntax.from(device, operation, names)
          return isGpuError(selector) ? selector : DeviceSelector.format(selector)
        },
        open: (device) =>
          layer(valid(SelectorSyntax.from(device, operation, names)), { byteGranular, kernelCacheCapacity })
      }, pools)
    })
  )

/**
 * The options by which a program chooses a device.
 *
 * @category models
 * @since 0.1.0
 */
export interface ChoiceOptions extends SourceOptions {
  /** The selection in code, which comes before everything else. */
  readonly selector?: string | DeviceSelector.DeviceSelector | undefined
  /** The selection when nothing else selects, instead of the best device. */
  readonly default?: string | DeviceSelector.DeviceSelector | undefined
}

/**
 * Which device {@link layerDefault} opens, and how.
 *
 * @category models
 * @since 0.1.0
 */
export interface DefaultOptions extends OpenOptions, ChoiceOptions {}

/**
 * Opens the device that the user wants, or the best one without a choice. The first of these places that names a device
 * decides:
 *
 * 1. `selector`, from code
 * 2. the variable GPU_POOL_DEVICE
 * 3. the first line of `~/.gpu-pool-device`
 * 4. the first device of PYOPENCL_TEST
 * 5. PYOPENCL_CTX
 * 6. CUDA_DEVICE, `~/.cuda-device`, `~/.cuda_device`: the number of a device on OpenCL's platforms of NVIDIA
 * 7. `default`, from code
 * 8. otherwise the first that can be opened of: WebGPU on hardware, OpenCL on GPUs, other OpenCL devices, WebGPU in
 *   software. The host is taken only where one of the other places names it.
 *
 * **Details**
 *
 * An empty value counts as none. Variables are read by Effect's `Config`, so a `ConfigProvider` can replace the
 * environment; files are read by the `FileSystem` in context, else from the disk.
 *
 * Fails with InvalidRequest for a selection that cannot be read, under the name of its variable or file and with the
 * place; and with DeviceUnavailable when nothing could be opened, which lists all that was tried, why each failed, and
 * where the selection comes from.
 *
 * **Example** (A program that runs wherever its user wants)
 *
 * ```ts
 * import { ConfigProvider, Effect, Layer } from "effect"
 * import { BufferPool, DeviceContext } from "effect-gpu-pool"
 * import { Devices } from "effect-gpu-pool/devices"
 *
 * const gpu = BufferPool.layer().pipe(Layer.provideMerge(Devices.layerDefault()))
 * const program = Effect.map(DeviceContext.info, ({ backend }) => backend).pipe(Effect.provide(gpu))
 *
 * const environment = ConfigProvider.fromUnknown({ GPU_POOL_DEVICE: "host" })
 * await Effect.runPromise(Effect.provide(program, ConfigProvider.layer(environment))) // => "host"
 * ```
 *
 * @see pyopencl.create_some_context, pycuda.tools.make_default_context, pycuda.autoinit
 * @category layers
 * @since 0.1.0
 */
export const layerDefault = (options?: DefaultOptions): Layer.Layer<Services, GpuError> =>
  Layer.effectContext(selectingStep("Devices.layerDefault", (operation, backends) => {
    const read = LayerOptions.read(operation, defaultOptions, options)
    return isGpuError(read) ? read : Effect.flatMap(chosen(operation, backends, read), (by) => openFirst(by, read))
  }))

/**
 * The device that {@link layerDefault} would open, without opening it. Fails as `layerDefault` does.
 *
 * **Example** (The device of the user, or else the first of NVIDIA or the host)
 *
 * ```ts
 * import { ConfigProvider, Effect } from "effect"
 * import { Devices } from "effect-gpu-pool/devices"
 *
 * const device = Devices.selectDefault({ default: "opencl:nvidia:0;host", home: "/nowhere" })
 * const environment = ConfigProvider.fromUnknown({ GPU_POOL_DEVICE: "host" })
 * const program = Effect.map(device, ({ backend }) => backend)
 * await Effect.runPromise(Effect.provide(program, ConfigProvider.layer(environment))) // => "host"
 * ```
 *
 * @see pycuda.tools.get_default_device
 * @category listing
 * @since 0.1.0
 */
export const selectDefault = (options?: ChoiceOptions): Effect.Effect<ListedDevice, GpuError> =>
  selectingStep("Devices.selectDefault", (operation, backends) => {
    const read = valid(LayerOptions.read(operation, choiceOptions, options))
    return Effect.flatMap(chosen(operation, backends, read), firstUsable)
  })

/**
 * The device of a choice. Fails with DeviceUnavailable when the choice matches none.
 *
 * @category functions
 * @since 0.1.0
 */
export const firstUsable = (by: By): Effect.Effect<ListedDevice, GpuError> =>
  Effect.flatMap(
    candidatesOf(by),
    ({ devices, hint, leftOut }) => devices[0] === undefined ? unavailable(leftOut, hint) : Effect.succeed(devices[0])
  )

const selection = LayerOptions.any<string | DeviceSelector.DeviceSelector>(Schema.String)
const testOptions = Schema.Struct({ ...OpenOptions.fields, selector: selection })
const choiceOptions = Schema.Struct({
  home: LayerOptions.any<string>(Schema.String),
  selector: selection,
  default: selection
})
const defaultOptions = Schema.Struct({ ...OpenOptions.fields, ...choiceOptions.fields })

const hintOf = (selector: DeviceSelector.DeviceSelector, source: string): string =>
  `The selection was "${line(DeviceSelector.format(selector))}", from ${source}. ${lookUp}`

/**
 * Which place chooses the device of {@link layerDefault}, and its selection; {@link selectDefault} returns the device.
 * No device is opened. Fails with InvalidRequest for a selection that cannot be read.
 *
 * **Example** (Asking before opening)
 *
 * ```ts
 * import { ConfigProvider, Effect } from "effect"
 * import { Devices } from "effect-gpu-pool/devices"
 *
 * const environment = ConfigProvider.fromUnknown({ PYOPENCL_CTX: "portable:0" })
 * const choice = Effect.map(Devices.choice({ home: "/nowhere" }), ({ source, text }) => [source, text])
 * await Effect.runPromise(Effect.provide(choice, ConfigProvider.layer(environment))) // => ["PYOPENCL_CTX", "portable:0"]
 * ```
 *
 * @category listing
 * @since 0.1.0
 */
export const choice = (options?: ChoiceOptions): Effect.Effect<Choice, GpuError> =>
  selectingStep("Devices.choice", (operation, backends) => {
    return chosen(operation, backends, valid(LayerOptions.read(operation, choiceOptions, options)))
  })

/** Reports a mistake in code even if another place chooses. */
const chosen = (
  operation: string,
  backends: ReadonlyArray<string>,
  options: ChoiceOptions,
  places = SelectionSources.forPrograms
): Effect.Effect<Choice, GpuError> => {
  const inCode = fromCode(operation, "code", options.selector, backends)
  const otherwise = fromCode(operation, "default", options.default, backends)
  if (inCode !== undefined) return Effect.succeed(inCode)
  return Effect.map(
    SelectionSources.firstOf(operation, places, options, backends),
    (found) => found.selector === undefined ? otherwise ?? found : found
  )
}

const fromCode = (
  operation: string,
  source: string,
  written: string | DeviceSelector.DeviceSelector | undefined,
  backends: ReadonlyArray<string>
): Choice | undefined => {
  if (written === undefined) return undefined
  const selector = valid(SelectorSyntax.from(written, operation, backends))
  return { source, text: DeviceSelector.format(selector), selector }
}

/** The devices to try, in order, those left out, and the advice when none opens. */
interface Candidates {
  readonly devices: ReadonlyArray<ListedDevice>
  readonly leftOut: ReadonlyArray<ProbedDevice>
  readonly hint: string
}

type By = Pick<Choice, "selector" | "source">

const candidatesOf = ({ selector, source }: By): Effect.Effect<Candidates> =>
  Effect.flatMap(Backends, (all) =>
    Effect.map(listFor(selector), (listed) => {
      if (selector === undefined) return anyOf(all, listed)
      const { devices, misses } = DeviceSelector.select(selector, listed)
      return { devices, leftOut: misses.map(triedOf), hint: hintOf(selector, source) }
    }))

/** All devices, ordered by their backends' ranks. */
const anyOf = (backends: ReadonlyArray<Backend>, listed: ReadonlyArray<ListedDevice>): Candidates => {
  const ranked = listed.flatMap((device) => {
    const rank = backends.find(({ name }) => name === device.backend)?.rank(device)
    return rank === undefined ? [] : [{ device, rank }]
  })
  const candidates = ranked.sort((one, other) => one.rank - other.rank).map(({ device }) => device)
  const leftOut = candidates.flatMap(({ backend, device, platform, unusable: why }) =>
    why === undefined ? [] : [{ backend, device: device?.name ?? platform?.name ?? "backend", why }]
  )
  const hint =
    "No selection was made: GPU_POOL_DEVICE=host takes process memory, which is taken only when it is named. " +
    lookUp
  return { devices: candidates.filter(({ unusable }) => unusable === undefined), leftOut, hint }
}

/**
 * A layer that opens the device with one of the program's backends; it fails where none has the device's backend name.
 *
 * @category functions
 * @since 0.1.0
 */
export const layerOf = (
  device: ListedDevice,
  { byteGranular, kernelCacheCapacity }: OpenOptions
): Effect.Effect<Layer.Layer<Services, GpuError>> =>
  Effect.map(Backends, (backends) => {
    const backend = backends.find(({ name }) => name === device.backend)
    const hint = `There is no backend ${device.backend} in this process.`
    return backend === undefined
      ? Layer.effectContext(unavailable([], hint))
      : backend.open(device, { byteGranular, kernelCacheCapacity })
  })

/** Opens the first candidate that can be opened. A candidate that fails to open leaves nothing. */
const openFirst = Effect.fnUntraced(function*(
  by: By,
  options: OpenOptions
): Effect.fn.Return<Context.Context<Services>, GpuError, Scope.Scope> {
  const { devices, hint, leftOut } = yield* candidatesOf(by)
  const scope = yield* Scope.Scope
  const failed: Array<ProbedDevice> = []
  for (const device of devices) {
    const own = yield* Scope.fork(scope)
    const opened = yield* Effect.result(Layer.buildWithScope(yield* layerOf(device, options), own))
    if (opened._tag === "Success") return opened.success
    yield* Scope.close(own, Exit.void)
    failed.push({
      backend: device.backend,
      device: nameOf(device).slice(device.backend.length + 1),
      why: whyOf(opened.failure)
    })
  }
  return yield* unavailable([...failed, ...leftOut], hint)
})

/** As `opencl:0:1 Intel(R) Arc(TM)`. */
const nameOf = (device: ListedDevice): string =>
  `${DeviceSelector.format(DeviceSelector.of(device))} ${device.device?.name ?? ""}`.trim()

/**
 * The devices on which tests run: those of `selector`, else of the variable GPU_POOL_TEST, else of PYOPENCL_TEST, else
 * all usable ones, also the host. Give them to `DeviceTests.make` of `@effect-gpu-pool/testing`.
 *
 * Never fails: `problem` says what is wrong with the selection, and the tests must fail with it.
 *
 * **Example** (A suite on every selected device)
 *
 * ```ts no-run
 * import { Effect } from "effect"
 * import { BufferPool, CommandQueue } from "effect-gpu-pool"
 * import { Devices } from "effect-gpu-pool/devices"
 * import { DeviceTests } from "@effect-gpu-pool/testing"
 * import { afterAll, describe, it } from "vitest"
 *
 * const devices = await Effect.runPromise(Devices.forTests())
 * const { itDevices } = DeviceTests.make({ describe, it, afterAll }, devices, { over: BufferPool.layer() })
 *
 * itDevices("fills", BufferPool.use(64, (buffer) => CommandQueue.fill(buffer, 0)))
 * ```
 *
 * @see pyopencl.tools.pytest_generate_tests_for_pyopencl (PYOPENCL_TEST), pycuda.tools.mark_cuda_test
 * @category testing
 * @since 0.1.0
 */
export const forTests = (
  options?: OpenOptions & { readonly selector?: string | DeviceSelector.DeviceSelector | undefined }
): Effect.Effect<TestDevices> =>
  Effect.gen(function*() {
    const read = LayerOptions.read("Devices.forTests", testOptions, options)
    if (isGpuError(read)) return yield* read
    const { selector, source } = yield* selectingStep(
      "Devices.forTests",
      (operation, backends) => chosen(operation, backends, { selector: read.selector }, SelectionSources.forTests)
    )
    const listed = yield* listFor(selector)
    const { devices, misses } = selector === undefined
      ? { devices: listed.filter(({ unusable }) => unusable === undefined), misses: [] }
      : DeviceSelector.select(selector, listed)
    const problem = misses.length > 0
      ? unavailable(misses.map(triedOf), hintOf(selector!, source)).message
      : undefined
    return { source, devices: yield* Effect.forEach(devices, (device) => testDevice(device, read)), problem }
  }).pipe(
    Effect.catch(({ message }) => Effect.succeed({ source: "none", devices: [], problem: message }))
  )

const testDevice = (device: ListedDevice, options: OpenOptions): Effect.Effect<TestDevice> =>
  Effect.map(layerOf(device, options), (layer) => ({ name: nameOf(device), platform: platformOf(device), layer }))

/** As `opencl:0 Portable Computing Language`. */
const platformOf = ({ backend, platform }: ListedDevice): string | undefined =>
  platform && `${backend}:${platform.index} ${platform.name}`.trim()

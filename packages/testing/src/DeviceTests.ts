/**
 * Tests that run once on every selected device, in the test framework that you pass. You pass the devices too, so this
 * module loads no framework and no driver.
 *
 * @see pyopencl.tools.pytest_generate_tests_for_pyopencl, pycuda.tools.mark_cuda_test
 * @since 0.1.0
 */
import { DeviceContext } from "effect-gpu-pool/DeviceContext"
import type { TestDevice, TestDevices } from "effect-gpu-pool/TestDevices"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type { Device } from "./ConformanceTest.ts"
import * as Expect from "./Expect.ts"
import type { TaggingFramework, TestFramework } from "./TestFramework.ts"

export type { TaggingFramework } from "./TestFramework.ts"

/**
 * A test, as an effect. It can use the services of its device and of the layer over it, and a scope of its own.
 *
 * @category models
 * @since 0.1.0
 */
export type DeviceTest<R> = Effect.Effect<unknown, unknown, Device | Scope.Scope | R>

/**
 * Registers one test on one device.
 *
 * @category models
 * @since 0.1.0
 */
export type ItOnDevice<R> = (title: string, test: DeviceTest<R>) => void

/**
 * The selected devices of one platform, at least one. Tests of the platform run on the first.
 *
 * @category models
 * @since 0.1.0
 */
export interface TestPlatform {
  /** The platform's name, as its devices give it; the device's own name where it has no platform. */
  readonly name: string
  readonly devices: readonly [TestDevice, ...ReadonlyArray<TestDevice>]
}

/**
 * Registers tests on every selected device, or on every platform with a selected device.
 *
 * @category models
 * @since 0.1.0
 */
export interface DeviceTests<R> {
  /** A suite for each device, called `title on device`. */
  readonly describeDevices: (title: string, suite: (it: ItOnDevice<R>, device: TestDevice) => void) => void
  /** A test for each device, called `title on device`; `test` may be a function of the device. */
  readonly itDevices: (title: string, test: DeviceTest<R> | ((device: TestDevice) => DeviceTest<R>)) => void
  /** A suite for each platform, called `title on platform`. Its tests run on the platform's first selected device. */
  readonly describePlatforms: (title: string, suite: (it: ItOnDevice<R>, platform: TestPlatform) => void) => void
  /** A test for each platform, on its first selected device, called `title on platform`. */
  readonly itPlatforms: (title: string, test: DeviceTest<R> | ((platform: TestPlatform) => DeviceTest<R>)) => void
}

/**
 * Makes the functions that register tests on devices: those that `Devices.forTests` of `effect-gpu-pool/devices`
 * selects, or a list of your own. Each test opens its device and closes it at its end, so no test sees another's
 * kernels, buffers, counters or lost device. A test fails when its device leaves driver objects. `over` is a layer over
 * the device, as a pool; each test builds it anew.
 *
 * When a part of the selection selects no device, a test is registered that fails and says why: a run never passes for lack
 * of devices. {@link tagged} marks the tests, so that a run can select them.
 *
 * **Example** (Vitest)
 *
 * ```ts no-run
 * import { Effect } from "effect"
 * import { BufferPool, CommandQueue } from "effect-gpu-pool"
 * import { Devices } from "effect-gpu-pool/devices"
 * import { DeviceTests } from "@effect-gpu-pool/testing"
 * import { afterAll, assert, describe, it } from "vitest"
 *
 * const devices = await Effect.runPromise(Devices.forTests())
 * const { describeDevices } = DeviceTests.make({ describe, it, afterAll }, devices, { over: BufferPool.layer() })
 *
 * describeDevices("fills", (it) => {
 *   it("every element", Effect.gen(function*() {
 *     const x = yield* BufferPool.allocate(64)
 *     yield* CommandQueue.fill(x, 7)
 *     assert.deepEqual(yield* CommandQueue.read(x, Uint32Array), new Uint32Array(16).fill(7))
 *   }))
 * })
 * ```
 *
 * **Example** (A list of your own)
 *
 * ```ts
 * import { DeviceContext } from "effect-gpu-pool"
 * import { Host } from "effect-gpu-pool/host"
 * import { DeviceTests } from "@effect-gpu-pool/testing"
 *
 * const ran: Array<string> = []
 * const framework = {
 *   describe: (_title: string, suite: () => void) => suite(),
 *   it: (title: string, _test: () => Promise<void>) => ran.push(title),
 *   afterAll: () => undefined
 * }
 * const devices = [{ name: "host", layer: Host.layer() }, { name: "small host", layer: Host.layer({ capacityBytes: 64 }) }]
 * const { itDevices } = DeviceTests.make(framework, { devices })
 * itDevices("opens", DeviceContext.DeviceContext)
 * ran // => ["opens on host", "opens on small host"]
 * ```
 *
 * @category running
 * @since 0.1.0
 */
export function make(framework: TestFramework, selected: Selected): DeviceTests<never>
export function make<R>(framework: TestFramework, selected: Selected, options: Options<R>): DeviceTests<R>
export function make<R>(
  framework: TestFramework,
  selected: Selected,
  options?: Options<R>
): DeviceTests<R> | DeviceTests<never> {
  // `options` may be an object without `over`
  const over: Layer.Layer<R, unknown, Device> | undefined = options?.over
  return over === undefined ? on(framework, selected, Layer.empty) : on(framework, selected, over)
}

/**
 * The devices, and what is wrong with the selection, if anything.
 *
 * @category models
 * @since 0.1.0
 */
export interface Selected extends Pick<TestDevices, "devices">, Partial<Pick<TestDevices, "source" | "problem">> {}

/**
 * What else the tests get.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options<R> {
  /** The layer over each device, as `BufferPool.layer()`. */
  readonly over: Layer.Layer<R, unknown, Device>
}

const on = <R>(
  framework: TestFramework,
  { devices, problem }: Selected,
  over: Layer.Layer<R, unknown, Device>
): DeviceTests<R> => {
  const message = problem ?? (devices.length === 0 ? "no device was selected" : undefined)
  if (message !== undefined) {
    framework.it("the selection of devices selects some", () => Promise.reject(new Expect.Mismatch({ message })))
  }
  const itOn: ItOn<R> = (device, title, test) => framework.it(title, () => Effect.runPromise(runOn(device, over, test)))
  const onDevices = onEach(framework, itOn, devices, (device) => device)
  const onPlatforms = onEach(framework, itOn, platformsOf(devices), (platform) => platform.devices[0])
  return {
    describeDevices: onDevices.describe,
    itDevices: onDevices.it,
    describePlatforms: onPlatforms.describe,
    itPlatforms: onPlatforms.it
  }
}

type ItOn<R> = (device: TestDevice, title: string, test: DeviceTest<R>) => void

/** Registers a suite or a test for each device or platform, with its name in the title. */
const onEach = <R, T extends { readonly name: string }>(
  framework: TestFramework,
  itOn: ItOn<R>,
  targets: ReadonlyArray<T>,
  deviceOf: (target: T) => TestDevice
) => ({
  describe: (title: string, suite: (it: ItOnDevice<R>, target: T) => void): void => {
    for (const target of targets) {
      framework.describe(
        `${title} on ${target.name}`,
        () => suite((title, test) => itOn(deviceOf(target), title, test), target)
      )
    }
  },
  it: (title: string, test: DeviceTest<R> | ((target: T) => DeviceTest<R>)): void => {
    for (const target of targets) {
      itOn(deviceOf(target), `${title} on ${target.name}`, Effect.isEffect(test) ? test : test(target))
    }
  }
})

/** The platforms, in the order of their first devices. */
const platformsOf = (devices: ReadonlyArray<TestDevice>): ReadonlyArray<TestPlatform> => {
  const platforms = new Map<string | TestDevice, TestPlatform>()
  for (const device of devices) {
    const key = device.platform ?? device
    const before = platforms.get(key)?.devices
    platforms.set(key, {
      name: device.platform ?? device.name,
      devices: before === undefined ? [device] : [...before, device]
    })
  }
  return [...platforms.values()]
}

/**
 * A framework that adds tags to its tests, by which a run selects them or leaves them out, as `vitest run
 * --tags-filter` does. Pass it to {@link make} or `Conformance.register`; the test that fails for lack of devices is
 * tagged too. Vitest requires that `test.tags` of its configuration lists the tags.
 *
 * **Example** (Vitest)
 *
 * ```ts no-run
 * import { Effect } from "effect"
 * import { CommandQueue } from "effect-gpu-pool"
 * import { Devices } from "effect-gpu-pool/devices"
 * import { DeviceTests } from "@effect-gpu-pool/testing"
 * import { afterAll, describe, it } from "vitest"
 *
 * const devices = await Effect.runPromise(Devices.forTests())
 * const { itDevices } = DeviceTests.make(DeviceTests.tagged({ describe, it, afterAll }, "gpu"), devices)
 *
 * itDevices("finishes", CommandQueue.finish) // vitest run --tags-filter=gpu, or --tags-filter='!gpu'
 * ```
 *
 * **Example** (A list of your own)
 *
 * ```ts
 * import { DeviceContext } from "effect-gpu-pool"
 * import { Host } from "effect-gpu-pool/host"
 * import { DeviceTests } from "@effect-gpu-pool/testing"
 *
 * const ran: Array<string> = []
 * const framework = {
 *   describe: (_title: string, suite: () => void) => suite(),
 *   it: (title: string, { tags }: { readonly tags: Array<string> }, _test: () => Promise<void>) =>
 *     ran.push(`${title} #${tags.join(" #")}`),
 *   afterAll: () => undefined
 * }
 * const devices = [{ name: "host", layer: Host.layer() }]
 * const { itDevices } = DeviceTests.make(DeviceTests.tagged(framework, "gpu", "slow"), { devices })
 * itDevices("opens", DeviceContext.DeviceContext)
 * ran // => ["opens on host #gpu #slow"]
 * ```
 *
 * @see pycuda.tools.mark_cuda_test
 * @category running
 * @since 0.1.0
 */
export const tagged = (framework: TaggingFramework, ...tags: ReadonlyArray<string>): TestFramework => ({
  describe: (title, suite) => framework.describe(title, suite),
  it: (title, test) => framework.it(title, { tags: [...tags] }, test),
  afterAll: (hook) => framework.afterAll(hook)
})

/** Opens the device, runs the test on it, closes it, and checks that no driver object is left. */
const runOn = <R>(
  { layer }: TestDevice,
  over: Layer.Layer<R, unknown, Device>,
  test: DeviceTest<R>
): Effect.Effect<void, unknown> =>
  Effect.gen(function*() {
    const { driverObjects } = yield* Effect.scoped(Effect.flatMap(
      Layer.build(Layer.provideMerge(over, layer)),
      (context) => Effect.provideContext(Effect.andThen(test, DeviceContext), context)
    ))
    Expect.same("driver objects after the close", driverObjects.liveByKind, {})
  })

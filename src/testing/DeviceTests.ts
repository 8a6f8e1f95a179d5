/**
 * Tests that run once on every selected device, in a test framework of your own. The framework is an argument, and so
 * are the devices, so that nothing here loads a framework or a driver.
 *
 * @see pyopencl.tools.pytest_generate_tests_for_pyopencl, pycuda.tools.mark_cuda_test
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type { TestDevice, TestDevices } from "../devices/TestDevices.ts"
import { DeviceContext } from "../services/DeviceContext.ts"
import type { Device } from "./ConformanceTest.ts"
import * as Expect from "./Expect.ts"
import type { TestFramework } from "./TestFramework.ts"

/**
 * A test, as a program: it may ask for the services of its device, for what stands over it, and for a scope of its own.
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
 * Registers tests on every selected device.
 *
 * @category models
 * @since 0.1.0
 */
export interface DeviceTests<R> {
  /** A suite for each device, called `title on device`. */
  readonly describeDevices: (title: string, suite: (it: ItOnDevice<R>, device: TestDevice) => void) => void
  /** A test for each device, called `title on device`; `test` may be a function of the device. */
  readonly itDevices: (title: string, test: DeviceTest<R> | ((device: TestDevice) => DeviceTest<R>)) => void
}

/**
 * Ways to register tests on devices, which `Devices.forTests` of `effect-gpu-pool/devices` selects, or a list of your
 * own. Each test opens its device anew and closes it at its end, so no test sees another's kernels, buffers, counters
 * or lost device; a device that leaves driver objects behind fails its test. `over` stands on the device, as a pool
 * does, and is built anew with it.
 *
 * A selection that selects nothing, or of which any part does not, registers a test that fails and says why: a run
 * never passes for lack of devices.
 *
 * **Example** (Vitest)
 *
 * ```ts no-run
 * import { Effect } from "effect"
 * import { BufferPool, CommandQueue } from "effect-gpu-pool"
 * import { Devices } from "effect-gpu-pool/devices"
 * import { DeviceTests } from "effect-gpu-pool/testing"
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
 * import { DeviceTests } from "effect-gpu-pool/testing"
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
  return options === undefined ? on(framework, selected, Layer.empty) : on(framework, selected, options.over)
}

/**
 * The devices, and what is wrong with their selection.
 *
 * @category models
 * @since 0.1.0
 */
export interface Selected extends Pick<TestDevices, "devices">, Partial<Pick<TestDevices, "source" | "problem">> {}

/**
 * What tests have besides their device.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options<R> {
  /** What stands on each device, as `BufferPool.layer()`. */
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
  const itOn = (device: TestDevice, title: string, test: DeviceTest<R>): void => {
    framework.it(title, () => Effect.runPromise(runOn(device, over, test)))
  }
  return {
    describeDevices: (title, suite) => {
      for (const device of devices) {
        framework.describe(
          `${title} on ${device.name}`,
          () => suite((title, test) => itOn(device, title, test), device)
        )
      }
    },
    itDevices: (title, test) => {
      for (const device of devices) {
        itOn(device, `${title} on ${device.name}`, Effect.isEffect(test) ? test : test(device))
      }
    }
  }
}

/** Runs a test on a device that is opened for it, and sees to it that the closed device has left nothing behind. */
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

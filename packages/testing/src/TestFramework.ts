/**
 * Conformance tests in a test framework. The framework is an argument, so this module loads none.
 *
 * @since 0.1.0
 */
import { DeviceContext } from "effect-gpu-pool/DeviceContext"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import { type ConformanceTest, type Device, type Replay, replay, workScale } from "./ConformanceTest.ts"
import * as Expect from "./Expect.ts"

/**
 * The functions of a framework that the suite calls. Vitest has them; Mocha, Jest and node:test have similar ones.
 *
 * @category models
 * @since 0.1.0
 */
export interface TestFramework {
  readonly describe: (title: string, suite: () => void) => unknown
  readonly it: (title: string, test: () => Promise<void>) => unknown
  readonly afterAll: (hook: () => Promise<void>) => unknown
}

/**
 * The functions of a framework with tags, as vitest: its `it` takes options before the test.
 *
 * @category models
 * @since 0.1.0
 */
export interface TaggingFramework extends Omit<TestFramework, "it"> {
  /** A method, so that a framework may declare its tags as a type. */
  it(title: string, options: { tags: Array<string> }, test: () => Promise<void>): unknown
}

/**
 * Registers tests with a framework: a suite for each group. All tests run on one device, which opens before the first test
 * and closes after the last. A last check fails when a driver object is left.
 *
 * **Example** (Vitest)
 *
 * ```ts
 * import { Host } from "effect-gpu-pool/host"
 * import { Conformance } from "@effect-gpu-pool/testing"
 * import { afterAll, describe, it } from "vitest"
 *
 * const layer = Host.layer()
 * export const conforms = () =>
 *   describe("Host", () => Conformance.register({ describe, it, afterAll }, layer, Conformance.suite(layer)))
 * ```
 *
 * @category running
 * @since 0.1.0
 */
export const register = <E>(
  framework: TestFramework,
  layer: Layer.Layer<Device, E>,
  suite: ReadonlyArray<ConformanceTest>,
  options?: {
    /** See {@link workScale}. */
    readonly workScale?: number | undefined
    /** See {@link replay}. */
    readonly replay?: Replay | undefined
  }
): void => {
  const runtime = ManagedRuntime.make(layer)
  for (const group of new Set(suite.map((test) => test.group))) {
    framework.describe(group, () => {
      for (const test of suite.filter((test) => test.group === group)) {
        framework.it(test.name, () =>
          runtime.runPromise(
            Effect.asVoid(test.run).pipe(
              Effect.provideService(workScale, options?.workScale ?? 1),
              Effect.provideService(replay, options?.replay)
            )
          ))
      }
    })
  }
  framework.afterAll(async () => {
    const { driverObjects } = await runtime.runPromise(DeviceContext)
    await runtime.dispose()
    Expect.same("driver objects after the close", driverObjects.liveByKind, {})
  })
}

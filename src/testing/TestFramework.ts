/**
 * Conformance tests in a test framework. The framework is an argument, so that nothing here loads one.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as KnownOptions from "../domain/arguments/KnownOptions.ts"
import { DeviceContext } from "../services/device/DeviceContext.ts"
import { type ConformanceTest, type Device, type Replay, replay, workScale } from "./ConformanceTest.ts"
import * as Expect from "./Expect.ts"

/**
 * What is used of a framework; vitest has these functions, and so have Mocha, Jest and node:test under similar names.
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
 * What is used of a framework whose tests carry tags, as vitest's: its `it` takes options before the test.
 *
 * @category models
 * @since 0.1.0
 */
export interface TaggingFramework extends Omit<TestFramework, "it"> {
  /** A method, so that a framework may know its tags by their types. */
  it(title: string, options: { tags: Array<string> }, test: () => Promise<void>): unknown
}

/**
 * Registers tests with a framework: a suite for each group, on one device that is opened for the first test and closed
 * after the last. The close must leave no driver object. Throws a TypeError for an unknown option.
 *
 * **Example** (Vitest)
 *
 * ```ts
 * import { Host } from "effect-gpu-pool/host"
 * import { Conformance } from "effect-gpu-pool/testing"
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
  KnownOptions.demand("Conformance.register", options, known)
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

const known = KnownOptions.of<NonNullable<Parameters<typeof register>[3]>>({ workScale: true, replay: true })

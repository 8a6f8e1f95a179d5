/**
 * What every backend must do, as tests that any runner can run: plain data, without a test framework.
 *
 * @since 0.1.0
 */
import { DeviceContext } from "effect-gpu-pool/DeviceContext"
import type { DriverObjects } from "effect-gpu-pool/DriverObjects"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as EachArrayOperation from "./arrays/EachArrayOperation.ts"
import * as EachProduct from "./arrays/EachProduct.ts"
import * as EachReduction from "./arrays/EachReduction.ts"
import * as Loops from "./arrays/Loops.ts"
import * as RandomPrograms from "./arrays/RandomPrograms.ts"
import * as BadCommands from "./commands/BadCommands.ts"
import * as BadDispatches from "./commands/BadDispatches.ts"
import * as CopiesAndFills from "./commands/CopiesAndFills.ts"
import * as Dispatches from "./commands/Dispatches.ts"
import * as Events from "./commands/Events.ts"
import * as KernelCaching from "./commands/KernelCaching.ts"
import * as Ordering from "./commands/Ordering.ts"
import * as Queues from "./commands/Queues.ts"
import * as RandomCommands from "./commands/RandomCommands.ts"
import * as Rectangles from "./commands/Rectangles.ts"
import * as Sources from "./commands/Sources.ts"
import * as Transfers from "./commands/Transfers.ts"
import * as Workgroups from "./commands/Workgroups.ts"
import { type ConformanceTest, type Device, runsCommands } from "./ConformanceTest.ts"
import * as EventLoop from "./EventLoop.ts"
import * as Expect from "./Expect.ts"
import * as EachOperation from "./expressions/EachOperation.ts"
import * as RandomExpressions from "./expressions/RandomExpressions.ts"
import { onAnyDevice } from "./images/AnyDevice.ts"
import * as ImageKernels from "./images/ImageKernels.ts"
import * as ImageMappings from "./images/ImageMappings.ts"
import * as ImagesFromHost from "./images/ImagesFromHost.ts"
import * as ImagesOnDevice from "./images/ImagesOnDevice.ts"
import * as ImagesOverBuffers from "./images/ImagesOverBuffers.ts"
import * as PooledImages from "./images/PooledImages.ts"
import * as Alignment from "./memory/Alignment.ts"
import * as BadRequests from "./memory/BadRequests.ts"
import * as EmptyBuffers from "./memory/EmptyBuffers.ts"
import * as HostAccess from "./memory/HostAccess.ts"
import * as Mappings from "./memory/Mappings.ts"
import * as OneLimit from "./memory/OneLimit.ts"
import * as Openings from "./memory/Openings.ts"
import * as Ownership from "./memory/Ownership.ts"
import * as Regions from "./memory/Regions.ts"
import * as Staging from "./memory/Staging.ts"
import * as StagingBothWays from "./memory/StagingBothWays.ts"
import * as StagingInSlabs from "./memory/StagingInSlabs.ts"
import * as StreamedTransfers from "./memory/StreamedTransfers.ts"
import * as TransferredMemory from "./memory/TransferredMemory.ts"
import * as WrongValues from "./memory/WrongValues.ts"
import * as AllocatorRules from "./pool/AllocatorRules.ts"
import * as EndedLeases from "./pool/EndedLeases.ts"
import * as Interruption from "./pool/Interruption.ts"
import * as PoolOnDevice from "./pool/PoolOnDevice.ts"
import * as Reservations from "./pool/Reservations.ts"
import * as Tenants from "./pool/Tenants.ts"
import * as ElementVectors from "./values/ElementVectors.ts"
import * as KernelValues from "./values/KernelValues.ts"

export { allocator, type ConformanceTest, type Device, type Replay, replay, workScale } from "./ConformanceTest.ts"
export { Mismatch } from "./Expect.ts"
export { register, type TestFramework } from "./TestFramework.ts"

/**
 * The tests that share one open device. They run one after the other, and nothing else may use the device meanwhile.
 *
 * **Example** (Listing what is tested)
 *
 * ```ts
 * import { Conformance } from "@effect-gpu-pool/testing"
 *
 * const titles = Conformance.tests.map(({ group, name }) => `${group}: ${name}`)
 * ```
 *
 * @category suites
 * @since 0.1.0
 */
export const tests: ReadonlyArray<ConformanceTest> = [
  ...Transfers.tests,
  ...CopiesAndFills.tests,
  ...Rectangles.tests,
  ...Alignment.tests,
  ...EmptyBuffers.tests,
  ...HostAccess.tests,
  ...Mappings.tests,
  ...TransferredMemory.tests,
  ...Staging.tests,
  ...StagingBothWays.tests,
  ...StagingInSlabs.tests,
  ...StreamedTransfers.tests,
  ...OneLimit.tests,
  ...Events.tests,
  ...Queues.tests,
  ...EndedLeases.tests,
  ...Regions.tests,
  ...Dispatches.tests,
  ...Workgroups.tests,
  ...Sources.tests,
  ...KernelValues.tests,
  ...ElementVectors.tests,
  ...KernelCaching.tests,
  ...Ordering.tests,
  ...RandomCommands.tests,
  ...onAnyDevice([
    ...ImagesOnDevice.tests,
    ...ImageMappings.tests,
    ...ImagesOverBuffers.tests,
    ...ImagesFromHost.tests,
    ...PooledImages.tests,
    ...ImageKernels.tests
  ]),
  ...EachOperation.tests,
  ...RandomExpressions.tests,
  ...EachArrayOperation.tests,
  ...EachReduction.tests,
  ...EachProduct.tests,
  ...RandomPrograms.tests,
  ...Loops.tests,
  ...AllocatorRules.tests,
  ...PoolOnDevice.tests,
  ...Ownership.tests,
  ...Reservations.tests,
  ...Tenants.tests,
  ...BadRequests.tests,
  ...WrongValues.tests,
  ...BadCommands.tests,
  ...BadDispatches.tests,
  ...Interruption.tests,
  ...EventLoop.tests
]

/**
 * The tests that open devices of their own with the layer under test.
 *
 * **Example** (Testing only how a backend opens and closes)
 *
 * ```ts
 * import { Host } from "effect-gpu-pool/host"
 * import { Conformance } from "@effect-gpu-pool/testing"
 *
 * const names = Conformance.openings(Host.layer()).map(({ name }) => name)
 * ```
 *
 * @category suites
 * @since 0.1.0
 */
export const openings: <E>(layer: Layer.Layer<Device, E>) => ReadonlyArray<ConformanceTest> = Openings.tests

/**
 * Everything: {@link tests} and {@link openings}.
 *
 * **Example** (Running everything on a backend)
 *
 * ```ts
 * import { Host } from "effect-gpu-pool/host"
 * import { Conformance } from "@effect-gpu-pool/testing"
 *
 * const layer = Host.layer()
 * const outcomes = Conformance.runAll(layer, Conformance.suite(layer))
 * ```
 *
 * @category suites
 * @since 0.1.0
 */
export const suite = <E>(layer: Layer.Layer<Device, E>): ReadonlyArray<ConformanceTest> => [
  ...tests,
  ...openings(layer)
]

/**
 * The tests of a suite that compare only counters, never data. A device that runs no commands, as Dawn's null backend,
 * can pass them.
 *
 * **Example** (What a device without commands can pass)
 *
 * ```ts
 * import { Conformance } from "@effect-gpu-pool/testing"
 * import { WebGpu } from "effect-gpu-pool/webgpu"
 *
 * const layer = WebGpu.layer({ flags: ["backend=null"] })
 * const outcomes = Conformance.runAll(layer, Conformance.counting(Conformance.suite(layer)))
 * ```
 *
 * @category suites
 * @since 0.1.0
 */
export const counting = (suite: ReadonlyArray<ConformanceTest>): ReadonlyArray<ConformanceTest> =>
  suite.filter((test) => test.counting).map((test) => ({
    ...test,
    run: Effect.provideService(test.run, runsCommands, false)
  }))

/**
 * How one test ended. If it did not pass, `problem` says why.
 *
 * @category models
 * @since 0.1.0
 */
export interface Outcome {
  readonly group: string
  readonly name: string
  readonly passed: boolean
  readonly problem: string | undefined
}

/**
 * Runs tests one after the other on one device, closes it, and checks that no driver object is left. For a page, or any
 * place without a test framework. Fails only when the device cannot be opened.
 *
 * **Example** (Running the suite in a page)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Host } from "effect-gpu-pool/host"
 * import { Conformance } from "@effect-gpu-pool/testing"
 *
 * const layer = Host.layer()
 * const transfers = Conformance.tests.filter((test) => test.group === "transfers")
 * const outcomes = await Effect.runPromise(Conformance.runAll(layer, transfers))
 * outcomes.filter((outcome) => !outcome.passed) // => []
 * ```
 *
 * @category running
 * @since 0.1.0
 */
export const runAll = <E>(
  layer: Layer.Layer<Device, E>,
  suite: ReadonlyArray<ConformanceTest>
): Effect.Effect<ReadonlyArray<Outcome>, E> =>
  Effect.flatMap(
    Effect.scoped(Effect.flatMap(
      Layer.build(Layer.fresh(layer)),
      Effect.fnUntraced(function*(context) {
        const outcomes = yield* Effect.forEach(suite, (test) => Effect.provide(outcomeOf(test), context))
        return { outcomes, driverObjects: Context.get(context, DeviceContext).driverObjects }
      })
    )),
    ({ driverObjects, outcomes }) => Effect.map(outcomeOf(closedClean(driverObjects)), (last) => [...outcomes, last])
  )

const outcomeOf = <R>({ group, name, run }: {
  readonly group: string
  readonly name: string
  readonly run: Effect.Effect<void, unknown, R>
}): Effect.Effect<Outcome, never, R> =>
  Effect.map(Effect.exit(run), (exit) => ({
    group,
    name,
    passed: Exit.isSuccess(exit),
    problem: Exit.isSuccess(exit) ? undefined : Cause.pretty(exit.cause)
  }))

const closedClean = (driverObjects: DriverObjects) => ({
  group: "opening and closing",
  name: "the device under test leaves no driver object",
  run: Effect.sync(() => Expect.same("driver objects after the close", driverObjects.liveByKind, {}))
})

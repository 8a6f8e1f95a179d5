/** The suite itself: it finds the mistakes of broken backends, and runs without a test framework. */
import { Conformance } from "@effect-gpu-pool/testing"
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import { DeviceContext } from "effect-gpu-pool"
import type { ImageDriver, QueueDriver } from "effect-gpu-pool/backend"
import { Host } from "effect-gpu-pool/host"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import { some } from "../support/explore.ts"
import { withDrivers } from "../support/withDrivers.ts"

type Driver = QueueDriver.QueueDriver["Service"]

/** The host backend with a driver that does something wrong. */
const broken = (change: (driver: Driver) => Partial<Driver>): Layer.Layer<Conformance.Device, unknown> =>
  Layer.effectContext(Effect.map(Layer.build(Host.layer()), (host) => withDrivers(host, { queue: change })))

const eachNumber = ({ scalars }: QueueDriver.Dispatch, change: (scalar: number) => number) =>
  scalars.map((scalar) => typeof scalar === "number" ? change(scalar) : scalar)

type ImagesDriver = ImageDriver.ImageDriver["Service"]

/** The host backend with an image driver that does something wrong. */
const brokenImages = (
  change: (driver: ImagesDriver) => Partial<ImagesDriver>
): Layer.Layer<Conformance.Device, unknown> =>
  Layer.effectContext(Effect.map(Layer.build(Host.layer()), (host) => withDrivers(host, { images: change })))

const imageFaults: ReadonlyArray<
  readonly [name: string, group: string, change: (driver: ImagesDriver) => Partial<ImagesDriver>]
> = [
  [
    "write every part at the origin",
    "images",
    ({ writeUnsafe }) => ({
      writeUnsafe: (target, region, data) => writeUnsafe(target, { ...region, origin: [0, 0, 0] }, data)
    })
  ],
  [
    "fill the first slice alone",
    "images",
    ({ fillUnsafe }) => ({
      fillUnsafe: (target, region, element) =>
        fillUnsafe(target, { ...region, extent: [region.extent[0], region.extent[1], 1] }, element)
    })
  ],
  [
    "copy to where the source is",
    "images",
    ({ copyUnsafe }) => ({
      copyUnsafe: (source, target, _, region) => copyUnsafe(source, target, region.origin, region)
    })
  ],
  [
    "copy to the start of a buffer",
    "images",
    ({ toBufferUnsafe }) => ({ toBufferUnsafe: (source, region, target) => toBufferUnsafe(source, region, target, 0) })
  ],
  ["keep what a fill should replace", "image pool", () => ({ fillUnsafe: () => Exit.void })],
  ["are never given back", "images", () => ({ destroyUnsafe: () => Exit.void })]
]

/** The host backend with a device that keeps every buffer. */
const leaking = Layer.provideMerge(
  Layer.effect(
    DeviceContext.DeviceContext,
    DeviceContext.DeviceContext.useSync((device) => ({ ...device, destroyBufferUnsafe: () => Exit.void }))
  ),
  Host.layer()
)

const faults: ReadonlyArray<
  readonly [name: string, group: string, change: (driver: Driver) => Partial<Driver>]
> = [
  [
    "forgets a write's offset",
    "transfers",
    ({ writeUnsafe }) => ({ writeUnsafe: (target, _, data) => writeUnsafe(target, 0, data) })
  ],
  [
    "cuts a write to whole words",
    "transfers",
    ({ writeUnsafe }) => ({
      writeUnsafe: (target, offset, data) =>
        writeUnsafe(target, offset, data.subarray(0, data.length - data.length % 4))
    })
  ],
  [
    "keeps the caller's array",
    "transfers",
    ({ writeUnsafe }) => ({
      writeUnsafe: (target, offset, data) => {
        queueMicrotask(() => {
          // A mapping's data may be detached by then, with nothing to write back.
          if (data.byteLength > 0 && !target.destroyed) writeUnsafe(target, offset, data)
        })
        return Exit.void
      }
    })
  ],
  [
    "turns a pattern's bytes round",
    "copies and fills",
    ({ fillUnsafe }) => ({
      fillUnsafe: (target, offset, bytes, pattern) => {
        const view = new DataView(new ArrayBuffer(4))
        view.setUint32(0, pattern, true)
        return fillUnsafe(target, offset, bytes, view.getUint32(0))
      }
    })
  ],
  [
    "fills whole patterns only",
    "copies and fills",
    ({ fillUnsafe }) => ({
      fillUnsafe: (target, offset, bytes, pattern) =>
        bytes < 4 ? Exit.void : fillUnsafe(target, offset, bytes - bytes % 4, pattern)
    })
  ],
  [
    "repeats the first word of a longer pattern",
    "copies and fills",
    ({ fillUnsafe }) => ({
      fillWideUnsafe: (target, offset, bytes, [first]) => fillUnsafe(target, offset, bytes, first!)
    })
  ],
  [
    "repeats no more than 16 bytes of a pattern",
    "copies and fills",
    ({ fillWideUnsafe }) => ({
      fillWideUnsafe: (target, offset, bytes, patterns) => fillWideUnsafe(target, offset, bytes, patterns.slice(0, 4))
    })
  ],
  [
    "leaves the end of a block as it was when it clears it",
    "tenants",
    ({ fillUnsafe }) => ({
      fillUnsafe: (target, offset, bytes, pattern) =>
        fillUnsafe(target, offset, pattern === 0 ? Math.min(bytes, 64) : bytes, pattern)
    })
  ],
  [
    "copies to the source's offset",
    "copies and fills",
    ({ copyUnsafe }) => ({
      copyUnsafe: (source, sourceOffset, target, _, bytes) =>
        copyUnsafe(source, sourceOffset, target, Math.min(sourceOffset, target.size - bytes), bytes)
    })
  ],
  [
    "runs whole workgroups",
    "kernels",
    ({ dispatchUnsafe }) => ({
      dispatchUnsafe: (dispatch) => dispatchUnsafe({ ...dispatch, count: Math.ceil(dispatch.count / 2) * 2 })
    })
  ],
  [
    "tells a body the block's length",
    "kernels",
    ({ dispatchUnsafe }) => ({
      dispatchUnsafe: (dispatch) =>
        dispatchUnsafe({
          ...dispatch,
          vectors: dispatch.vectors.map((vector) => ({ ...vector, size: vector.buffer.size }))
        })
    })
  ],
  [
    "ignores offsets of views",
    "kernels",
    ({ dispatchUnsafe }) => ({
      dispatchUnsafe: (dispatch) =>
        dispatchUnsafe({ ...dispatch, vectors: dispatch.vectors.map((vector) => ({ ...vector, offset: 0 })) })
    })
  ],
  [
    "rounds scalars to 32-bit floats",
    "kernels",
    ({ dispatchUnsafe }) => ({
      dispatchUnsafe: (dispatch) => dispatchUnsafe({ ...dispatch, scalars: eachNumber(dispatch, Math.fround) })
    })
  ],
  [
    "passes a short vector of three without its last",
    "values",
    ({ dispatchUnsafe }) => ({
      dispatchUnsafe: (dispatch) =>
        dispatchUnsafe({
          ...dispatch,
          scalars: dispatch.scalars.map((scalar) =>
            typeof scalar === "object" && scalar.length === 3 ? [scalar[0]!, scalar[1]!, 0] : scalar
          )
        })
    })
  ],
  [
    "takes 64-bit integers for doubles",
    "values",
    ({ dispatchUnsafe }) => ({
      dispatchUnsafe: (dispatch) =>
        dispatchUnsafe({
          ...dispatch,
          scalars: dispatch.scalars.map((scalar) => typeof scalar === "bigint" ? BigInt(Number(scalar)) : scalar)
        })
    })
  ],
  [
    "loses the sign of a zero",
    "values",
    ({ dispatchUnsafe }) => ({
      dispatchUnsafe: (dispatch) => dispatchUnsafe({ ...dispatch, scalars: eachNumber(dispatch, (value) => value + 0) })
    })
  ],
  ["does not submit before a destroy", "queue order", () => ({ flushUnsafe: () => Exit.void })],
  [
    "reads from the start",
    "transfers",
    ({ readUnsafe }) => ({ readUnsafe: (source, _, bytes, answer) => readUnsafe(source, 0, bytes, answer) })
  ],
  [
    "begins a read a step late",
    "ended leases",
    ({ readUnsafe }) => ({
      readUnsafe: (source, offset, bytes, answer) => {
        answer(Effect.callback((resume) => Effect.sync(readUnsafe(source, offset, bytes, resume))))
        return () => {}
      }
    })
  ],
  [
    "forgets a row pitch",
    "rectangles",
    ({ copyRectUnsafe }) => ({
      copyRectUnsafe: (extent, source, from, target, to) =>
        copyRectUnsafe(extent, source, from, target, { ...to, rowPitch: extent[0] })
    })
  ],
  [
    "reads rectangles from the first row",
    "rectangles",
    ({ readRectUnsafe }) => ({
      readRectUnsafe: (extent, source, from, answer) => readRectUnsafe(extent, source, { ...from, offset: 0 }, answer)
    })
  ],
  [
    "writes the rows of a rectangle in a row",
    "rectangles",
    ({ writeUnsafe }) => ({ writeRectUnsafe: (_, target, to, rows) => writeUnsafe(target, to.offset, rows) })
  ],
  [
    "does not write a mapping back",
    "mappings",
    ({ readUnsafe }) => ({
      mapUnsafe: (buffer, offset, bytes) =>
        Exit.succeed({
          memory: Effect.callback((resume) => Effect.sync(readUnsafe(buffer, offset, bytes, resume))),
          unmapUnsafe: () => Exit.void
        })
    })
  ],
  ["does not wait for an event", "events", () => ({ awaitPosition: () => Effect.void })],
  ["takes every event for one of the past", "events", () => ({ positionUnsafe: () => 0 })],
  ["never fails a finish", "failures", ({ finish }) => ({ finish: Effect.ignore(finish) })],
  ["does not wait in a finish", "event loop", ({ flushUnsafe }) => ({ finish: Effect.suspend(() => flushUnsafe()) })]
]

const inGroup = (group: string) => Conformance.tests.filter((test) => test.group === group)

const shiftScalars = ({ dispatchUnsafe }: Driver): Partial<Driver> => ({
  dispatchUnsafe: (dispatch) => dispatchUnsafe({ ...dispatch, scalars: eachNumber(dispatch, (scalar) => scalar + 1) })
})

/** Mistakes that show only in the results of generated kernels. */
const wrongResults: ReadonlyArray<
  readonly [name: string, group: string, change: (driver: Driver) => Partial<Driver>]
> = ["expressions", "arrays"].flatMap((group) => [
  [
    "leaves out the last item",
    group,
    ({ dispatchUnsafe }) => ({
      dispatchUnsafe: (dispatch) => dispatchUnsafe({ ...dispatch, count: dispatch.count - 1 })
    })
  ],
  ["adds 1 to every scalar", group, shiftScalars]
])

const randomExpressions = Conformance.tests.filter(({ name }) => name.startsWith("random expressions of f32"))

/** A test that fails on the event loop gives the device more and more work before, so one of them is enough. */
const suite = Conformance.tests.filter(({ heavy, name }) =>
  !heavy || name === "the loop turns while a finish waits for fills"
)

/** Runs a hundredth of the work, and returns the failures. */
const quickly = <E>(outcomes: Effect.Effect<ReadonlyArray<Conformance.Outcome>, E>) =>
  Effect.map(
    Effect.provideService(outcomes, Conformance.workScale, 0.01),
    (outcomes) => outcomes.filter(({ passed }) => !passed)
  )

/** The failures of a group's tests, without the heavy ones, and of some others. */
const failuresOf = (
  layer: Layer.Layer<Conformance.Device, unknown>,
  group: string,
  others: ReadonlyArray<Conformance.ConformanceTest> = []
) => quickly(Conformance.runAll(layer, suite.filter((test) => test.group === group || others.includes(test))))

describe("the conformance suite", () => {
  it.live.each(faults)("notices a queue that %s, among its tests of %s", ([, group, change]) =>
    Effect.gen(function*() {
      const failed = yield* failuresOf(broken(change), group)
      assert.include(failed.map((outcome) => outcome.group), group)
      for (const { problem } of failed) assert.isString(problem)
    }))

  it.live.each(imageFaults)(
    "notices images that %s, among its tests of %s",
    ([, group, change]) =>
      Effect.gen(function*() {
        const failed = yield* quickly(Conformance.runAll(brokenImages(change), inGroup(group)))
        assert.isNotEmpty(failed.filter((outcome) => outcome.group === group))
      })
  )

  it.live("notices buffers that are never freed, in every test that has one, and at the close", () =>
    Effect.gen(function*() {
      const failed = yield* failuresOf(leaking, "transfers", some(suite))
      assert.include(failed.map(({ group }) => group), "transfers")
      for (const { problem } of failed) assert.match(problem ?? "", /buffer/)
    }))

  it.live("passes on the host, without a framework", () =>
    Effect.gen(function*() {
      const layer = Host.layer()
      const all = some(Conformance.suite(layer))
      const outcomes = yield* Effect.provideService(Conformance.runAll(layer, all), Conformance.workScale, 0.01)
      deepStrictEqual(outcomes.filter(({ passed }) => !passed), [])
      strictEqual(outcomes.length, all.length + 1)
    }))

  it.live.each(wrongResults)("notices a device that %s, among its %s", ([, group, change]) =>
    Effect.gen(function*() {
      const failed = yield* quickly(Conformance.runAll(broken(change), inGroup(group)))
      assert.isNotEmpty(failed)
    }))

  it.live("names the seed and the case of a random test that failed, and runs that case alone", () =>
    Effect.gen(function*() {
      const [failed] = yield* quickly(Conformance.runAll(broken(shiftScalars), randomExpressions))
      const [, seed, number] = /^.*seed (\d+): .*?case (\d+): /s.exec(failed?.problem ?? "") ?? []
      assert(seed !== undefined && number !== undefined, failed?.problem)
      const replay = { seed: Number(seed), case: Number(number) }
      const [again] = yield* quickly(
        Effect.provideService(Conformance.runAll(broken(shiftScalars), randomExpressions), Conformance.replay, replay)
      )
      assert.include(again?.problem, `case ${number}: `)
      const sound = yield* quickly(
        Effect.provideService(Conformance.runAll(Host.layer(), randomExpressions), Conformance.replay, replay)
      )
      deepStrictEqual(sound, [])
    }))

  it("has a name of its own for each test", () => {
    const names = Conformance.suite(Host.layer()).map(({ group, name }) => `${group}: ${name}`)
    deepStrictEqual(names.filter((name, at) => names.indexOf(name) !== at), [])
  })

  it("has a part that counts, and one that does not", () => {
    const counting = Conformance.counting(Conformance.tests)
    assert.isAbove(counting.length, 0)
    assert.isBelow(counting.length, Conformance.tests.length)
  })
})

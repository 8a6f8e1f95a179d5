/** Observations of devices: against a model, on Dawn, and as recordings. */
import { type DeviceMemoryObject, observe } from "@effect-gpu-pool/interop/observe"
import { Recording, Replay } from "@effect-gpu-pool/observability"
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as fc from "fast-check"
import { create } from "webgpu"
import { runs } from "../../../test/support/explore.ts"
import { describeWith } from "../../../test/support/required.ts"
import { FakeBuffer, FakeDevice } from "./FakeDevice.ts"

type Step =
  | { readonly _tag: "make"; readonly device: number; readonly size: number; readonly label: string }
  | { readonly _tag: "destroy"; readonly which: number }
  | { readonly _tag: "moment" }
  | { readonly _tag: "destroyDevice"; readonly device: number }

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      _tag: fc.constant("make" as const),
      device: fc.nat(1),
      size: fc.nat(1000),
      label: fc.constantFrom("", "weights", "frame")
    })
  },
  { weight: 4, arbitrary: fc.record({ _tag: fc.constant("destroy" as const), which: fc.nat(30) }) },
  { weight: 1, arbitrary: fc.constant<Step>({ _tag: "moment" }) },
  { weight: 1, arbitrary: fc.record({ _tag: fc.constant("destroyDevice" as const), device: fc.nat(1) }) }
)

interface Modelled {
  readonly id: number
  readonly device: number
  readonly size: number
  readonly label: string
  readonly object: FakeBuffer
  isLive: boolean
}

const sum = (all: ReadonlyArray<{ readonly size: number }>): number => all.reduce((bytes, { size }) => bytes + size, 0)

const idsOf = (all: ReadonlyArray<{ readonly id: number }>): ReadonlyArray<number> =>
  all.map(({ id }) => id).sort((a, b) => a - b)

const own = (object: object) =>
  Reflect.ownKeys(object).map((key) => [key, Object.getOwnPropertyDescriptor(object, key)])

describe("observe", () => {
  it("counts and lists what a model does", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const devices = [new FakeDevice("first"), new FakeDevice("second")] as const
        const observation = observe({ GPUDevice: FakeDevice })
        const all: Array<Modelled> = []
        const moments: Array<
          {
            readonly moment: ReturnType<typeof observation.moment>
            readonly live: ReadonlyArray<number>
            readonly made: number
          }
        > = []
        let peak = 0
        try {
          for (const one of steps) {
            switch (one._tag) {
              case "make": {
                const { device, label, size } = one
                const object = devices[device]!.createBuffer({ size, usage: 8, label })
                all.push({ id: all.length + 1, device, size, label, object, isLive: true })
                break
              }
              case "destroy": {
                const found = all[one.which]
                found?.object.destroy()
                if (found !== undefined) found.isLive = false
                break
              }
              case "moment":
                moments.push({
                  moment: observation.moment(),
                  live: all.filter(({ isLive }) => isLive).map(({ id }) => id),
                  made: all.length
                })
                break
              case "destroyDevice":
                devices[one.device]!.destroy()
                for (const found of all) if (found.device === one.device) found.isLive = false
            }
            const live = all.filter(({ isLive }) => isLive)
            peak = Math.max(peak, sum(live))
            deepStrictEqual(observation.counts(), {
              made: all.length,
              destroyed: all.length - live.length,
              collected: 0,
              live: live.length,
              liveBytes: sum(live),
              peakBytes: peak,
              madeBytes: sum(all)
            })
          }
          const live = all.filter(({ isLive }) => isLive)
          deepStrictEqual(idsOf(observation.live()), idsOf(live))
          strictEqual(observation.groups().reduce((bytes, group) => bytes + group.bytes, 0), sum(live))
          for (const [at, { live: then, made, moment }] of moments.entries()) {
            deepStrictEqual(idsOf(observation.live({ aliveAt: moment })), then)
            deepStrictEqual(idsOf(observation.live({ madeAfter: moment })), idsOf(live.filter(({ id }) => id > made)))
            const later = moments[at + 1]
            if (later === undefined) continue
            const between = observation.live({ madeAfter: moment, aliveAt: later.moment })
            deepStrictEqual(idsOf(between), later.live.filter((id) => id > made))
          }
        } finally {
          observation.stop()
        }
      }),
      { numRuns: runs(100) }
    )
  })

  it("changes nothing that the program sees, and leaves everything as it was", () => {
    const device = new FakeDevice()
    const before = [own(device), own(FakeDevice.prototype), own(FakeBuffer.prototype)]
    const observation = observe(device)
    const buffer = device.createBuffer({ size: 16, usage: 8 })
    assert.instanceOf(buffer, FakeBuffer)
    deepStrictEqual(Object.keys(buffer).sort(), ["isDestroyed", "label", "size", "usage"])
    assert.throws(() => device.createBuffer({ size: -1, usage: 8 }), TypeError)
    strictEqual(observation.counts().made, 1)
    deepStrictEqual([device.createBuffer.name, device.createBuffer.length], ["createBuffer", 1])
    buffer.destroy()
    buffer.destroy()
    assert.isTrue(buffer.isDestroyed)
    strictEqual(observation.counts().destroyed, 1)
    observation.stop()
    deepStrictEqual([own(device), own(FakeDevice.prototype), own(FakeBuffer.prototype)], before)
  })

  it("is one of several, which end in any order", () => {
    const device = new FakeDevice()
    const before = own(device)
    const [first, second] = [observe(device), observe(device)]
    device.createBuffer({ size: 1, usage: 8 })
    first.stop()
    first.stop()
    device.createBuffer({ size: 2, usage: 8 })
    deepStrictEqual([first.counts().made, second.counts().made], [1, 2])
    second.stop()
    deepStrictEqual(own(device), before)
  })

  it("leaves a method that other code has put over its own", () => {
    const device = new FakeDevice()
    const observation = observe(device)
    const inner = device.createBuffer
    const outer = function(this: FakeDevice, descriptor: { readonly size: number; readonly usage: number }) {
      return inner.call(this, descriptor)
    }
    device.createBuffer = outer
    observation.stop()
    strictEqual(device.createBuffer, outer)
    strictEqual(device.createBuffer({ size: 4, usage: 8 }).size, 4)
    strictEqual(observation.counts().made, 0)
  })

  it("counts an object that a device gives again only when it was destroyed", () => {
    const device = new FakeDevice()
    const one = new FakeBuffer({ size: 8, usage: 8 })
    device.createBuffer = () => one
    const observation = observe(device)
    for (let step = 0; step < 3; step++) device.createBuffer({ size: 8, usage: 8 })
    deepStrictEqual([observation.counts().made, observation.counts().live], [1, 1])
    one.destroy()
    device.createBuffer({ size: 8, usage: 8 })
    deepStrictEqual([observation.counts().made, observation.counts().live], [2, 1])
    observation.stop()
    one.destroy()
    strictEqual(observation.counts().live, 1)
  })

  it("takes stacks as a program lets the engine write them", () => {
    const device = new FakeDevice()
    const observation = observe(device, { frames: 2 })
    const { prepareStackTrace, stackTraceLimit } = Error
    const inner = () => device.createBuffer({ size: 8, usage: 8 })
    const outer = () => inner()
    try {
      Error.stackTraceLimit = 1
      outer()
      strictEqual(Error.stackTraceLimit, 1)
      const [{ frames }] = observation.live() as [DeviceMemoryObject]
      deepStrictEqual(frames.map((frame) => frame.split(" ")[0]), ["inner", "outer"])
      Error.prepareStackTrace = (_, sites) => sites
      outer()
      deepStrictEqual(observation.live()[1]!.frames, [])
    } finally {
      Error.prepareStackTrace = prepareStackTrace
      Error.stackTraceLimit = stackTraceLimit
    }
    observation.stop()
  })

  it("names the line that made an object", () => {
    const device = new FakeDevice()
    const observation = observe(device)
    const forgetful = () => device.createBuffer({ size: 64, usage: 8, label: "logits" })
    forgetful()
    forgetful()
    const [group] = observation.groups()
    deepStrictEqual([group!.count, group!.bytes, group!.label], [2, 128, "logits"])
    assert.match(group!.site!, /^forgetful .*Observe\.test\.ts:\d+:\d+\)?$/)
    assert.include(observation.table(), "2 buffers \"logits\"")
    const ignoring = observe(device, { ignore: /forgetful/ })
    forgetful()
    assert.notInclude(ignoring.groups()[0]!.site, "forgetful")
    const without = observe(device, { frames: 0 })
    forgetful()
    strictEqual(without.groups()[0]!.site, undefined)
    for (const one of [observation, ignoring, without]) one.stop()
  })

  it("follows an adapter and a GPU to their devices", async () => {
    const device = new FakeDevice()
    const adapter = { requestDevice: () => Promise.resolve(device) }
    const gpu = { requestAdapter: () => Promise.resolve(adapter) }
    const observation = observe(gpu)
    const found = await gpu.requestAdapter()
    const made = await found.requestDevice()
    strictEqual(made, device)
    made.createBuffer({ size: 8, usage: 8 })
    strictEqual(observation.counts().live, 1)
    device.lose({ reason: "unknown", message: "unplugged" })
    await device.lost
    strictEqual(observation.counts().live, 0)
    observation.stop()
    deepStrictEqual([Object.hasOwn(made, "createBuffer"), gpu.requestAdapter.name], [false, "requestAdapter"])
  })

  it.effect("gives a recording that is read, and replayed as it was", () =>
    Effect.gen(function*() {
      const device = new FakeDevice("queue")
      const observation = observe(device, { events: 6 })
      const made = [10, 20, 30, 40].map((size) => device.createBuffer({ size, usage: 8, label: "a" }))
      made[0]!.destroy()
      made[2]!.destroy()
      device.createBuffer({ size: 50, usage: 4 })
      const recording = yield* Recording.fromLines(observation.recording())
      observation.stop()
      deepStrictEqual(recording.blocks.map(({ capacity }) => capacity), [10])
      deepStrictEqual(
        Array.from(
          Recording.events(recording),
          (event) => `${event._tag} ${"capacity" in event ? event.capacity : ""}`
        ),
        ["Leased 20", "Leased 30", "Leased 40", "Released 10", "Freed 10", "Released 30", "Freed 30", "Leased 50"]
      )
      const report = yield* Replay.run(recording)
      strictEqual(report.peakActiveBytes, 110)
    }))
})

describeWith(["webgpu"], "observe, on Dawn", () => {
  const gpu = create([])

  it("sees buffers and textures, and the end of their device", async () => {
    const adapter = await gpu.requestAdapter()
    const device = await adapter!.requestDevice()
    const before = own(device)
    const observation = observe(device)
    const buffer = device.createBuffer({ size: 4096, usage: 8, label: "weights" })
    const shape = { size: [64, 32, 6], format: "rgba8unorm", usage: 4, mipLevelCount: 2 } as const
    device.createTexture({ ...shape, size: [...shape.size] })
    device.createTexture({ size: [10, 10], format: "depth32float", usage: 16 })
    const bytes = 6 * (64 * 32 + 32 * 16) * 4
    deepStrictEqual(observation.live().map((object) => [object.shape, object.bytes]), [
      ["texture rgba8unorm 64×32×6", bytes],
      ["buffer, 4,096 B", 4096],
      ["texture depth32float 10×10", 400]
    ])
    buffer.label = "renamed"
    buffer.destroy()
    deepStrictEqual([observation.counts().live, observation.counts().peakBytes], [2, bytes + 4496])
    device.destroy()
    await device.lost
    strictEqual(observation.counts().liveBytes, 0)
    observation.stop()
    deepStrictEqual(own(device), before)
  })
})

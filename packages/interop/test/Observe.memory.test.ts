/** What an observation does when objects are collected, and that it keeps none of them and little of what has ended. */
import { type Group, observe, type ObserveOptions } from "@effect-gpu-pool/interop/observe"
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { FakeDevice } from "./FakeDevice.ts"

setFlagsFromString("--expose-gc")
const collectGarbage: () => void = runInNewContext("gc")

/** What a `WeakRef` gives is kept until its turn of the event loop ends, so what was asked for must be collected in the next one. */
const collected = async (): Promise<void> => {
  for (let turn = 0; turn < 3; turn++) {
    await new Promise((resume) => setImmediate(resume))
    collectGarbage()
  }
  await new Promise((resume) => setImmediate(resume))
}

const heapBytes = async (): Promise<number> => {
  await collected()
  return process.memoryUsage().heapUsed
}

const observed = (options: ObserveOptions = {}) => {
  const device = new FakeDevice()
  const told: Array<Group> = []
  const observation = observe(device, { onCollected: (group) => told.push(group), ...options })
  return { device, observation, told }
}

const weights = (device: FakeDevice) => device.createBuffer({ size: 100, usage: 8, label: "weights" })
const frame = (device: FakeDevice) => device.createTexture({ size: 10, usage: 8, label: "frame" })

describe("what is collected without destroy", () => {
  it("is counted, and told once for each line", async () => {
    const { device, observation, told } = observed()
    const kept = weights(device)
    for (let step = 0; step < 5; step++) weights(device)
    await collected()
    deepStrictEqual(observation.counts(), {
      made: 6,
      destroyed: 0,
      collected: 5,
      live: 1,
      liveBytes: 100,
      peakBytes: 600,
      madeBytes: 600
    })
    deepStrictEqual(told.map(({ bytes, count, kind, label }) => [count, bytes, kind, label]), [
      [5, 500, "buffer", "weights"]
    ])
    assert.match(told[0]!.site!, /^weights .*Observe\.memory\.test\.ts:\d+:\d+\)?$/)
    for (let step = 0; step < 5; step++) weights(device)
    frame(device)
    await collected()
    strictEqual(observation.counts().collected, 11)
    deepStrictEqual(told.map(({ count, label }) => [count, label]), [[5, "weights"], [1, "frame"]])
    deepStrictEqual(observation.live().map(({ id }) => id), [1])
    kept.destroy()
    observation.stop()
    deepStrictEqual([observation.counts().destroyed, observation.counts().live], [1, 0])
  })

  it("is told without a question, when the engine has collected", async () => {
    const { device, observation, told } = observed()
    weights(device)
    await collected()
    strictEqual(told.length, 1)
    observation.stop()
  })

  it("is a warning on the console, unless nobody wants to know", async () => {
    const { warn } = console
    const warnings: Array<string> = []
    console.warn = (text: string) => warnings.push(text)
    try {
      const device = new FakeDevice()
      const [telling, silent] = [observe(device), observe(device, { onCollected: false })]
      weights(device)
      await collected()
      strictEqual(warnings.length, 1)
      assert.match(
        warnings[0]!,
        /^GPU memory: 1 buffer "weights", 100 B, was collected without destroy\(\), made at weights/
      )
      deepStrictEqual([telling.counts().collected, silent.counts().collected], [1, 1])
      for (const observation of [telling, silent]) observation.stop()
    } finally {
      console.warn = warn
    }
  })

  it("is not told of what was destroyed, nor after the end of the observation", async () => {
    const { device, observation, told } = observed()
    weights(device).destroy()
    await collected()
    strictEqual(observation.counts().collected, 0)
    weights(device)
    observation.stop()
    await collected()
    deepStrictEqual(told, [])
  })
})

describe("an observation", () => {
  it("keeps no device and no object", async () => {
    const weak = await (async () => {
      const device = new FakeDevice()
      const observation = observe({ GPUDevice: FakeDevice }, { onCollected: false })
      const buffer = weights(device)
      observation.moment()
      observation.live()
      return { observation, device: new WeakRef(device), buffer: new WeakRef(buffer) }
    })()
    await collected()
    deepStrictEqual([weak.device.deref(), weak.buffer.deref()], [undefined, undefined])
    strictEqual(weak.observation.counts().collected, 1)
    weak.observation.stop()
  })

  it("is itself collected when it was stopped, though its device lives", async () => {
    const device = new FakeDevice()
    const buffers: Array<object> = []
    const observation = (() => {
      const observation = observe(device)
      buffers.push(device.createBuffer({ size: 1, usage: 8 }))
      observation.stop()
      return new WeakRef(observation)
    })()
    await collected()
    strictEqual(observation.deref(), undefined)
    strictEqual(buffers.length, 1)
  })

  it("keeps nothing of 100,000 buffers that were destroyed but its last events", async () => {
    const { device, observation } = observed({ events: 1000 })
    const work = () => {
      for (let step = 0; step < 100_000; step++) weights(device).destroy()
    }
    // What is built once exists after the first time.
    work()
    const before = await heapBytes()
    work()
    const grown = await heapBytes() - before
    assert.isBelow(grown, 2 ** 18)
    strictEqual(observation.counts().destroyed, 200_000)
    observation.stop()
  })
})

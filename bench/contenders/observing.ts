/**
 * What it costs to observe a device: a buffer of 4 KiB is made and destroyed, on a device without a driver and on Dawn's null backend,
 * which runs no commands. The same program takes turns with a device that is not observed, so that other load meets all of them.
 */
import { observe } from "@effect-gpu-pool/interop/observe"
import { Effect, Schema } from "effect"
import { create } from "webgpu"
import * as Contender from "../Contender.ts"

export const Device = Schema.Literals(["without a driver", "of Dawn's null backend"])

const rounds = { warmUp: 800, measured: 2000 }
const frames = 8

const descriptor = { size: 4096, usage: 8 }

/** Makes a buffer and destroys it. */
type Pair = () => void

/** Its classes are its own, so that nothing of one that is not observed is patched. */
const withoutDriver = () => {
  class Buffer {
    label = ""
    readonly size: number
    readonly usage: number
    isDestroyed = false
    constructor({ size, usage }: typeof descriptor) {
      this.size = size
      this.usage = usage
    }
    destroy(): void {
      this.isDestroyed = true
    }
  }
  return {
    label: "",
    lost: new Promise<never>(() => {}),
    createBuffer: (given: typeof descriptor) => new Buffer(given),
    createTexture: (given: typeof descriptor) => new Buffer(given),
    destroy: () => {}
  }
}

const pairsWithoutDriver = (): ReadonlyArray<Pair> => {
  const [raw, bare, framed] = [withoutDriver(), withoutDriver(), withoutDriver()]
  observe(bare, { frames: 0 })
  observe(framed, { frames })
  return [raw, bare, framed].map((device) => () => device.createBuffer(descriptor).destroy())
}

const opened = async (gpu: GPU): Promise<GPUDevice> => {
  const adapter = await gpu.requestAdapter()
  if (adapter === null) throw new Error("Dawn gives no adapter of its null backend")
  return adapter.requestDevice()
}

/** All have one class of buffers, so the device that is not observed gets the methods as they were. */
const pairsOfDawn = async (): Promise<ReadonlyArray<Pair>> => {
  const gpu = create(["backend=null"])
  const [raw, bare, framed] = [await opened(gpu), await opened(gpu), await opened(gpu)]
  const { createBuffer } = raw
  const { destroy } = createBuffer.call(raw, descriptor)
  observe(bare, { frames: 0 })
  observe(framed, { frames })
  return [
    () => destroy.call(createBuffer.call(raw, descriptor)),
    () => bare.createBuffer(descriptor).destroy(),
    () => framed.createBuffer(descriptor).destroy()
  ]
}

/** Programs call from far inside. */
const inside = (depth: number, run: () => void): number => depth === 0 ? (run(), 0) : 1 + inside(depth - 1, run)

const microsPerPair = (pair: Pair, pairs: number): number => {
  const from = performance.now()
  inside(12, () => {
    for (let done = 0; done < pairs; done++) pair()
  })
  return (performance.now() - from) * 1000 / pairs
}

/** Microseconds for a buffer, by round: of the device alone, and what an observation without and with frames adds. */
const Figures = Schema.Struct({
  alone: Schema.Array(Schema.Finite),
  bare: Schema.Array(Schema.Finite),
  framed: Schema.Array(Schema.Finite)
})

const measure = async (device: typeof Device.Type): Promise<typeof Figures.Type> => {
  const [pairs, count] = device === "without a driver" ? [pairsWithoutDriver(), 200] : [await pairsOfDawn(), 50]
  const [alone, bare, framed] = [Array<number>(), Array<number>(), Array<number>()]
  for (let round = -rounds.warmUp; round < rounds.measured; round++) {
    const [raw, zero, eight] = pairs.map((pair) => microsPerPair(pair, count))
    // An engine gives back in the turns between what it held for this one.
    await new Promise((resume) => setImmediate(resume))
    if (round < 0) continue
    alone.push(raw!)
    bare.push(zero! - raw!)
    framed.push(eight! - raw!)
  }
  return { alone, bare, framed }
}

export const contender = Contender.make({
  module: import.meta.url,
  input: Schema.Struct({ device: Device }),
  figures: Figures,
  measure: ({ device }) => Effect.promise(() => measure(device))
})

if (import.meta.main) Contender.main(contender)

/**
 * Random programs of two libraries on one device with a pool, beside leases of a program: each finds in its buffers what it has written, and
 * zeros before.
 */
import { InstalledPool } from "@effect-gpu-pool/interop/effect"
import { install, type InstallOptions } from "@effect-gpu-pool/interop/install"
import { assert, describe, it } from "@effect/vitest"
import { strictEqual } from "@effect/vitest/utils"
import { BufferPool, CommandQueue, Lease } from "effect-gpu-pool"
import type { WebGpu } from "effect-gpu-pool/webgpu"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as fc from "fast-check"
import { create } from "webgpu"
import { runs } from "../../../test/support/explore.ts"
import { describeWith } from "../../../test/support/required.ts"
import { bytesOf, fails } from "./BufferRules.ts"

/** The sizes are few, so that programs meet each other's memory; some share a block size. */
const sizes = [64, 96, 100, 1044, 1060, 2088] as const
const usages = [0x8c, 0x8c, 0x2c, 0x0c] as const

type Step =
  | { readonly _tag: "make"; readonly size: number; readonly usage: number; readonly isMapped: boolean }
  | { readonly _tag: "destroy"; readonly which: number }
  | {
    readonly _tag: "write"
    readonly which: number
    readonly from: number
    readonly length: number
    readonly value: number
  }
  | { readonly _tag: "clear"; readonly which: number; readonly from: number; readonly length: number }
  | {
    readonly _tag: "copy"
    readonly which: number
    readonly to: number
    readonly from: number
    readonly length: number
  }
  | { readonly _tag: "submit" }
  | { readonly _tag: "read"; readonly which: number }
  | { readonly _tag: "wait" }

const which = fc.nat(9)
/** Of a buffer. */
const share = fc.nat(8).map((eighths) => eighths / 8)

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      _tag: fc.constant("make" as const),
      size: fc.constantFrom(...sizes),
      usage: fc.constantFrom(...usages),
      isMapped: fc.nat(4).map((one) => one === 0)
    })
  },
  { weight: 5, arbitrary: fc.record({ _tag: fc.constant("destroy" as const), which }) },
  {
    weight: 5,
    arbitrary: fc.record({
      _tag: fc.constant("write" as const),
      which,
      from: fc.oneof(fc.constant(0), share),
      length: fc.oneof(fc.constant(1), share),
      value: fc.integer({ min: 1, max: 255 })
    })
  },
  { weight: 2, arbitrary: fc.record({ _tag: fc.constant("clear" as const), which, from: share, length: share }) },
  {
    weight: 4,
    arbitrary: fc.record({ _tag: fc.constant("copy" as const), which, to: which, from: share, length: share })
  },
  { weight: 3, arbitrary: fc.constant<Step>({ _tag: "submit" }) },
  { weight: 1, arbitrary: fc.record({ _tag: fc.constant("read" as const), which }) },
  { weight: 1, arbitrary: fc.constant<Step>({ _tag: "wait" }) }
)

interface Modelled<B = GPUBuffer> {
  readonly buffer: B
  readonly bytes: Uint8Array
  isLive: boolean
}

/** Commands that were encoded, and what they do to the model. */
interface Encoded {
  readonly encode: (encoder: GPUCommandEncoder) => void
  readonly uses: ReadonlyArray<Modelled>
  readonly apply: () => void
}

/** What runs beside others on a device. */
interface Party {
  readonly take: (one: Step) => Promise<void>
  readonly end: () => Promise<void>
}

/** One library: what it has made, and an encoder that it has not submitted yet. */
class Library implements Party {
  readonly #device: GPUDevice
  readonly #all: Array<Modelled> = []
  #encoder: GPUCommandEncoder | undefined = undefined
  #encoded: Array<Encoded> = []

  constructor(device: GPUDevice) {
    this.#device = device
  }

  get #live(): ReadonlyArray<Modelled> {
    return this.#all.filter(({ isLive }) => isLive)
  }

  #pick(which: number): Modelled | undefined {
    const live = this.#live
    return live.length === 0 ? undefined : live[which % live.length]
  }

  async take(one: Step): Promise<void> {
    switch (one._tag) {
      case "make":
        return this.#make(one)
      case "destroy": {
        const found = this.#pick(one.which)
        if (found === undefined) return
        found.buffer.destroy()
        found.isLive = false
        return
      }
      case "write": {
        const found = this.#pick(one.which)
        if (found === undefined) return
        const [from, length] = range(found, one.from, one.length)
        this.#device.queue.writeBuffer(found.buffer, from, new Uint8Array(length).fill(one.value))
        found.bytes.fill(one.value, from, from + length)
        return
      }
      case "clear": {
        const found = this.#pick(one.which)
        if (found === undefined) return
        const [from, length] = range(found, one.from, one.length)
        return this.#encode({
          encode: (encoder) => encoder.clearBuffer(found.buffer, from, length),
          uses: [found],
          apply: () => found.bytes.fill(0, from, from + length)
        })
      }
      case "copy": {
        const [source, target] = [this.#pick(one.which), this.#pick(one.to)]
        if (source === undefined || target === undefined || source === target) return
        const [from, most] = range(source, one.from, one.length)
        const length = Math.min(most, target.bytes.length)
        return this.#encode({
          encode: (encoder) => encoder.copyBufferToBuffer(source.buffer, from, target.buffer, 0, length),
          uses: [source, target],
          apply: () => target.bytes.set(source.bytes.subarray(from, from + length))
        })
      }
      case "submit":
        return this.submit()
      case "read": {
        const found = this.#pick(one.which)
        if (found !== undefined) await this.#compare(found)
        return
      }
      case "wait":
        await this.#device.queue.onSubmittedWorkDone()
    }
  }

  /** The commands run, or none of them, when a buffer of one has been destroyed. */
  async submit(): Promise<void> {
    const [encoder, encoded] = [this.#encoder, this.#encoded]
    if (encoder === undefined) return
    this.#encoder = undefined
    this.#encoded = []
    const isStale = encoded.some(({ uses }) => uses.some(({ isLive }) => !isLive))
    strictEqual(await fails(this.#device, () => this.#device.queue.submit([encoder.finish()])), isStale)
    if (!isStale) { for (const { apply } of encoded) apply() }
  }

  async end(): Promise<void> {
    await this.submit()
    for (const found of this.#live) {
      await this.#compare(found)
      found.buffer.destroy()
    }
  }

  #make({ isMapped, size, usage }: Step & { readonly _tag: "make" }): void {
    const bytes = new Uint8Array(size)
    const buffer = this.#device.createBuffer({ size, usage, mappedAtCreation: isMapped })
    if (isMapped) {
      new Uint8Array(buffer.getMappedRange()).fill(9)
      buffer.unmap()
      bytes.fill(9)
    }
    strictEqual(buffer.size, size)
    this.#all.push({ buffer, bytes, isLive: true })
  }

  #encode(encoded: Encoded): void {
    this.#encoder ??= this.#device.createCommandEncoder()
    encoded.encode(this.#encoder)
    this.#encoded.push(encoded)
  }

  async #compare({ buffer, bytes }: Modelled): Promise<void> {
    assert.deepStrictEqual(await bytesOf(this.#device, buffer), bytes)
  }
}

type Services = BufferPool.BufferPool | WebGpu.Services | Scope.Scope

/** A program's own leases, whose commands are recorded, and go to the device later than those of a library. */
class Program implements Party {
  readonly #run: <A, E>(effect: Effect.Effect<A, E, Services>) => Promise<A>
  readonly #live: Array<Modelled<BufferPool.PooledBuffer>> = []

  constructor(context: Context.Context<Services>) {
    this.#run = Effect.runPromiseWith(context)
  }

  async take(one: Step): Promise<void> {
    if (one._tag === "make") return await this.#make(one.size)
    if (one._tag === "submit") return await this.#run(CommandQueue.flush)
    if (one._tag === "wait") return await this.#run(CommandQueue.finish)
    const found = this.#live[one.which % this.#live.length]
    if (found === undefined) return
    const { buffer, bytes } = found
    switch (one._tag) {
      case "destroy":
        this.#live.splice(this.#live.indexOf(found), 1)
        return await this.#run(Lease.release(buffer))
      case "read":
        return await this.#compare(found)
      case "copy": {
        const target = this.#live[one.to % this.#live.length]!
        if (target === found) return
        const [from, most] = range(found, one.from, one.length)
        const size = Math.min(most, target.bytes.length)
        target.bytes.set(bytes.subarray(from, from + size))
        return await this.#run(CommandQueue.copy(buffer, target.buffer, { sourceOffset: from, size }))
      }
      default: {
        const [offset, size] = range(found, one.from, one.length)
        const value = one._tag === "write" ? one.value : 0
        bytes.fill(value, offset, offset + size)
        return await this.#run(CommandQueue.fill(buffer, Uint8Array.of(value), { offset, size }))
      }
    }
  }

  async end(): Promise<void> {
    for (const found of this.#live) {
      await this.#compare(found)
      await this.#run(Lease.release(found.buffer))
    }
  }

  async #make(size: number): Promise<void> {
    const buffer = await this.#run(
      Effect.tap(BufferPool.allocate(size), (lease) => CommandQueue.fill(lease, Uint8Array.of(7)))
    )
    this.#live.push({ buffer, bytes: new Uint8Array(size).fill(7), isLive: true })
  }

  async #compare({ buffer, bytes }: Modelled<BufferPool.PooledBuffer>): Promise<void> {
    assert.deepStrictEqual(await this.#run(CommandQueue.read(buffer, Uint8Array)), bytes)
  }
}

/** Whole words of a buffer. */
const range = (
  { bytes }: Pick<Modelled, "bytes">,
  from: number,
  length: number
): readonly [from: number, length: number] => {
  const words = bytes.length / 4
  const first = Math.min(words - 1, Math.floor(from * words))
  return [first * 4, Math.max(1, Math.floor(length * (words - first))) * 4]
}

const gpu = create([])

const openDevice = async (): Promise<GPUDevice> => await (await gpu.requestAdapter())!.requestDevice()

/** Runs random programs of so many parties, which `open` makes for each. */
const neverMeet = (parties: number, open: () => ReadonlyArray<Party>) =>
  fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(fc.nat(parties - 1), step), { minLength: 20, maxLength: 60 }), async (steps) => {
      const all = open()
      for (const [party, one] of steps) await all[party]!.take(one)
      for (const party of all) await party.end()
    }),
    { numRuns: runs(2000) }
  )

describeWith(["webgpu"], "two libraries on a device with a pool", () => {
  const kinds: ReadonlyArray<readonly [name: string, options: InstallOptions | undefined]> = [
    ["no pool", undefined],
    ["a pool", {}],
    ["a pool that keeps little", { maxBytes: 200_000 }]
  ]
  describe.each(kinds)("with %s", (_, options) => {
    it("never find each other's bytes", async () => {
      const device = await openDevice()
      const installation = options === undefined ? undefined : install(device, options)
      await neverMeet(2, () => [new Library(device), new Library(device)])
      if (installation !== undefined) {
        const { activeBlocks, hits, refused } = installation.stats()
        assert.isAbove(hits, 0)
        assert.deepStrictEqual([activeBlocks, refused], [0, 0])
      }
      device.destroy()
    })
  })
})

describeWith(["webgpu"], "two libraries and a program on one pool", () => {
  it.each([["", {}], [" that keeps little", { maxBytes: 200_000 }]] as const)(
    "never find each other's bytes in a pool%s",
    async (_, options) => {
      const device = await openDevice()
      await Effect.runPromise(
        Effect.gen(function*() {
          const context = yield* Effect.context<Services>()
          yield* Effect.promise(() =>
            neverMeet(3, () => [new Library(device), new Library(device), new Program(context)])
          )
          const { activeBlocks, hits, misses } = yield* BufferPool.stats
          assert.deepStrictEqual(activeBlocks, 0)
          assert.isAbove(hits, misses)
          strictEqual((yield* InstalledPool.InstalledPool).stats().refused, 0)
        }).pipe(Effect.scoped, Effect.provide(InstalledPool.layer(device, options)))
      )
      device.destroy()
    }
  )
})

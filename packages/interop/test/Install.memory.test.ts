/** Buffers that programs drop without `destroy()`. */
import { InstalledPool } from "@effect-gpu-pool/interop/effect"
import { install, type InstallationStats } from "@effect-gpu-pool/interop/install"
import { it } from "@effect/vitest"
import { deepStrictEqual } from "@effect/vitest/utils"
import { BufferPool, CommandQueue } from "effect-gpu-pool"
import * as Effect from "effect/Effect"
import { setImmediate } from "node:timers/promises"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { create } from "webgpu"
import { describeWith } from "../../../test/support/required.ts"

setFlagsFromString("--expose-gc")
const collectGarbage: () => void = runInNewContext("gc")

// Devices end with it.
const gpu = create([])

/** Until the engine has told of so many; it does in tasks of its own, and takes a few of them. */
const untilCollected = async (stats: () => { readonly collected: number }, count: number): Promise<void> => {
  for (let task = 0; task < 1000 && stats().collected < count; task++) {
    collectGarbage()
    await setImmediate()
  }
}

const left = ({ activeBlocks, collected, heldBlocks, managedBytes }: InstallationStats) => ({
  activeBlocks,
  collected,
  heldBlocks,
  managedBytes
})

describeWith(["webgpu"], "a pool under a device", () => {
  it("keeps no buffer alive that a program has dropped", async () => {
    const device = await (await gpu.requestAdapter())!.requestDevice()
    const installation = install(device)
    const drop = (): void => {
      for (let count = 0; count < 8; count++) device.createBuffer({ size: 4096, usage: 0x8c })
      device.createBuffer({ size: 64, usage: 6 })
    }
    drop()
    await untilCollected(() => installation.stats(), 9)
    deepStrictEqual(left(installation.stats()), { activeBlocks: 0, collected: 9, heldBlocks: 0, managedBytes: 0 })
    device.destroy()
  })

  it("keeps none that it has destroyed, where it is the program's", async () => {
    const device = await (await gpu.requestAdapter())!.requestDevice()
    let collected = 0
    const collections = new FinalizationRegistry(() => {
      collected++
    })
    const drop = (): void => {
      for (let words = 1; words <= 8; words++) {
        const buffer = device.createBuffer({ size: words * 400, usage: 0x8c })
        collections.register(buffer, undefined)
        buffer.destroy()
      }
    }
    await Effect.runPromise(
      Effect.gen(function*() {
        const pool = yield* BufferPool.BufferPool
        drop()
        yield* pool.freeHeld
        deepStrictEqual((yield* pool.stats).managedBlocks, 0)
        // The engine may keep one that the last call had.
        yield* Effect.promise(() => untilCollected(() => ({ collected }), 7))
        deepStrictEqual(collected >= 7, true)
      }).pipe(Effect.scoped, Effect.provide(InstalledPool.layer(device)))
    )
    device.destroy()
  })

  it("keeps none alive either where it is the program's, and holds what was destroyed", async () => {
    const device = await (await gpu.requestAdapter())!.requestDevice()
    const drop = (): void => {
      for (let count = 0; count < 8; count++) device.createBuffer({ size: 4096, usage: 0x8c })
      device.createBuffer({ size: 64, usage: 0x8c }).destroy()
    }
    await Effect.runPromise(
      Effect.gen(function*() {
        const installation = yield* InstalledPool.InstalledPool
        drop()
        yield* Effect.promise(() => untilCollected(() => installation.stats(), 8))
        deepStrictEqual(left(installation.stats()), { activeBlocks: 0, collected: 8, heldBlocks: 1, managedBytes: 64 })
        const lease = yield* BufferPool.allocate(64)
        yield* CommandQueue.fill(lease, Uint8Array.of(3))
        deepStrictEqual(yield* CommandQueue.read(lease, Uint8Array), new Uint8Array(64).fill(3))
      }).pipe(Effect.scoped, Effect.provide(InstalledPool.layer(device)))
    )
    device.destroy()
  })
})

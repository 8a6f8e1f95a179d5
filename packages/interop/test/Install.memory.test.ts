/** Buffers that programs drop without `destroy()`. */
import { install } from "@effect-gpu-pool/interop/install"
import { it } from "@effect/vitest"
import { deepStrictEqual } from "@effect/vitest/utils"
import { setImmediate } from "node:timers/promises"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { create } from "webgpu"
import { describeWith } from "../../../test/support/required.ts"

setFlagsFromString("--expose-gc")
const collectGarbage: () => void = runInNewContext("gc")

// Devices end with it.
const gpu = create([])

describeWith(["webgpu"], "install", () => {
  it("keeps no buffer alive that a program has dropped", async () => {
    const device = await (await gpu.requestAdapter())!.requestDevice()
    const installation = install(device)
    const drop = (): void => {
      for (let count = 0; count < 8; count++) device.createBuffer({ size: 4096, usage: 0x8c })
      device.createBuffer({ size: 64, usage: 6 })
    }
    drop()
    // The engine finalizes in tasks of its own; it takes a few of them.
    for (let task = 0; task < 1000 && installation.stats().collected < 9; task++) {
      collectGarbage()
      await setImmediate()
    }
    const { activeBlocks, collected, heldBlocks, managedBytes } = installation.stats()
    deepStrictEqual({ activeBlocks, collected, heldBlocks, managedBytes }, {
      activeBlocks: 0,
      collected: 9,
      heldBlocks: 0,
      managedBytes: 0
    })
    device.destroy()
  })
})

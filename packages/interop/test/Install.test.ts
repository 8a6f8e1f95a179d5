/** A pool under a device: WebGPU's rules with it and without it, and what it says and does of its own. */
import { install, type InstallOptions } from "@effect-gpu-pool/interop/install"
import { observe } from "@effect-gpu-pool/interop/observe"
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import { GpuError, SizePolicy } from "effect-gpu-pool"
import { create } from "webgpu"
import { describeWith } from "../../../test/support/required.ts"
import { bytesOf, fails, oddSize, rules, soil } from "./BufferRules.ts"

const gpu = create([])

const openDevice = async (): Promise<GPUDevice> => {
  const adapter = await gpu.requestAdapter()
  return await adapter!.requestDevice()
}

const nullGpu = create(["backend=null"])

/** A device of 512 MiB that runs no commands. */
const openNullDevice = async (): Promise<GPUDevice> => await (await nullGpu.requestAdapter())!.requestDevice()

const usage = 0x8c

const write = (device: GPUDevice, buffer: GPUBuffer): void =>
  device.queue.writeBuffer(buffer, 0, new Uint8Array(buffer.size).fill(1))

const own = (object: object) =>
  Reflect.ownKeys(object).map((key) => [key, Object.getOwnPropertyDescriptor(object, key)])

describeWith(["webgpu"], "WebGPU's rules of buffers", () => {
  const kinds: ReadonlyArray<readonly [name: string, prepare: (device: GPUDevice) => void]> = [
    ["without a pool", () => {}],
    ["with an empty pool", (device) => {
      install(device)
    }],
    ["with a pool that holds other's bytes", (device) => {
      install(device)
      soil(device)
    }],
    ["with a limit and sites", (device) => {
      install(device, { maxBytes: 1 << 20, track: true })
      soil(device)
    }]
  ]
  describe.each(kinds)("on a device %s", (_, prepare) => {
    it.each(rules)("$name", async ({ check }) => {
      const device = await openDevice()
      prepare(device)
      strictEqual(await check(device), undefined)
      device.destroy()
    })
  })
})

describeWith(["webgpu"], "install", () => {
  it("lends what was destroyed, as often as it can", async () => {
    const device = await openDevice()
    const installation = install(device)
    const first = device.createBuffer({ size: 4096, usage, label: "first" })
    first.destroy()
    deepStrictEqual([installation.stats().heldBytes, installation.stats().activeBytes], [4096, 0])
    const second = device.createBuffer({ size: 4000, usage, label: "second" })
    strictEqual(second, first)
    deepStrictEqual([second.size, second.label], [4000, "second"])
    const other = device.createBuffer({ size: 4096, usage: usage | 0x40 })
    assert.notStrictEqual(other, first)
    deepStrictEqual([installation.stats().hits, installation.stats().misses], [1, 2])
    other.destroy()
    installation.trim()
    strictEqual(installation.stats().heldBytes, 0)
    write(device, second)
    strictEqual(installation.stats().clearsLeftOut, 1)
    const commands = device.createCommandEncoder()
    commands.clearBuffer(second)
    second.destroy()
    strictEqual(await fails(device, () => device.queue.submit([commands.finish()])), true)
    strictEqual(await fails(device, () => write(device, second)), true)
    strictEqual(installation.stats().staleUses, 2)
    device.destroy()
  })

  it("lets go of what a program has outgrown", async () => {
    const device = await openDevice()
    const installation = install(device)
    let last: GPUBuffer | undefined
    for (let words = 4096; words < 1 << 20; words = Math.ceil(words * 1.3)) {
      const next = device.createBuffer({ size: 4 * words, usage })
      last?.destroy()
      last = next
    }
    const { driverFrees, managedBytes, peakActiveBytes } = installation.stats()
    assert.isAbove(driverFrees, 0)
    assert.isAtMost(managedBytes, 2 * peakActiveBytes)
    device.destroy()
  })

  it("clears a buffer that a bind group alone keeps", async () => {
    const device = await openDevice()
    const installation = install(device)
    const before = device.createBuffer({ size: 256, usage })
    write(device, before)
    before.destroy()
    device.createBuffer({ size: 256, usage })
    device.queue.submit([])
    strictEqual(installation.stats().cleared, 1)
    device.destroy()
  })

  it("finds bytes of others with clear never, and its own end alone without strict", async () => {
    const device = await openDevice()
    install(device, { clear: "never", strict: false })
    const before = device.createBuffer({ size: 256, usage })
    write(device, before)
    before.destroy()
    const buffer = device.createBuffer({ size: 256, usage })
    strictEqual((await bytesOf(device, buffer)).at(-1), 1)
    strictEqual(Object.hasOwn(device, "createCommandEncoder"), false)
    device.destroy()
  })

  it("gives back the device as it was", async () => {
    const device = await openDevice()
    const all = () => {
      const buffer = device.createBuffer({ size: 16, usage })
      const encoder = device.createCommandEncoder()
      const objects = [device, device.queue, buffer, encoder]
      return objects.flatMap((object) => [own(object), own(Object.getPrototypeOf(object) as object)])
    }
    const before = all()
    {
      using installation = install(device)
      assert.isTrue(Object.hasOwn(device.queue, "submit"))
      installation.trim()
    }
    deepStrictEqual(all(), before)
    install(device).stop()
    deepStrictEqual(all(), before)
  })

  it("leaves buffers to their programs when it ends", async () => {
    const device = await openDevice()
    const installation = install(device)
    const [buffer, held] = [device.createBuffer({ size: oddSize, usage }), device.createBuffer({ size: 64, usage })]
    write(device, held)
    held.destroy()
    const zero = device.createBuffer({ size: 64, usage })
    installation.stop()
    installation.stop()
    strictEqual((await bytesOf(device, zero)).at(0), 0)
    write(device, buffer)
    strictEqual((await bytesOf(device, buffer)).at(-1), 1)
    strictEqual(buffer.size, oddSize)
    for (const one of [buffer, zero]) {
      one.destroy()
      strictEqual(await fails(device, () => device.queue.writeBuffer(one, 0, new Uint8Array(4))), true)
    }
    deepStrictEqual([installation.stats().managedBytes, installation.holders()], [0, []])
    device.destroy()
  })

  it.each(["destroyed", "lost"])("ends with a device that is %s", async (how) => {
    const device = await openDevice()
    const before = [own(device), own(device.queue)]
    const installation = install(device)
    const [live, held] = [device.createBuffer({ size: 64, usage }), device.createBuffer({ size: 64, usage: 9 })]
    held.destroy()
    // The installation hears nothing of the second call but the loss.
    if (how === "destroyed") device.destroy()
    else Reflect.apply(Object.getPrototypeOf(device).destroy, device, [])
    await device.lost
    deepStrictEqual([installation.stats().managedBytes, installation.holders()], [0, []])
    live.destroy()
    held.destroy()
    device.createBuffer({ size: 64, usage }).destroy()
    device.queue.submit([])
    strictEqual(installation.stats().managedBytes, 0)
    installation.stop()
    deepStrictEqual([own(device), own(device.queue)], before)
  })

  it("names who has memory", async () => {
    const device = await openDevice()
    const installation = install(device, { track: true })
    const forgetful = (label: string) => device.createBuffer({ size: 64, usage, label })
    forgetful("logits")
    forgetful("logits")
    forgetful("").label = "late"
    const [logits, late] = installation.holders()
    deepStrictEqual([logits!.label, logits!.count, logits!.bytes, late!.label], ["logits", 2, 128, "late"])
    assert.match(logits!.site!, /^forgetful .*Install\.test\.ts:\d+:\d+\)?$/)
    device.destroy()
  })

  it("is seen by an observation of the device", async () => {
    const device = await openDevice()
    const observation = observe(device)
    const installation = install(device)
    const buffer = device.createBuffer({ size: 64, usage })
    buffer.destroy()
    strictEqual(device.createBuffer({ size: 64, usage }), buffer)
    deepStrictEqual([observation.counts().made, observation.counts().destroyed], [2, 1])
    installation.stop()
    observation.stop()
    strictEqual(Object.hasOwn(device, "createBuffer"), false)
    device.destroy()
  })

  it("refuses options that are none, and a second pool", async () => {
    const device = await openDevice()
    const refusal = (options: InstallOptions): string => {
      try {
        install(device, options).stop()
        return "none"
      } catch (error) {
        assert.isTrue(GpuError.isGpuError(error))
        return (error as Error).message
      }
    }
    assert.include(refusal({ maxBytes: 0 }), "maxBytes 0 is no whole number of bytes")
    assert.include(refusal({ sizePolicy: SizePolicy.sizeClasses(-1) }), "bits -1")
    // @ts-expect-error What a program in JavaScript may do.
    assert.include(refusal({ clear: "always" }), "clear always")
    const installation = install(device)
    assert.include(refusal({}), "the device has a pool installed")
    installation.stop()
    strictEqual(refusal({}), "none")
    device.destroy()
  })
})

describeWith(["webgpu"], "install with a limit", () => {
  it("lets go of what it holds, then refuses as a device without memory", async () => {
    const device = await openDevice()
    const installation = install(device, { maxBytes: 8192, track: true })
    device.createBuffer({ size: 4096, usage }).destroy()
    const weights = device.createBuffer({ size: 6144, usage, label: "weights" })
    deepStrictEqual([installation.stats().heldBytes, installation.stats().managedBytes], [0, 6144])
    device.pushErrorScope("out-of-memory")
    device.pushErrorScope("validation")
    const refused = device.createBuffer({ size: 4096, usage: usage | 1 << 6, label: "logits" })
    strictEqual(await device.popErrorScope(), null)
    const error = await device.popErrorScope()
    strictEqual(error?.constructor.name, "GPUOutOfMemoryError")
    assert.match(
      error!.message,
      /^createBuffer: 4,096 B do not fit: .* 8,192 B, .* 6,144 of them: 1 buffer "weights" with 6,144 B, made at .*Install\.test\.ts/
    )
    deepStrictEqual([refused.size, refused.usage, refused.label], [4096, usage | 1 << 6, "logits"])
    strictEqual(await fails(device, () => write(device, refused)), true)
    refused.destroy()
    strictEqual(installation.stats().refused, 1)
    weights.destroy()
    strictEqual(await fails(device, () => device.createBuffer({ size: 8192, usage }), "out-of-memory"), false)
    device.destroy()
  })

  it("counts buffers that it does not pool", async () => {
    const device = await openDevice()
    const installation = install(device, { maxBytes: 4096 })
    const staging = device.createBuffer({ size: 4096, usage: 6, mappedAtCreation: true })
    strictEqual(installation.stats().activeBytes, 4096)
    strictEqual(await fails(device, () => device.createBuffer({ size: 4, usage: 6 }), "out-of-memory"), true)
    device.pushErrorScope("out-of-memory")
    const mapped = device.createBuffer({ size: 16, usage: 6, mappedAtCreation: true })
    strictEqual((await device.popErrorScope())?.constructor.name, "GPUOutOfMemoryError")
    deepStrictEqual([mapped.mapState, mapped.getMappedRange().byteLength], ["mapped", 16])
    staging.destroy()
    deepStrictEqual([staging.mapState, installation.stats().managedBytes], ["unmapped", 0])
    device.destroy()
  })

  it("reports a refusal without a scope as an event", async () => {
    const device = await openDevice()
    install(device, { maxBytes: 64 })
    const heard = new Promise<GPUError>((resolve) =>
      device.addEventListener("uncapturederror", ({ error }) => resolve(error))
    )
    device.createBuffer({ size: 128, usage })
    assert.include((await heard).message, "128 B do not fit")
    device.destroy()
  })

  it("does not lend a buffer for which the driver had no memory", async () => {
    const device = await openNullDevice()
    const installation = install(device)
    const size = 1 << 28
    const made: Array<GPUBuffer> = []
    const failed: Array<boolean> = []
    for (let count = 0; count < 3; count++) {
      failed.push(await fails(device, () => made.push(device.createBuffer({ size, usage })), "out-of-memory"))
    }
    deepStrictEqual(failed, [false, false, true])
    for (const buffer of made) buffer.destroy()
    strictEqual(installation.stats().heldBlocks, 2)
    device.destroy()
  })

  it("tells each program that gets it that a buffer had no memory", async () => {
    const device = await openNullDevice()
    const installation = install(device)
    const size = 1 << 28
    for (let count = 0; count < 2; count++) device.createBuffer({ size, usage })
    // Before the driver has told that it had no memory for the first, the second gets it.
    const results = [1, 2].map(() => {
      device.pushErrorScope("out-of-memory")
      device.createBuffer({ size, usage }).destroy()
      return device.popErrorScope()
    })
    deepStrictEqual((await Promise.all(results)).map((error) => error === null), [false, false])
    strictEqual(installation.stats().heldBlocks, 0)
    device.destroy()
  })
})

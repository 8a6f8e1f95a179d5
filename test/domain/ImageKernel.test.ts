/** Definitions of kernels that take images and samplers. */
import { assert, describe, it } from "@effect/vitest"
import type { DeviceInfo, ImageLimits } from "../../src/domain/device/DeviceInfo.ts"
import * as ImageChannel from "../../src/domain/images/ImageChannel.ts"
import * as ImageFormat from "../../src/domain/images/ImageFormat.ts"
import * as Kernel from "../../src/domain/kernel/Kernel.ts"
import {
  ImageArg,
  type KernelArgument,
  SamplerArg,
  ScalarArg,
  VectorArg
} from "../../src/domain/kernel/KernelArgument.ts"
import * as KernelSupport from "../../src/domain/kernel/KernelSupport.ts"
import { describedDevice } from "../support/describedDevice.ts"

const kernel = (...args: ReadonlyArray<KernelArgument>): Kernel.Kernel => Kernel.make({ name: "k", args, body: {} })

const refusal = (bad: Kernel.Kernel): string => {
  const error = Kernel.check(bad)
  assert.strictEqual(error?.reason._tag, "InvalidRequest")
  return error?.message ?? ""
}

/** A good argument with one thing changed to what the types forbid. */
const changed = (change: object): ImageArg => ({ ...ImageArg("x"), ...change })

const device = (images: ImageLimits | undefined): DeviceInfo => describedDevice(["f32"], images)

describe("KernelArgument.ImageArg", () => {
  it("is a two-dimensional image of floats to read, unless it says otherwise", () => {
    assert.deepStrictEqual(ImageArg("x"), {
      _tag: "ImageArg",
      name: "x",
      access: "read",
      kind: "2d",
      channel: "float",
      format: undefined
    })
  })

  it("has the channel of its format", () => {
    for (const format of ImageFormat.all) {
      const argument = ImageArg("x", { access: "write", format })
      assert.strictEqual(argument.channel, ImageChannel.of(format))
      assert.isUndefined(Kernel.check(kernel(argument)))
    }
  })
})

describe("Kernel.check of images", () => {
  it("takes every kind, channel and access", () => {
    for (const kind of ["1d", "1dArray", "2d", "2dArray", "3d"] as const) {
      for (const channel of ["float", "int", "uint"] as const) {
        assert.isUndefined(Kernel.check(kernel(ImageArg("x", { kind, channel }), SamplerArg("s"))))
      }
    }
  })

  it.each([
    ["writing without a format", { access: "write" }, `the format of image "x" in kernel "k" is missing`],
    ["an order that goes with no such type", { format: { order: "rgb", type: "float32" } }, "does not go with"],
    ["a channel that the format has not", { channel: "int", format: ImageFormat.rgba8 }, `say "float"`]
  ])("refuses %s", (_, change, message) => {
    assert.include(refusal(kernel(changed(change))), message)
  })

  it("refuses a name twice, and names that a language needs", () => {
    assert.include(refusal(kernel(ImageArg("x"), SamplerArg("x"))), `the name "x" is taken`)
    assert.include(refusal(kernel(VectorArg("f32", "x"), ImageArg("x_length"))), "x_length")
    for (const name of ["sampler", "texture_2d", "rgba8unorm", "write", "image2d_t", "sampler_t", "a__b", "i"]) {
      assert.include(refusal(kernel(SamplerArg(name))), `"${name}"`)
      assert.include(refusal(kernel(ImageArg(name))), `"${name}"`)
    }
  })

  it("is no element type, itemwise vector or scalar of work", () => {
    assert.include(refusal({ ...kernel(ImageArg("x")), itemwise: ["x"] }), "itemwise")
    assert.include(refusal({ ...kernel(ImageArg("x")), workPerItem: "x" }), "workPerItem")
  })
})

describe("KernelSupport.problem of images", () => {
  const limits: ImageLimits = { maxReadImages: 2, maxWriteImages: 1, maxSamplers: 1 }
  const reads = [ImageArg("a"), ImageArg("b")]
  const write = ImageArg("y", { access: "write", format: ImageFormat.rgba8 })

  it("is none within the limits", () => {
    const full = kernel(...reads, write, SamplerArg("s"), ScalarArg("f32", "c"))
    assert.isUndefined(KernelSupport.problem(full, device(limits)))
    assert.isUndefined(KernelSupport.problem(kernel(ScalarArg("f32", "c")), device(undefined)))
  })

  it.each([
    ["maxReadImages", kernel(...reads, ImageArg("c"))],
    ["maxWriteImages", kernel(write, { ...write, name: "z" })],
    ["maxSamplers", kernel(SamplerArg("s"), SamplerArg("t"))]
  ])("is LimitExceeded over %s", (limitName, over) => {
    const problem = KernelSupport.problem(over, device(limits))
    assert.strictEqual(problem?.reason._tag, "LimitExceeded")
    assert.include(problem?.message, limitName)
  })

  it("is Unsupported where there are no images", () => {
    for (const argument of [ImageArg("x"), SamplerArg("s")]) {
      const problem = KernelSupport.problem(kernel(argument), device(undefined))
      assert.strictEqual(problem?.reason._tag, "Unsupported")
      assert.include(problem?.message, "images in kernels on a device")
    }
  })
})

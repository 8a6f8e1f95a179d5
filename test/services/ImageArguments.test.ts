/** The checks between a program's images and a driver, without a device. */
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import type { DeviceInfo } from "../../src/domain/device/DeviceInfo.ts"
import { DeviceLost, GpuError, make as makeError, type Reason } from "../../src/domain/GpuError.ts"
import * as ImageChannel from "../../src/domain/images/ImageChannel.ts"
import * as ImageFormat from "../../src/domain/images/ImageFormat.ts"
import * as ImageShape from "../../src/domain/images/ImageShape.ts"
import * as ImageUsage from "../../src/domain/images/ImageUsage.ts"
import * as SamplerOptions from "../../src/domain/images/SamplerOptions.ts"
import * as Kernel from "../../src/domain/kernel/Kernel.ts"
import { ImageArg, type KernelArgument, SamplerArg } from "../../src/domain/kernel/KernelArgument.ts"
import * as MappedMemory from "../../src/services/buffers/mapping/MappedMemory.ts"
import { DeviceImage } from "../../src/services/device/DeviceImage.ts"
import { DeviceSampler } from "../../src/services/device/DeviceSampler.ts"
import * as ImageAccess from "../../src/services/images/ImageAccess.ts"
import { bind, type BoundImages } from "../../src/services/images/ImageArguments.ts"
import * as BoundArguments from "../../src/services/queue/BoundArguments.ts"
import { runs } from "../support/explore.ts"
import { info as someDevice } from "../support/someDevice.ts"

class Picture extends DeviceImage {}
class Sampler extends DeviceSampler {}

const device = (): DeviceInfo => ({
  ...someDevice,
  limits: { ...someDevice.limits, maxVectorArguments: 8 },
  dtypes: new Set(["f32"])
})

const info = device()

const picture = (options: {
  readonly shape?: ImageShape.ImageShape
  readonly format?: ImageFormat.ImageFormat
  readonly usage?: number
  readonly owner?: DeviceInfo
} = {}) =>
  new Picture(options.owner ?? info, {
    shape: options.shape ?? ImageShape.image2d(2, 2),
    format: options.format ?? ImageFormat.rgba8,
    usage: options.usage ?? ImageUsage.defaultUsage | ImageUsage.storage,
    label: "picture"
  })

const sampler = (owner = info) => new Sampler(owner, SamplerOptions.resolve({ filter: "linear" }))

const bound = (args: ReadonlyArray<KernelArgument>, values: Readonly<Record<string, unknown>>, lost?: GpuError) =>
  bind(Kernel.make({ name: "k", args, body: {} }), values, info, lost)

/** The same, with the checks of all arguments together. */
const dispatched = (args: ReadonlyArray<KernelArgument>, values: Readonly<Record<string, Picture>>) =>
  BoundArguments.bind(Kernel.make({ name: "k", args, body: {} }), values, 4, { info, status: { error: undefined } })

const accepted = (result: BoundImages | GpuError): BoundImages => {
  if (result instanceof GpuError) throw result
  return result
}

const assertRefused = (
  result: BoundImages | GpuError,
  reason: Reason["_tag"],
  ...shown: ReadonlyArray<string>
): void => {
  if (!(result instanceof GpuError)) throw new Error("it was accepted")
  assert.strictEqual(result.reason._tag, reason)
  for (const part of shown) assert.include(result.message, part)
}

const read = ImageArg("x")
const write = ImageArg("y", { access: "write", format: ImageFormat.rgba8 })

describe("ImageArguments.bind", () => {
  it("puts images and samplers in the kernel's order, each kind for itself", () => {
    const [x, y, s, t] = [picture(), picture(), sampler(), sampler()]
    const { images, samplers } = accepted(
      bound([SamplerArg("s"), write, SamplerArg("t"), read], { x, y, s, t })
    )
    assert.deepStrictEqual(images.map((image) => image === x ? "x" : "y"), ["y", "x"])
    assert.isTrue(samplers[0] === s && samplers[1] === t)
  })

  it("takes exactly the images of the declared kind and channel, in the declared format", () => {
    const shapes = [
      ImageShape.image1d(4),
      ImageShape.image1dArray(4, 2),
      ImageShape.image2d(4, 4),
      ImageShape.image2dArray(4, 4, 2),
      ImageShape.image3d(4, 4, 4)
    ]
    const cases = fc.record({
      shape: fc.constantFrom(...shapes),
      kind: fc.constantFrom(...shapes.map(({ kind }) => kind)),
      format: fc.constantFrom(...ImageFormat.all),
      declared: fc.option(fc.constantFrom(...ImageFormat.all), { nil: undefined }),
      channel: fc.constantFrom("float", "int", "uint")
    })
    fc.assert(
      fc.property(cases, ({ channel, declared, format, kind, shape }) => {
        const argument = declared === undefined
          ? ImageArg("x", { kind, channel })
          : ImageArg("x", { kind, format: declared })
        const result = bound([argument], { x: picture({ shape, format }) })
        const fits = kind === shape.kind && argument.channel === ImageChannel.of(format) &&
          (declared === undefined || ImageFormat.equals(declared, format))
        if (fits) accepted(result)
        else assertRefused(result, "InvalidRequest", `argument "x"`)
      }),
      { numRuns: runs(2000) }
    )
  })

  it("takes no image that is mapped, and no image twice that is written, whatever stands for it", () => {
    const one = picture()
    const twin = new (class extends Picture {
      override get identity(): object {
        return one
      }
    })(info, { shape: one.shape, format: one.format, usage: one.usage, label: "twin" })
    assertRefused(dispatched([read, write], { x: one, y: twin }), "InvalidRequest", "the same image")
    for (const writes of [true, false]) {
      const claim = ImageAccess.claim(twin, ImageShape.whole(one.shape), writes)
      MappedMemory.add(claim)
      for (const image of [one, twin]) {
        assertRefused(bound([read], { x: image }), "InvalidRequest", `argument "x"`, "mapped for")
      }
      MappedMemory.remove(claim)
      accepted(bound([read], { x: one }))
    }
  })

  it("asks for the usage of each access", () => {
    const { sampled, storage } = ImageUsage
    assertRefused(bound([read], { x: picture({ usage: storage }) }), "InvalidRequest", "lacks sampled")
    assertRefused(bound([write], { y: picture({ usage: sampled }) }), "InvalidRequest", "lacks storage")
    accepted(bound([read, write], { x: picture({ usage: sampled }), y: picture({ usage: storage }) }))
  })

  it("lets one image be read twice, and not be written beside", () => {
    const [one, two] = [picture(), picture()]
    const again = ImageArg("again")
    accepted(dispatched([read, again, write], { x: one, again: one, y: two }))
    assertRefused(dispatched([read, again, write], { x: two, again: one, y: one }), "InvalidRequest", `"again" and "y"`)
    const other = { ...write, name: "other" }
    assertRefused(dispatched([write, other], { y: one, other: one }), "InvalidRequest", `"y" and "other"`)
  })

  it("knows what was destroyed, and what another device made", () => {
    const gone = picture()
    gone.destroyed = true
    assertRefused(bound([read], { x: gone }), "Released", `image "picture" of 16 bytes`)
    assertRefused(bound([read], { x: picture({ owner: device() }) }), "ForeignDevice", "image")
    const ended = sampler()
    ended.destroyed = true
    assertRefused(bound([SamplerArg("s")], { s: ended }), "Released", `argument "s"`, "sampler")
    assertRefused(bound([SamplerArg("s")], { s: sampler(device()) }), "ForeignDevice", "sampler", "another opening")
  })

  it("say first that the device is lost", () => {
    const gone = picture()
    gone.destroyed = true
    const lost = makeError(new DeviceLost({ backend: "host", detail: "unplugged" }))
    assertRefused(bound([read], { x: gone }, lost), "DeviceLost", "unplugged")
  })
})

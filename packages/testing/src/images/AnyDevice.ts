/**
 * Tests of images on a device without images: it lists no formats, and `Images` answers Unsupported to every call.
 *
 * @internal
 */
import { ImageFormat, Images, ImageShape, ImageUsage } from "effect-gpu-pool/images"
import * as Kernel from "effect-gpu-pool/Kernel"
import { ImageArg } from "effect-gpu-pool/KernelArgument"
import * as KernelCache from "effect-gpu-pool/KernelCache"
import * as Effect from "effect/Effect"
import type { ConformanceTest } from "../ConformanceTest.ts"
import * as Expect from "../Expect.ts"

const hasImages = Effect.map(
  Effect.forEach(ImageShape.kinds, (kind) => Images.formats(ImageUsage.copySrc, kind)),
  (formats) => formats.some(({ length }) => length > 0)
)

const takesAnImage = Kernel.make({
  name: "takes_an_image",
  args: [ImageArg("source", { access: "read", kind: "2d" })],
  body: { wgsl: "", opencl: "", host: () => {} }
})

const refused = Effect.scoped(Effect.gen(function*() {
  const make = Images.make(ImageShape.image2d(2, 2), ImageFormat.rgba8)
  yield* Expect.failsWith("an image", make, "Unsupported")
  const data = Images.fromHost(new Uint8Array(16), ImageShape.image2d(2, 2), ImageFormat.rgba8)
  yield* Expect.failsWith("an image of the program's data", data, "Unsupported")
  yield* Expect.failsWith("a sampler", Images.sampler(), "Unsupported")
  yield* Expect.failsWith("a kernel that takes an image", KernelCache.get(takesAnImage), "Unsupported")
}))

/** The same tests. On a device without images, each checks that `Images` answers Unsupported. */
export const onAnyDevice = (tests: ReadonlyArray<ConformanceTest>): ReadonlyArray<ConformanceTest> =>
  tests.map((test) => ({ ...test, run: Effect.flatMap(hasImages, (has) => has ? test.run : refused) }))

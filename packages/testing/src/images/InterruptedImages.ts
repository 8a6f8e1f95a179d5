/**
 * Operations on images, and how each is interrupted at each of its steps.
 *
 * @internal
 */
import * as CommandQueue from "effect-gpu-pool/CommandQueue"
import type { DeviceImage } from "effect-gpu-pool/DeviceImage"
import type { GpuError } from "effect-gpu-pool/GpuError"
import * as Images from "effect-gpu-pool/Images"
import * as Effect from "effect/Effect"
import type { TestServices } from "../ConformanceTest.ts"
import { interruptedAtEach } from "../pool/Interruption.ts"
import { picture } from "./ImageMistakes.ts"

export const operations: Readonly<
  Record<string, (image: DeviceImage) => Effect.Effect<unknown, GpuError, TestServices>>
> = {
  "an image of its own": () => Effect.scoped(picture()),
  "a write of an image": (image) => Images.write(image, new Uint8Array(32)),
  "a read of an image": (image) => Images.read(image),
  "a fill of an image": (image) => Images.fill(image, 1),
  "a copy of an image": (image) => Effect.scoped(Effect.flatMap(picture(), (copy) => Images.copy(image, copy))),
  "a mapping of an image": (image) => Effect.scoped(Effect.map(Images.map(image), ({ data }) => data.fill(1))),
  "a sampler": () => Effect.scoped(Images.sampler())
}

export const stepwise = (
  what: string,
  make: (image: DeviceImage) => Effect.Effect<unknown, GpuError, TestServices>
): Effect.Effect<void, unknown, TestServices> =>
  Effect.gen(function*() {
    const image = yield* picture()
    yield* interruptedAtEach(what, 50, () => make(image))
    yield* Images.fill(image, 1)
    yield* CommandQueue.finish
  })

/** Filtering a picture: an image that a sampler reads, and an image that the kernel writes. */
import { Effect } from "effect"
import { BufferPool, CommandQueue, Kernel, KernelArgument } from "effect-gpu-pool"
import { ImageFormat, ImagePool, Images, ImageShape, ImageUsage } from "effect-gpu-pool/images"
import type { Filter } from "./Filters.ts"
import type { Picture } from "./Picture.ts"

const { ImageArg, SamplerArg, ScalarArg, VectorArg } = KernelArgument

/** One item per pixel of the result: the weighted sum of the picture around it, without its sign, and its own alpha. */
const convolve = Kernel.make({
  name: "convolve",
  args: [
    ImageArg("picture"),
    SamplerArg("between_pixels"),
    VectorArg("f32", "weights", { access: "read" }),
    ScalarArg("i32", "radius"),
    ScalarArg("u32", "taps"),
    ScalarArg("u32", "width"),
    ScalarArg("f32", "scale"),
    ImageArg("result", { access: "write", format: ImageFormat.rgba8 })
  ],
  body: {
    wgsl: `
  let size = vec2<f32>(textureDimensions(picture));
  let pixel = vec2<u32>(i % width, i / width);
  let middle = (vec2<f32>(pixel) + 0.5) / scale;
  let across = u32(2 * radius + 1);
  var sum = vec4<f32>();
  for (var tap = 0u; tap < taps; tap++) {
    let step = vec2<i32>(vec2<u32>(tap % across, tap / across)) - radius;
    sum += weights[tap] * textureSampleLevel(picture, between_pixels, (middle + vec2<f32>(step)) / size, 0.0);
  }
  let alpha = textureSampleLevel(picture, between_pixels, middle / size, 0.0).a;
  textureStore(result, vec2<i32>(pixel), vec4<f32>(abs(sum.rgb), alpha));`,
    opencl: `
  const float2 size = convert_float2(get_image_dim(picture));
  const int2 pixel = (int2)((int) (i % width), (int) (i / width));
  const float2 middle = (convert_float2(pixel) + 0.5f) / scale;
  const int across = 2 * radius + 1;
  float4 sum = 0;
  for (int tap = 0; tap < (int) taps; tap++) {
    const float2 step = (float2)(tap % across - radius, tap / across - radius);
    sum += weights[tap] * read_imagef(picture, between_pixels, (middle + step) / size);
  }
  sum = fabs(sum);
  sum.w = read_imagef(picture, between_pixels, middle / size).w;
  write_imagef(result, pixel, sum);`,
    host: (from, to, { between_pixels, picture, radius, result, scale, taps, weights, width }) => {
      const across = 2 * radius + 1
      for (let i = from; i < to; i++) {
        const [x, y] = [i % width, Math.floor(i / width)]
        const [middleX, middleY] = [(x + 0.5) / scale, (y + 0.5) / scale]
        const at = (dx: number, dy: number) =>
          picture.sample(between_pixels, (middleX + dx) / picture.width, (middleY + dy) / picture.height)
        const sum = [0, 0, 0]
        for (let tap = 0; tap < taps; tap++) {
          const color = at(tap % across - radius, Math.floor(tap / across) - radius)
          for (let channel = 0; channel < 3; channel++) sum[channel]! += weights[tap]! * color[channel]!
        }
        const [red, green, blue] = sum
        result.store(x, y, 0, [Math.abs(red!), Math.abs(green!), Math.abs(blue!), at(0, 0)[3]])
      }
    }
  },
  workPerItem: "taps"
})

export interface ConvolutionOptions {
  /** Pixels of the result for each of the picture, along each axis. */
  readonly scale?: number | undefined
}

/** Filters a picture. Its images and buffers are back in their pools when it ends. */
export const apply = Effect.fn("Convolution.apply")(function*(
  picture: Picture,
  filter: Filter,
  options?: ConvolutionOptions
) {
  const scale = options?.scale ?? 1
  const [width, height] = [picture.width * scale, picture.height * scale]
  const source = yield* ImagePool.allocate(ImageShape.image2d(picture.width, picture.height), ImageFormat.rgba8, {
    usage: ImageUsage.sampled | ImageUsage.copyDst,
    label: "picture"
  })
  const result = yield* ImagePool.allocate(ImageShape.image2d(width, height), ImageFormat.rgba8, {
    usage: ImageUsage.storage | ImageUsage.copySrc,
    label: "result"
  })
  const weights = yield* BufferPool.allocate(filter.weights.byteLength, { label: "weights" })
  // Interpolates between pixels; beyond the border it reads the nearest pixel of the picture.
  const between_pixels = yield* Images.sampler({ addressing: "clampToEdge", filter: "linear" })
  yield* Images.write(source, picture.rgba)
  yield* CommandQueue.write(weights, filter.weights)
  const { radius } = filter
  const taps = filter.weights.length
  yield* CommandQueue.dispatch(
    convolve,
    { picture: source, between_pixels, weights, radius, taps, width, scale, result },
    width * height
  )
  const filtered: Picture = { width, height, rgba: yield* Images.read(result, Uint8Array) }
  return filtered
}, Effect.scoped)

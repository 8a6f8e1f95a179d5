/**
 * The kernels of the conformance suite that take images.
 *
 * @internal
 */
import { ImageChannel, type ImageFormat } from "effect-gpu-pool/images"
import type { ImageKind } from "effect-gpu-pool/ImageShape"
import * as Kernel from "effect-gpu-pool/Kernel"
import { ImageArg, SamplerArg, ScalarArg, VectorArg } from "effect-gpu-pool/KernelArgument"
import * as Kernels from "../commands/Kernels.ts"

/** The suffixes of OpenCL's image functions, by kind of number. */
const suffixes: { readonly [C in ImageChannel.ImageChannel]: string } = { float: "f", int: "i", uint: "ui" }

/** Reverses the first `width` elements of each row. */
export const flip = (format: ImageFormat.ImageFormat) => {
  const channel = ImageChannel.of(format)
  return Kernels.perItem({
    name: `flip_${format.order}_${format.type}`,
    args: [
      ImageArg("source", { channel }),
      ImageArg("result", { access: "write", format }),
      ScalarArg("i32", "width")
    ],
    wgsl: `
  let x = i32(i) % width;
  let y = i32(i) / width;
  textureStore(result, vec2<i32>(width - 1 - x, y), textureLoad(source, vec2<i32>(x, y), 0));`,
    opencl: `
  const int x = (int) i % width;
  const int y = (int) i / width;
  write_image${suffixes[channel]}(result, (int2)(width - 1 - x, y), read_image${
      suffixes[channel]
    }(source, (int2)(x, y)));`,
    item: (i, { source, result, width }) => {
      const [x, y] = [i % width, Math.floor(i / width)]
      result.store(width - 1 - x, y, 0, source.load(x, y))
    }
  })
}

interface Languages {
  /** The coordinates x, y and z, in the form that the image functions take. */
  readonly wgsl: string
  readonly opencl: string
  /** Width, height, depth and layers. */
  readonly wgslSizes: string
  readonly openclSizes: string
}

const languages: { readonly [K in ImageKind]: Languages } = {
  "1d": {
    wgsl: "x",
    opencl: "x",
    wgslSizes: "textureDimensions(source), 1u, 1u, 1u",
    openclSizes: "get_image_width(source), 1, 1, 1"
  },
  "1dArray": {
    wgsl: "vec2<i32>(x, 0), z",
    opencl: "(int2)(x, z)",
    wgslSizes: "textureDimensions(source), 1u, textureNumLayers(source)",
    openclSizes: "get_image_width(source), 1, 1, (uint) get_image_array_size(source)"
  },
  "1dBuffer": {
    wgsl: "x",
    opencl: "x",
    wgslSizes: "textureDimensions(source), 1u, 1u, 1u",
    openclSizes: "get_image_width(source), 1, 1, 1"
  },
  "2d": {
    wgsl: "vec2<i32>(x, y)",
    opencl: "(int2)(x, y)",
    wgslSizes: "textureDimensions(source), 1u, 1u",
    openclSizes: "get_image_width(source), get_image_height(source), 1, 1"
  },
  "2dArray": {
    wgsl: "vec2<i32>(x, y), z",
    opencl: "(int4)(x, y, z, 0)",
    wgslSizes: "textureDimensions(source), 1u, textureNumLayers(source)",
    openclSizes: "get_image_width(source), get_image_height(source), 1, (uint) get_image_array_size(source)"
  },
  "3d": {
    wgsl: "vec3<i32>(x, y, z)",
    opencl: "(int4)(x, y, z, 0)",
    wgslSizes: "textureDimensions(source), 1u",
    openclSizes: "get_image_width(source), get_image_height(source), get_image_depth(source), 1"
  }
}

/** Adds x + 10 y + 100 z to each element, and writes the dimensions of the image. */
export const addPlaces = (kind: ImageKind) => {
  const { opencl, openclSizes, wgsl, wgslSizes } = languages[kind]
  const format: ImageFormat.ImageFormat = { order: "r", type: "uint32" }
  return Kernel.make({
    name: `add_places_${kind}`,
    args: [
      ImageArg("source", { kind, channel: "uint" }),
      ImageArg("result", { access: "write", kind, format }),
      VectorArg("u32", "sizes", { access: "write" }),
      ScalarArg("i32", "width"),
      ScalarArg("i32", "height")
    ],
    body: {
      wgsl: `
  let x = i32(i) % width;
  let y = i32(i) / width % height;
  let z = i32(i) / width / height;
  let place = vec4<u32>(u32(x + 10 * y + 100 * z), 0u, 0u, 0u);
  textureStore(result, ${wgsl}, textureLoad(source, ${wgsl}, 0) + place);
  let dimensions = vec4<u32>(${wgslSizes});
  if (i < 4u) { sizes[i] = dimensions[i]; }`,
      opencl: `
  const int x = (int) i % width;
  const int y = (int) i / width % height;
  const int z = (int) i / width / height;
  const uint4 place = (uint4)((uint) (x + 10 * y + 100 * z), 0, 0, 0);
  write_imageui(result, ${opencl}, read_imageui(source, ${opencl}) + place);
  const uint dimensions[4] = { ${openclSizes} };
  if (i < 4) sizes[i] = dimensions[i];`,
      host: (from, to, { height, sizes, source, result, width }) => {
        const { depth, height: rows, layers, width: columns } = source
        sizes.set([columns, rows, depth, layers])
        for (let i = from; i < to; i++) {
          const [x, y, z] = [i % width, Math.floor(i / width) % height, Math.floor(i / width / height)]
          const [value] = source.load(x, y, z)
          result.store(x, y, z, [value + x + 10 * y + 100 * z, 0, 0, 0])
        }
      }
    }
  })
}

/** The coordinates of `at`, in the form that the sampling functions take, for the kinds that a test samples. */
const places: { readonly [K in ImageKind]: readonly [wgsl: string, opencl: string] } = {
  "1d": ["at[3u * i]", "at[3 * i]"],
  "1dBuffer": ["at[3u * i]", "at[3 * i]"],
  "1dArray": ["vec2<f32>(at[3u * i], 0.5), i32(at[3u * i + 2u])", "(float2)(at[3 * i], at[3 * i + 2])"],
  "2d": ["vec2<f32>(at[3u * i], at[3u * i + 1u])", "(float2)(at[3 * i], at[3 * i + 1])"],
  "2dArray": [
    "vec2<f32>(at[3u * i], at[3u * i + 1u]), i32(at[3u * i + 2u])",
    "(float4)(at[3 * i], at[3 * i + 1], at[3 * i + 2], 0)"
  ],
  "3d": [
    "vec3<f32>(at[3u * i], at[3u * i + 1u], at[3u * i + 2u])",
    "(float4)(at[3 * i], at[3 * i + 1], at[3 * i + 2], 0)"
  ]
}

/** Writes what a sampler returns of an image at places x, y, z. */
export const sampleAt = (kind: ImageKind) => {
  const [wgsl, opencl] = places[kind]
  return Kernels.perItem({
    name: `sample_${kind}`,
    args: [
      ImageArg("image", { kind }),
      SamplerArg("how"),
      VectorArg("f32", "at", { access: "read" }),
      VectorArg("f32", "colors", { access: "write" })
    ],
    wgsl: `
  let color = textureSampleLevel(image, how, ${wgsl}, 0.0);
  for (var channel = 0u; channel < 4u; channel++) { colors[4u * i + channel] = color[channel]; }`,
    opencl: `vstore4(read_imagef(image, how, ${opencl}), i, colors);`,
    item: (i, { at, colors, how, image }) => {
      colors.set(image.sample(how, at[3 * i]!, at[3 * i + 1], at[3 * i + 2]), 4 * i)
    }
  })
}

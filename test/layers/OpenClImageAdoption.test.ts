/** Images that other OpenCL code has made. */
import { assert, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Equal from "effect/Equal"
import * as Hash from "effect/Hash"
import * as ImageFormat from "../../src/domain/images/ImageFormat.ts"
import * as ImageShape from "../../src/domain/images/ImageShape.ts"
import * as ImageUsage from "../../src/domain/images/ImageUsage.ts"
import { encode } from "../../src/layers/OpenCl/images/OpenClImageFormat.ts"
import { description } from "../../src/layers/OpenCl/images/OpenClImageLayout.ts"
import { OpenCl, OpenClMemory } from "../../src/opencl.ts"
import { DeviceContext } from "../../src/services/device/DeviceContext.ts"
import * as Images from "../../src/services/images/Images.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import { allocate, onDevice, reasonOf } from "../support/openClDevice.ts"
import { describeWith } from "../support/required.ts"
import { answering } from "../support/watchedOpenCl.ts"

const CL_MEM_READ_WRITE = 1
const CL_MEM_READ_ONLY = 4
const CL_MEM_TYPE = 0x1100
const CL_MEM_CONTEXT = 0x1106
const CL_MEM_ASSOCIATED_MEMOBJECT = 0x1107
const CL_IMAGE_FORMAT = 0x1110
const CL_IMAGE_ELEMENT_SIZE = 0x1111
const CL_IMAGE_NUM_MIP_LEVELS = 0x1119

const small = ImageShape.image2d(4, 2)

/** A cl_mem as other OpenCL code would make it. */
const theirs = (shape: ImageShape.ImageShape, format: ImageFormat.ImageFormat, flags: number = CL_MEM_READ_WRITE) =>
  Effect.map(OpenCl.OpenCl, ({ api, context }) => {
    const code = new Int32Array(1)
    const memory = api.clCreateImage(context, flags, encode(format), description(shape, {}), null, code)
    assert(memory !== null, `clCreateImage ${code[0]}`)
    return { memory, release: () => api.clReleaseMemObject(memory) }
  })

describeWith(["opencl"], "OpenClMemory.adoptImage", () => {
  it.effect("works on an image of other code, and gives its own reference back", () =>
    onDevice(() =>
      Effect.gen(function*() {
        const { driverObjects } = yield* DeviceContext
        const { memory, release } = yield* theirs(small, ImageFormat.rgba8, CL_MEM_READ_ONLY)
        const image = yield* Effect.scoped(Effect.gen(function*() {
          const image = yield* OpenClMemory.adoptImage(memory, { label: "theirs" })
          strictEqual(driverObjects.liveByKind["image"], 1)
          deepStrictEqual([image.shape, image.format, image.label], [small, ImageFormat.rgba8, "theirs"])
          strictEqual(image.usage, ImageUsage.defaultUsage)
          yield* Images.fill(image, 1)
          deepStrictEqual(yield* Images.read(image, Uint8Array), new Uint8Array(32).fill(255))
          yield* Effect.map(Images.map(image, { extent: [1] }), ({ data }) => data.fill(3))
          return image
        }))
        strictEqual(driverObjects.liveByKind["image"], undefined)
        strictEqual(yield* reasonOf(Images.read(image)), "Released")
        const again = yield* Effect.scoped(
          Effect.flatMap(OpenClMemory.adoptImage(memory), (image) => Images.read(image, { extent: [2] }))
        )
        deepStrictEqual(Array.from(again), [3, 3, 3, 3, 255, 255, 255, 255])
        strictEqual(release(), 0)
      })
    ))

  it.effect("asks the driver for shape and format, of every kind", () =>
    onDevice(() =>
      Effect.gen(function*() {
        const shapes = [
          ImageShape.image1d(5),
          ImageShape.image1dArray(5, 3),
          ImageShape.image2d(5, 3),
          ImageShape.image2dArray(5, 3, 2),
          ImageShape.image3d(5, 3, 2)
        ]
        for (const shape of shapes) {
          for (const format of yield* Images.formats(ImageUsage.defaultUsage, shape.kind)) {
            yield* Effect.scoped(Effect.gen(function*() {
              const image = yield* Images.make(shape, format)
              const twin = yield* OpenClMemory.adoptImage(yield* OpenCl.handle(image))
              deepStrictEqual([twin.shape, twin.format], [shape, format])
            }))
          }
        }
      })
    ))

  it.effect("takes the program's reference over without retain", () =>
    onDevice((watched) =>
      Effect.gen(function*() {
        const { memory } = yield* theirs(small, ImageFormat.rgba8)
        yield* Effect.scoped(OpenClMemory.adoptImage(memory, { takeOver: true }))
        strictEqual(watched.count("clRetainMemObject"), 0)
        strictEqual(watched.alive()["clCreateImage"], undefined)
      })
    ))

  it.effect("knows what it has: equal, with the same hash, and one image to every operation", () =>
    onDevice(() =>
      Effect.gen(function*() {
        const [x, y] = [yield* Images.make(small, ImageFormat.rgba8), yield* Images.make(small, ImageFormat.rgba8)]
        const again = yield* OpenClMemory.adoptImage(yield* OpenCl.handle(x))
        const third = yield* OpenClMemory.adoptImage(yield* OpenCl.handle(again))
        assert.isTrue(Equal.equals(x, again) && Equal.equals(x, third) && Equal.equals(third, again))
        strictEqual(Hash.hash(x), Hash.hash(third))
        assert.isFalse(Equal.equals(x, y))
        strictEqual(yield* reasonOf(Images.copy(x, third)), "InvalidRequest")
        yield* Images.map(x)
        strictEqual(yield* reasonOf(Images.read(third)), "InvalidRequest")
      })
    ))

  it.effect("never takes a released handle's successor for the image that it was", () =>
    onDevice(() =>
      Effect.gen(function*() {
        const first = yield* Effect.scoped(Images.make(small, ImageFormat.rgba8))
        for (let at = 0; at < 16; at++) {
          assert.isFalse(Equal.equals(first, yield* Images.make(small, ImageFormat.rgba8)))
        }
      })
    ))

  it.effect("refuses what is no handle of an image, and retains nothing", () =>
    onDevice((watched) =>
      Effect.gen(function*() {
        for (const bad of [0n, -1n, 2n ** 64n, 5, undefined]) {
          strictEqual(yield* reasonOf(OpenClMemory.adoptImage(bad as bigint)), "InvalidRequest")
        }
        strictEqual(watched.count("clGetMemObjectInfo"), 0)
        const buffer = yield* OpenCl.handle(yield* allocate(64))
        const error = yield* Effect.flip(OpenClMemory.adoptImage(buffer))
        strictEqual(error.reason._tag, "InvalidRequest")
        assert.include(error.message, "OpenClMemory.adopt takes a buffer's")
        strictEqual(watched.count("clRetainMemObject"), 0)
        yield* CommandQueue.finish
      })
    ))

  const bends = [
    ["of another kind of memory", "InvalidRequest", "clGetMemObjectInfo", CL_MEM_TYPE, 0x10f7],
    ["over a buffer by its kind", "Unsupported", "clGetMemObjectInfo", CL_MEM_TYPE, 0x10f6],
    ["over other memory", "Unsupported", "clGetMemObjectInfo", CL_MEM_ASSOCIATED_MEMOBJECT, 8n],
    ["of another context", "ForeignDevice", "clGetMemObjectInfo", CL_MEM_CONTEXT, 8n],
    ["of a format that images do not have", "Unsupported", "clGetImageInfo", CL_IMAGE_FORMAT, 0x1234n],
    ["whose elements have other bytes than the format", "Unsupported", "clGetImageInfo", CL_IMAGE_ELEMENT_SIZE, 5n],
    ["of mip levels", "Unsupported", "clGetImageInfo", CL_IMAGE_NUM_MIP_LEVELS, 2]
  ] as const
  for (const [what, reason, call, question, answer] of bends) {
    it.effect(`refuses an image ${what}, and retains nothing`, () =>
      onDevice((watched) =>
        Effect.gen(function*() {
          const { memory, release } = yield* theirs(small, ImageFormat.rgba8)
          strictEqual(yield* reasonOf(OpenClMemory.adoptImage(memory)), reason)
          strictEqual(watched.count("clRetainMemObject"), 0)
          strictEqual(release(), 0)
        }), (api) => ({ [call]: answering(api[call], question, answer) })))
  }

  it.effect("says when the driver does not answer", () =>
    onDevice(() =>
      Effect.gen(function*() {
        const { memory, release } = yield* theirs(small, ImageFormat.rgba8)
        strictEqual(yield* reasonOf(OpenClMemory.adoptImage(memory)), "DriverError")
        strictEqual(release(), 0)
      }), () => ({ clGetImageInfo: () => -38 })))
})

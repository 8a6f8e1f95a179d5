/** Samplers with options for mip levels, and those that other OpenCL code has made. */
import { assert, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Equal from "effect/Equal"
import * as Exit from "effect/Exit"
import * as Hash from "effect/Hash"
import * as Scope from "effect/Scope"
import * as ImageFormat from "../../src/domain/images/ImageFormat.ts"
import * as ImageShape from "../../src/domain/images/ImageShape.ts"
import * as SamplerOptions from "../../src/domain/images/SamplerOptions.ts"
import * as Kernel from "../../src/domain/kernel/Kernel.ts"
import { ImageArg, SamplerArg, VectorArg } from "../../src/domain/kernel/KernelArgument.ts"
import { OpenCl, OpenClImageInfo, OpenClMemory } from "../../src/opencl.ts"
import { DeviceContext } from "../../src/services/device/DeviceContext.ts"
import * as Images from "../../src/services/images/Images.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import { allocate, onDevice, reasonOf, setCode } from "../support/openClDevice.ts"
import { describeWith } from "../support/required.ts"
import { answering } from "../support/watchedOpenCl.ts"

const CL_DEVICE_VERSION = 0x102f
const CL_DEVICE_EXTENSIONS = 0x1030
const CL_SAMPLER_CONTEXT = 0x1151
const CL_SAMPLER_ADDRESSING_MODE = 0x1153
const CL_SAMPLER_MIP_FILTER_MODE = 0x1155
const CL_SAMPLER_LOD_MAX = 0x1157
const CL_ADDRESS_REPEAT = 0x1133
const CL_FILTER_NEAREST = 0x1140
const CL_FILTER_LINEAR = 0x1141

const saying = (question: number, answer: number) => (api: OpenCl.OpenClApi) => ({
  clGetSamplerInfo: answering(api.clGetSamplerInfo, question, answer)
})

const floatBits = (value: number): bigint => BigInt(new Uint32Array(Float32Array.of(value).buffer)[0]!)

describeWith(["opencl"], "OpenCL samplers of mip levels", () => {
  it.effect("go as properties to a device that has them", () => {
    const lists: Array<ReadonlyArray<bigint>> = []
    return onDevice(
      () =>
        Effect.gen(function*() {
          yield* Images.sampler({ filter: "linear", mipFilter: "linear", lodMin: 0.5, lodMax: 3 })
          yield* Images.sampler({ filter: "linear" })
          const plain = [0x1152n, 1n, 0x1153n, 0x1131n, 0x1154n, 0x1141n]
          const levels = [0x1155n, 0x1141n, 0x1156n, floatBits(0.5), 0x1157n, floatBits(3)]
          deepStrictEqual(lists, [[...plain, ...levels, 0n], [...plain, 0n]])
        }),
      (api) => ({
        clGetDeviceInfo: answering(api.clGetDeviceInfo, CL_DEVICE_EXTENSIONS, "cl_khr_fp64 cl_khr_mipmap_image"),
        clCreateSamplerWithProperties: (context, properties, code) => {
          const list = [...properties as BigUint64Array]
          lists.push(list)
          // PoCL has none of them.
          return api.clCreateSamplerWithProperties(context, BigUint64Array.from([...list.slice(0, 6), 0n]), code)
        }
      })
    )
  })

  it.effect.each(["OpenCL 1.2 old", "OpenCL 3.0 new"])(
    "are Unsupported where the device says %s and has none",
    (version) =>
      onDevice(
        (watched) =>
          Effect.gen(function*() {
            const options: ReadonlyArray<SamplerOptions.SamplerOptions> = [
              { mipFilter: "linear" },
              { lodMin: 1 },
              { lodMax: 4 }
            ]
            for (const option of options) {
              const error = yield* Effect.flip(Images.sampler(option))
              strictEqual(error.reason._tag, "Unsupported")
              assert.include(error.message, "cl_khr_mipmap_image")
              assert.include(error.message, "Leave out")
            }
            strictEqual(watched.count("clCreateSampler") + watched.count("clCreateSamplerWithProperties"), 0)
          }),
        (api) => ({ clGetDeviceInfo: answering(api.clGetDeviceInfo, CL_DEVICE_VERSION, version) })
      )
  )

  it.effect("are a DriverError, with the call, when the driver refuses", () =>
    onDevice(
      () =>
        Effect.gen(function*() {
          const error = yield* Effect.flip(Images.sampler({ lodMax: 1 }))
          strictEqual(error.reason._tag, "DriverError")
          assert.include(error.message, "clCreateSamplerWithProperties")
        }),
      (api) => ({
        clGetDeviceInfo: answering(api.clGetDeviceInfo, CL_DEVICE_EXTENSIONS, "cl_khr_mipmap_image"),
        clCreateSamplerWithProperties: (_context, _properties, code) => setCode(code, -30)
      })
    ))

  it.effect("say what the driver says of them", () => {
    const info = Effect.flatMap(Images.sampler(), OpenClImageInfo.samplerInfo)
    return Effect.gen(function*() {
      yield* onDevice(
        () => Effect.map(info, ({ mipFilter }) => strictEqual(mipFilter, "linear")),
        saying(CL_SAMPLER_MIP_FILTER_MODE, CL_FILTER_LINEAR)
      )
      yield* onDevice(
        () => Effect.map(info, ({ lodMax }) => strictEqual(lodMax, 2.5)),
        saying(CL_SAMPLER_LOD_MAX, Number(floatBits(2.5)))
      )
    })
  })
})

/** A cl_sampler as other OpenCL code would make it: coordinates from 0 to 1, repeated, the nearest element. */
const theirs = Effect.map(OpenCl.OpenCl, ({ api, context }) => {
  const code = new Int32Array(1)
  const handle = api.clCreateSampler(context, 1, CL_ADDRESS_REPEAT, CL_FILTER_NEAREST, code)
  assert(handle !== null, `clCreateSampler ${code[0]}`)
  return { handle, release: () => api.clReleaseSampler(handle) }
})

const sampleOnce = Kernel.make({
  name: "sample_once",
  args: [ImageArg("picture"), SamplerArg("how"), VectorArg("f32", "color", { access: "write" })],
  body: { opencl: "vstore4(read_imagef(picture, how, (float2)(1.25f, 0.5f)), 0, color);" }
})

describeWith(["opencl"], "OpenClMemory.adoptSampler", () => {
  it.effect("works as the sampler of other code, and gives its own reference back", () =>
    onDevice(() =>
      Effect.gen(function*() {
        const { driverObjects } = yield* DeviceContext
        const { handle, release } = yield* theirs
        const picture = yield* Images.fromArray(Float32Array.of(7, 8), ImageShape.image2d(2, 1))
        strictEqual(ImageFormat.format(picture.format), "r float32")
        const color = yield* allocate(16)
        const how = yield* Effect.scoped(Effect.gen(function*() {
          const how = yield* OpenClMemory.adoptSampler(handle)
          strictEqual(driverObjects.liveByKind["sampler"], 1)
          deepStrictEqual(how.options, SamplerOptions.resolve({ addressing: "repeat" }))
          strictEqual((yield* OpenClImageInfo.samplerInfo(how)).referenceCount, 2)
          yield* CommandQueue.dispatch(sampleOnce, { picture, how, color }, 1)
          strictEqual((yield* CommandQueue.read(color, Float32Array))[0], 7)
          return how
        }))
        strictEqual(driverObjects.liveByKind["sampler"], undefined)
        strictEqual(yield* reasonOf(CommandQueue.dispatch(sampleOnce, { picture, how, color }, 1)), "Released")
        strictEqual(
          (yield* OpenClMemory.adoptSampler(handle).pipe(
            Effect.flatMap(OpenClImageInfo.samplerInfo),
            Effect.scoped
          )).referenceCount,
          2
        )
        strictEqual(release(), 0)
      })
    ))

  it.effect("takes the program's reference over without retain", () =>
    onDevice((watched) =>
      Effect.gen(function*() {
        const { handle } = yield* theirs
        yield* Effect.scoped(OpenClMemory.adoptSampler(handle, { takeOver: true }))
        strictEqual(watched.count("clRetainSampler"), 0)
        strictEqual(watched.alive()["clCreateSampler"], undefined)
      })
    ))

  it.effect("knows what it has: equal, with the same hash", () =>
    onDevice(() =>
      Effect.gen(function*() {
        const [x, y] = [yield* Images.sampler(), yield* Images.sampler()]
        const again = yield* OpenClMemory.adoptSampler(yield* OpenClImageInfo.samplerHandle(x))
        const third = yield* OpenClMemory.adoptSampler(yield* OpenClImageInfo.samplerHandle(again))
        assert.isTrue(Equal.equals(x, again) && Equal.equals(x, third) && Equal.equals(third, again))
        strictEqual(Hash.hash(x), Hash.hash(third))
        assert.isFalse(Equal.equals(x, y))
      })
    ))

  it.effect("goes with the layer when its scope is longer", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      yield* onDevice(() =>
        Effect.gen(function*() {
          const { handle, release } = yield* theirs
          yield* Scope.provide(OpenClMemory.adoptSampler(handle), scope)
          strictEqual(release(), 0)
        })
      )
      yield* Scope.close(scope, Exit.void)
    }))

  it.effect("is no use on a lost device", () =>
    onDevice(
      (watched) =>
        Effect.gen(function*() {
          const { handle, release } = yield* theirs
          const { status } = yield* DeviceContext
          status.lose("a test")
          strictEqual(yield* reasonOf(OpenClMemory.adoptSampler(handle)), "DeviceLost")
          strictEqual(watched.count("clRetainSampler"), 0)
          strictEqual(release(), 0)
        })
    ))

  it.effect("refuses what is no handle, and retains nothing", () =>
    onDevice((watched) =>
      Effect.gen(function*() {
        for (const bad of [0n, -1n, 2n ** 64n, 5, undefined, null, "1", {}]) {
          strictEqual(yield* reasonOf(OpenClMemory.adoptSampler(bad as bigint)), "InvalidRequest")
        }
        strictEqual(watched.count("clGetSamplerInfo"), 0)
        strictEqual(watched.count("clRetainSampler"), 0)
      })
    ))

  const bends = [
    ["of another context", "ForeignDevice", CL_SAMPLER_CONTEXT, 8n],
    ["of an addressing that there is not", "Unsupported", CL_SAMPLER_ADDRESSING_MODE, 0x1199]
  ] as const
  for (const [what, reason, question, answer] of bends) {
    it.effect(`refuses a sampler ${what}, and retains nothing`, () =>
      onDevice((watched) =>
        Effect.gen(function*() {
          const { handle, release } = yield* theirs
          strictEqual(yield* reasonOf(OpenClMemory.adoptSampler(handle)), reason)
          strictEqual(watched.count("clRetainSampler"), 0)
          strictEqual(release(), 0)
        }), (api) => ({ clGetSamplerInfo: answering(api.clGetSamplerInfo, question, answer) })))
  }

  it.effect("says when the driver does not answer, or does not retain", () =>
    Effect.gen(function*() {
      const refused = Effect.gen(function*() {
        const { handle, release } = yield* theirs
        strictEqual(yield* reasonOf(OpenClMemory.adoptSampler(handle)), "DriverError")
        strictEqual(release(), 0)
      })
      yield* onDevice(() => refused, () => ({ clGetSamplerInfo: () => -41 }))
      yield* onDevice(() => refused, () => ({ clRetainSampler: () => -41 }))
    }))

  it.effect("leaves nothing behind when it is interrupted", () =>
    onDevice(() =>
      Effect.gen(function*() {
        const { driverObjects } = yield* DeviceContext
        const { handle, release } = yield* theirs
        const exit = yield* Effect.exit(
          Effect.scoped(Effect.andThen(OpenClMemory.adoptSampler(handle), Effect.interrupt))
        )
        assert.isTrue(Exit.isFailure(exit))
        strictEqual(driverObjects.liveByKind["sampler"], undefined)
        strictEqual(release(), 0)
      })
    ))
})

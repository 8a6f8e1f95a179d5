/** Images mapped in place, and drivers that lay them out in another way. */
import { assert, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { markAsUntransferable } from "node:worker_threads"
import * as ImageFormat from "../../src/domain/images/ImageFormat.ts"
import * as ImageShape from "../../src/domain/images/ImageShape.ts"
import { OpenCl, OpenClImageInfo, OpenClMemory } from "../../src/opencl.ts"
import * as Mapping from "../../src/services/buffers/mapping/Mapping.ts"
import { DeviceContext } from "../../src/services/device/DeviceContext.ts"
import * as Images from "../../src/services/images/Images.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import { allocate, onDevice, reasonOf, setCode } from "../support/openClDevice.ts"
import { describeWith } from "../support/required.ts"
import { blockQueue, watch } from "../support/watchedOpenCl.ts"

const CL_MAP_FAILURE = -12
const CL_OUT_OF_RESOURCES = -5

type Api = OpenCl.OpenClApi

const mapped = DeviceContext.useSync(({ driverObjects }) => driverObjects.liveByKind["mapping"] ?? 0)

/** Six numbers in two rows. */
const numbers = Images.fromArray(Float32Array.of(1, 2, 3, 4, 5, 6), ImageShape.image2d(3, 2))

/** A driver that reports these pitches, whatever the real ones are. */
const withPitch = (rowPitch: bigint, slicePitch: bigint = 0n) => (api: Api): Partial<Api> => ({
  clEnqueueMapImage: (...args) => {
    const address = api.clEnqueueMapImage(...args)
    const [row, slice] = [args[6] as BigUint64Array, args[7] as BigUint64Array]
    row[0] = rowPitch
    slice[0] = slicePitch
    return address
  }
})

describeWith(["opencl"], "Mapping an OpenCL image", () => {
  it.live("shows the driver's own memory, and cuts it off before the driver gets it back", () =>
    onDevice((watched) =>
      Effect.gen(function*() {
        const image = yield* numbers
        const views = yield* Effect.scoped(Effect.gen(function*() {
          const all = yield* Images.map(image, Float32Array)
          strictEqual(yield* mapped, 1)
          strictEqual((yield* OpenClMemory.info(image)).mapCount, 1)
          deepStrictEqual([...all.data], [1, 2, 3, 4, 5, 6])
          all.setUnsafe(-5, 1, 1)
          return [all.data, new Uint8Array(all.data.buffer, 4, 8)]
        }))
        strictEqual(yield* mapped, 0)
        deepStrictEqual(views.map(({ length }) => length), [0, 0])
        deepStrictEqual([...(yield* Images.read(image, Float32Array))], [1, 2, 3, 4, -5, 6])
        deepStrictEqual(
          [watched.count("clEnqueueMapImage"), watched.count("clEnqueueUnmapMemObject"), watched.count("view")],
          [1, 1, 1]
        )
      })
    ))

  it.live("has a part in place, at the driver's pitches, or a copy of it without gaps", () =>
    onDevice((watched) =>
      Effect.gen(function*() {
        const image = yield* numbers
        const part = { origin: [1], extent: [2, 2] } as const
        yield* Effect.scoped(Effect.gen(function*() {
          const inPlace = yield* Images.map(image, Float32Array, { ...part, layout: "driver" })
          const { rowPitch } = inPlace
          // Drivers map a part where it is in the image, or by itself.
          assert.include([2 * 4, (yield* OpenClImageInfo.info(image)).rowPitch], rowPitch)
          deepStrictEqual(inPlace.strides, [rowPitch / 4, 1])
          strictEqual(inPlace.data.length, rowPitch / 4 + 2)
          inPlace.setUnsafe(-6, 1, 1)
        }))
        strictEqual(watched.count("clEnqueueMapImage"), 1)
        const copy = yield* Effect.scoped(Effect.map(Images.map(image, Float32Array, part), ({ data }) => data.slice()))
        deepStrictEqual([...copy], [2, 3, 5, -6])
        strictEqual(watched.count("clEnqueueMapImage"), 1)
        yield* Effect.scoped(Images.map(image, Float32Array, { origin: [1, 1], extent: [2] }))
        yield* Effect.scoped(Images.map(image, Float32Array, { extent: [3, 2] }))
        strictEqual(watched.count("clEnqueueMapImage"), 3)
      })
    ))

  it.live("has an array of larger items in place only where one of them can lie", () =>
    onDevice((watched) =>
      Effect.gen(function*() {
        const bytes = Uint8Array.from({ length: 16 }, (_, at) => at)
        const own = yield* Images.fromArray(bytes, ImageShape.image1d(16))
        const buffer = yield* allocate(16)
        yield* CommandQueue.write(buffer, bytes)
        const over = yield* Images.overBuffer(buffer, ImageFormat.make("r", "uint8"))
        const cases = [[own, "clEnqueueMapImage"], [over, "clEnqueueMapBuffer"]] as const
        for (const [image, call] of cases) {
          const first = watched.count(call)
          const map = (x: number) =>
            Effect.scoped(Effect.map(
              Images.map(image, Uint32Array, { access: "read", origin: [x], extent: [8], shape: [2] }),
              ({ data }) => [...data]
            ))
          deepStrictEqual(yield* map(1), [...new Uint32Array(bytes.slice(1, 9).buffer)])
          strictEqual(watched.count(call), first)
          deepStrictEqual(yield* map(0), [...new Uint32Array(bytes.slice(0, 8).buffer)])
          strictEqual(watched.count(call), first + 1)
        }
      })
    ))

  it.live("copies what the driver lays out with gaps, unless the program wants it so", () =>
    onDevice(
      (watched) =>
        Effect.gen(function*() {
          const image = yield* numbers
          const packed = yield* Images.map(image, Float32Array)
          deepStrictEqual([[...packed.data], packed.rowPitch], [[1, 2, 3, 4, 5, 6], 12])
          deepStrictEqual([yield* mapped, watched.count("view")], [0, 0])
          packed.setUnsafe(-1, 0, 0)
          yield* Mapping.unmap(packed)
          strictEqual((yield* Images.read(image, Float32Array))[0], -1)
          const wide = yield* Images.map(image, Float32Array, { layout: "driver", access: "read", extent: [3, 1] })
          deepStrictEqual([wide.strides, wide.data.length], [[3, 1], 3])
        }),
      withPitch(16n)
    ))

  it.live("copies where the driver's pitches are no whole elements, or less than the rows", () =>
    Effect.forEach([14n, 8n, 0n], (pitch) =>
      onDevice(
        (watched) =>
          Effect.gen(function*() {
            const image = yield* numbers
            const inPlace = yield* Images.map(image, Float32Array, { layout: "driver" })
            deepStrictEqual([[...inPlace.data], inPlace.strides], [[1, 2, 3, 4, 5, 6], [3, 1]])
            deepStrictEqual([yield* mapped, watched.count("view")], [0, 0])
          }),
        withPitch(pitch)
      ), { discard: true }))

  it.live("leaves memory that the program took away to it, and neither unmaps nor frees it", () =>
    onDevice(
      (watched) =>
        Effect.gen(function*() {
          const { transfer } = ArrayBuffer.prototype as unknown as { readonly transfer: () => ArrayBuffer }
          const kept = yield* Effect.scoped(Effect.gen(function*() {
            const { data } = yield* Images.map(yield* numbers, Float32Array, { access: "read" })
            return new Float32Array(transfer.call(data.buffer as ArrayBuffer))
          }))
          yield* CommandQueue.finish
          deepStrictEqual([yield* mapped, watched.count("clEnqueueUnmapMemObject")], [0, 0])
          for (let owner = 0; owner < 20; owner++) yield* Images.fill(yield* numbers, 9)
          yield* CommandQueue.finish
          deepStrictEqual([...kept], [1, 2, 3, 4, 5, 6])
        }),
      undefined,
      { clCreateBuffer: 1, clEnqueueMapBuffer: 1 }
    ))

  it.live("leaves memory to a program that keeps it from being cut off", () =>
    onDevice(
      () =>
        Effect.gen(function*() {
          const image = yield* numbers
          const all = yield* Images.map(image, Float32Array)
          strictEqual(yield* reasonOf(Mapping.unmap(all)), "InvalidRequest")
          strictEqual(image.recyclable, false)
        }),
      () => ({
        view: (_, bytes) => {
          const memory = new ArrayBuffer(bytes)
          markAsUntransferable(memory)
          return memory
        }
      }),
      { clCreateBuffer: 1, clEnqueueMapBuffer: 1 }
    ))

  it.live("asks for what the program does, and no more", () => {
    const flags: Array<number> = []
    return onDevice(
      () =>
        Effect.gen(function*() {
          const image = yield* numbers
          for (const access of ["read", "write", "readwrite"] as const) {
            yield* Effect.scoped(Images.map(image, Float32Array, { access }))
          }
          yield* Effect.scoped(Images.map(image, Float32Array, { access: "write", shape: [3], strides: [2] }))
          deepStrictEqual(flags, [1, 4, 3, 3])
        }),
      (api) => ({
        clEnqueueMapImage: (...args) => {
          flags.push(args[3])
          return api.clEnqueueMapImage(...args)
        }
      })
    )
  })

  it.live("unmaps what is interrupted while the device is busy, and views nothing", () =>
    onDevice((watched) =>
      Effect.gen(function*() {
        const image = yield* numbers
        const end = yield* blockQueue(yield* OpenCl.handle(yield* allocate(4)))
        const fiber = yield* Effect.forkChild(Effect.scoped(Images.map(image, Float32Array)), {
          startImmediately: true
        })
        strictEqual(yield* mapped, 1)
        yield* Fiber.interrupt(fiber)
        strictEqual(yield* mapped, 0)
        end()
        yield* Images.fill(image, 7)
        strictEqual((yield* Images.read(image, Float32Array))[0], 7)
        strictEqual(watched.count("view"), 0)
      })
    ))

  it.live("ends with its image, also while it waits", () =>
    onDevice((watched) =>
      Effect.gen(function*() {
        const end = yield* blockQueue(yield* OpenCl.handle(yield* allocate(4)))
        const scope = yield* Scope.make()
        const image = yield* Scope.provide(
          Images.make(ImageShape.image1d(4), ImageFormat.make("r", "float32")),
          scope
        )
        const waiting = yield* Effect.forkChild(reasonOf(Images.map(image, Float32Array)), { startImmediately: true })
        yield* Scope.close(scope, Exit.void)
        strictEqual(yield* mapped, 0)
        end()
        strictEqual(yield* Fiber.join(waiting), "Released")
        strictEqual(watched.count("view"), 0)
      })
    ))

  it.live("takes a refused mapping for a failure, and does not trust the image again", () =>
    Effect.forEach(
      [[CL_MAP_FAILURE, "DriverError"], [CL_OUT_OF_RESOURCES, "OutOfMemory"]] as const,
      ([code, tag]) =>
        onDevice(
          () =>
            Effect.gen(function*() {
              const image = yield* numbers
              strictEqual(yield* reasonOf(Images.map(image, Float32Array)), tag)
              assert.isFalse(image.recyclable)
              strictEqual(image.attached?.size ?? 0, 0)
              yield* Images.fill(image, 0)
            }),
          () => ({ clEnqueueMapImage: (...args) => setCode(args[11], code) })
        ),
      { discard: true }
    ))

  it.live("releases what is mapped when the device closes first, or is lost", () =>
    Effect.gen(function*() {
      const watched = yield* watch()
      const outer = yield* Scope.make()
      const scope = yield* Scope.make()
      const context = yield* Layer.buildWithScope(OpenCl.layerFrom(watched.api), scope)
      const all = yield* Scope.provide(Effect.flatMap(numbers, (image) => Images.map(image, Float32Array)), outer).pipe(
        Effect.provide(context)
      )
      strictEqual(all.data.length, 6)
      yield* Scope.close(scope, Exit.void)
      strictEqual(all.data.length, 0)
      deepStrictEqual(watched.alive(), {})
      yield* Scope.close(outer, Exit.void)
      yield* onDevice(() =>
        Effect.gen(function*() {
          const { status } = yield* DeviceContext
          const image = yield* numbers
          const late = yield* Effect.scoped(Effect.gen(function*() {
            const late = yield* Images.map(image, Float32Array)
            status.lose("unplugged")
            return late
          }))
          deepStrictEqual([late.data.length, yield* mapped], [0, 0])
        })
      )
    }))
})

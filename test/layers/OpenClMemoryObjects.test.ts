import { assert, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Equal from "effect/Equal"
import * as Exit from "effect/Exit"
import * as Hash from "effect/Hash"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import * as BufferUsage from "../../src/domain/BufferUsage.ts"
import * as ImageUsage from "../../src/domain/images/ImageUsage.ts"
import { OpenCl, OpenClMemory } from "../../src/opencl.ts"
import type * as Device from "../../src/services/backend/Device.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import * as SubRegion from "../../src/services/buffers/SubRegion.ts"
import { DeviceContext } from "../../src/services/device/DeviceContext.ts"
import * as ImagePool from "../../src/services/images/ImagePool.ts"
import * as Images from "../../src/services/images/Images.ts"
import * as Lease from "../../src/services/lease/Lease.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import * as MemoryObjects from "../../src/services/queue/MemoryObjects.ts"
import { nextTurn } from "../support/hostPool.ts"
import { allocate, onDevice, onHostMemory, read, reasonOf, setCode } from "../support/openClDevice.ts"
import { describeWith } from "../support/required.ts"
import { wholesAlone } from "../support/strictOpenCl.ts"
import { answering, blockQueue } from "../support/watchedOpenCl.ts"

setFlagsFromString("--expose-gc")
const collectGarbage: () => void = runInNewContext("gc")

const CL_DEVICE_VERSION = 0x102f
const CL_MEM_TYPE = 0x1100
const CL_MEM_CONTEXT = 0x1106

/** A cl_mem as other OpenCL code would make it. */
const theirs = (bytes: number, flags: number = 1) =>
  Effect.map(OpenCl.OpenCl, ({ api, context }) => {
    const code = new Int32Array(1)
    const memory = api.clCreateBuffer(context, flags, bytes, null, code)
    assert(memory !== null, `clCreateBuffer ${code[0]}`)
    return { memory, release: () => api.clReleaseMemObject(memory) }
  })

/**
 * Whether the object survives garbage collection, which runs in a later turn, because a `WeakRef` read in a turn keeps
 * its target alive.
 */
const survivesCollection = (held: WeakRef<object>) =>
  Effect.map(Effect.andThen(nextTurn, nextTurn), () => {
    collectGarbage()
    return held.deref() !== undefined
  })

const references = (buffer: OpenClMemory.MemoryObject) =>
  Effect.map(OpenClMemory.info(buffer), ({ referenceCount }) => referenceCount)

/** Waits for the count of references: a driver thread releases that of a command some turns after the command's end. */
const hasReferences = (buffer: OpenClMemory.MemoryObject, expected: number) =>
  Effect.gen(function*() {
    for (let turns = 0; turns < 1000 && ((yield* references(buffer)) ?? 0) > expected; turns++) yield* nextTurn
    strictEqual(yield* references(buffer), expected)
  })

describeWith(["opencl"], "OpenCL sub-regions", () => {
  const refused: ReadonlyArray<SubRegion.Bounds> = [{ offset: 64 }, { size: 0 }, { offset: 512 }, { offset: 1024 }]
  it.effect.each(refused)(
    "never asks the driver for %o of 512 bytes",
    (bounds) =>
      onDevice((watched) =>
        Effect.gen(function*() {
          strictEqual(yield* reasonOf(SubRegion.make(yield* allocate(512), bounds)), "InvalidRequest")
          strictEqual(watched.count("clCreateSubBuffer"), 0)
        })
      )
  )

  it.effect("are made of the whole buffer, with the flags that differ", () =>
    onHostMemory(() =>
      Effect.gen(function*() {
        const { limits } = (yield* DeviceContext).info
        const unit = limits.regionAlignment
        strictEqual(unit, (yield* OpenCl.OpenCl).device.memoryAlignment)
        const whole = yield* allocate(4 * unit)
        const region = yield* SubRegion.make(whole, { offset: unit })
        const inner = yield* SubRegion.make(region, { offset: unit, size: unit }, {
          usage: region.usage | BufferUsage.kernelReadOnly
        })
        const { associatedMemory, flags, offset, size } = yield* OpenClMemory.info(inner)
        strictEqual(associatedMemory, yield* OpenCl.handle(whole))
        deepStrictEqual([offset, size, flags], [2 * unit, unit, ["CL_MEM_READ_ONLY", "CL_MEM_ALLOC_HOST_PTR"]])
      })
    ))

  it.effect("whose creation the driver refuses leave nothing", () =>
    onDevice(
      () =>
        Effect.gen(function*() {
          const whole = yield* allocate(512)
          strictEqual(yield* reasonOf(SubRegion.make(whole, {})), "OutOfMemory")
        }),
      () => ({ clCreateSubBuffer: (...args) => setCode(args[4], -6) })
    ))

  it.effect("make their whole buffer distrusted when its memory turns out to be missing", () =>
    onDevice(
      () =>
        Effect.gen(function*() {
          const whole = yield* allocate(512)
          const region = yield* SubRegion.make(whole, { size: 128 })
          strictEqual(yield* reasonOf(CommandQueue.fill(region, 0)), "OutOfMemory")
          assert.isFalse(whole.recyclable)
        }),
      () => ({ clEnqueueFillBuffer: () => -4 })
    ))
})

describeWith(["opencl"], "OpenCL buffers of the program's data", () => {
  it.effect("use the very memory, from any multiple of 8 bytes on, and keep it until their commands have ended", () =>
    onDevice(() =>
      Effect.gen(function*() {
        const data = new Uint8Array(64).fill(1)
        const buffer = yield* MemoryObjects.fromHost(data.subarray(8, 24), { mode: "use", label: "mine" })
        const { flags, hostPointer, size } = yield* OpenClMemory.info(buffer)
        deepStrictEqual([size, flags], [16, ["CL_MEM_READ_WRITE", "CL_MEM_USE_HOST_PTR"]])
        assert(hostPointer !== undefined && hostPointer !== 0n)
        deepStrictEqual(yield* read(buffer), Array.from({ length: 16 }, () => 1))
        yield* CommandQueue.fill(buffer, 0x03030303)
        const view = yield* MemoryObjects.hostArray(buffer, Uint32Array)
        deepStrictEqual([view.buffer === data.buffer, view.byteOffset, view.length], [true, 8, 4])
        deepStrictEqual([data[7], data[8], data[23], data[24]], [1, 3, 3, 1])
      })
    ))

  it.effect("show a part of the data through a region", () =>
    onDevice(() =>
      Effect.gen(function*() {
        const data = new Float64Array(128)
        const region = yield* SubRegion.make(yield* MemoryObjects.fromHost(data, { mode: "use" }), { offset: 512 })
        yield* CommandQueue.write(region, Float64Array.of(1, 2))
        const view = yield* MemoryObjects.hostArray(region, Float64Array)
        deepStrictEqual([view.length, view.byteOffset, data[64], data[65]], [64, 512, 1, 2])
      })
    ))

  it.effect("keep the data of a freed buffer for as long as commands may read it, and no longer", () =>
    onDevice(() =>
      Effect.gen(function*() {
        const { memory } = yield* theirs(64)
        const other = yield* OpenClMemory.adopt(memory, { takeOver: true })
        const letGo = yield* blockQueue(memory)
        const data = yield* Effect.scoped(Effect.gen(function*() {
          const bytes = new Uint8Array(1024).fill(7)
          const buffer = yield* MemoryObjects.fromHost(bytes, { mode: "use" })
          // A command of the program's own, which names no buffer that would keep the data.
          const { api, enqueueUnsafe } = yield* OpenCl.OpenCl
          const from = yield* OpenCl.handle(buffer)
          yield* enqueueUnsafe({
            label: "mine",
            call: "clEnqueueCopyBuffer",
            enqueue: (queue, event) => api.clEnqueueCopyBuffer(queue, from, memory, 0, 0, 64, 0, null, event)
          })
          return new WeakRef(bytes.buffer)
        }))
        assert.isTrue(yield* survivesCollection(data))
        letGo()
        deepStrictEqual(yield* read(other), Array.from({ length: 64 }, () => 7))
        assert.isFalse(yield* survivesCollection(data))
      })
    ))

  it.effect("of data that was transferred fail with a typed error, and are freed", () =>
    onDevice(() =>
      Effect.gen(function*() {
        yield* Effect.scoped(Effect.gen(function*() {
          const data = new Uint8Array(64)
          const buffer = yield* MemoryObjects.fromHost(data, { mode: "use" })
          const region = yield* SubRegion.make(buffer, { size: 16 })
          const kept = structuredClone(data.buffer, { transfer: [data.buffer] })
          for (const use of [CommandQueue.fill(buffer, 0), CommandQueue.fill(region, 0), SubRegion.make(buffer, {})]) {
            strictEqual(
              yield* reasonOf<unknown, Device.Services | Scope.Scope>(use),
              "InvalidRequest"
            )
          }
          strictEqual(kept.byteLength, 64)
        }))
        const { buffer, region } = (yield* DeviceContext).driverObjects.liveByKind
        deepStrictEqual([buffer, region], [undefined, undefined])
      })
    ))

  it.effect("can be no resizable data, nor shown when they are not the program's", () =>
    onDevice(() =>
      Effect.gen(function*() {
        const Resizable = ArrayBuffer as unknown as new(bytes: number, options: object) => ArrayBuffer
        const data = new Resizable(64, { maxByteLength: 128 })
        strictEqual(yield* reasonOf(MemoryObjects.fromHost(data, { mode: "use" })), "InvalidRequest")
        const copied = yield* MemoryObjects.fromHost(data)
        strictEqual(yield* reasonOf(MemoryObjects.hostArray(copied, Uint8Array)), "InvalidRequest")
        const used = yield* MemoryObjects.fromHost(new Uint8Array(6), { mode: "use" })
        strictEqual(yield* reasonOf(MemoryObjects.hostArray(used, Uint32Array)), "InvalidRequest")
      })
    ))

  it.effect("that the driver has no memory for fail with OutOfMemory", () =>
    onDevice(
      () =>
        Effect.gen(function*() {
          for (const mode of ["copy", "use"] as const) {
            strictEqual(yield* reasonOf(MemoryObjects.fromHost(new Uint8Array(8), { mode })), "OutOfMemory")
          }
        }),
      () => ({ clCreateBuffer: (...args) => setCode(args[4], -6) })
    ))
})

describeWith(["opencl"], "OpenCL migration", () => {
  it.effect("moves buffers and regions to the host and back, and keeps their contents", () =>
    onDevice((watched) =>
      Effect.gen(function*() {
        const [x, y] = [yield* allocate(640), yield* allocate(16)]
        const region = yield* SubRegion.make(x, { offset: 512 })
        const before = watched.count("clEnqueueMigrateMemObjects")
        yield* CommandQueue.fill(x, 0x05050505)
        yield* CommandQueue.fill(y, 0x06060606)
        yield* MemoryObjects.migrate([x, region, y], { to: "host" })
        yield* MemoryObjects.migrate([x, y])
        yield* MemoryObjects.migrate([])
        strictEqual(watched.count("clEnqueueMigrateMemObjects"), before + 2)
        deepStrictEqual(yield* read(region), Array.from({ length: 128 }, () => 5))
        deepStrictEqual(yield* read(y), Array.from({ length: 16 }, () => 6))
        yield* MemoryObjects.migrate([y], { contentUndefined: true })
        yield* MemoryObjects.migrate([region], { contentUndefined: true })
        deepStrictEqual(yield* read(x), Array.from({ length: 640 }, () => 5))
      }), wholesAlone))

  it.effect("moves images with them, those of a pool too", () =>
    onDevice((watched) =>
      Effect.gen(function*() {
        const shape = { kind: "2d", width: 8, height: 4, depth: 1, layers: 1 } as const
        const format = { order: "rgba", type: "unorm8" } as const
        const image = yield* Images.make(shape, format)
        const pooled = yield* ImagePool.allocate(shape, format)
        const x = yield* allocate(16)
        yield* Images.fill(image, 1)
        yield* Images.fill(pooled, 0)
        const before = watched.count("clEnqueueMigrateMemObjects")
        yield* MemoryObjects.migrate([image, x, pooled], { to: "host" })
        yield* MemoryObjects.migrate([pooled, image])
        strictEqual(watched.count("clEnqueueMigrateMemObjects"), before + 2)
        deepStrictEqual(Array.from(yield* Images.read(image)).slice(0, 4), [255, 255, 255, 255])
        deepStrictEqual(Array.from(yield* Images.read(pooled)).slice(0, 4), [0, 0, 0, 0])
        yield* MemoryObjects.migrate([image], { contentUndefined: true })
        yield* CommandQueue.finish
      }).pipe(Effect.scoped, Effect.provide(Layer.fresh(ImagePool.layer())))
    ))

  it.effect("is refused for images that are mapped, released or not to be written", () =>
    onDevice((watched) =>
      Effect.gen(function*() {
        const shape = { kind: "2d", width: 8, height: 4, depth: 1, layers: 1 } as const
        const format = { order: "rgba", type: "unorm8" } as const
        const image = yield* Images.make(shape, format, { usage: ImageUsage.copySrc })
        const closed = yield* Effect.scoped(Images.make(shape, format))
        const before = watched.count("clEnqueueMigrateMemObjects")
        const contentUndefined = true
        strictEqual(yield* reasonOf(MemoryObjects.migrate([image], { contentUndefined })), "InvalidRequest")
        yield* Images.map(image, { access: "read" })
        strictEqual(yield* reasonOf(MemoryObjects.migrate([image])), "InvalidRequest")
        strictEqual(yield* reasonOf(MemoryObjects.migrate([closed])), "Released")
        strictEqual(watched.count("clEnqueueMigrateMemObjects"), before)
      })
    ))

  it.effect("is Unsupported before OpenCL 1.2", () =>
    onDevice(
      () =>
        Effect.gen(function*() {
          strictEqual(yield* reasonOf(MemoryObjects.migrate([yield* allocate(16)])), "Unsupported")
        }),
      (api) => ({ clGetDeviceInfo: answering(api.clGetDeviceInfo, CL_DEVICE_VERSION, "OpenCL 1.1 old") })
    ))
})

describeWith(["opencl"], "OpenClMemory.info", () => {
  it.effect("has everything that the driver reports", () =>
    onHostMemory(() =>
      Effect.gen(function*() {
        const { context } = yield* OpenCl.OpenCl
        const x = yield* allocate(100)
        const { properties, referenceCount, usesSvmPointer, ...info } = yield* OpenClMemory.info(x)
        deepStrictEqual(info, {
          type: "CL_MEM_OBJECT_BUFFER",
          flags: ["CL_MEM_READ_WRITE", "CL_MEM_ALLOC_HOST_PTR"],
          size: 100,
          hostPointer: 0n,
          mapCount: 0,
          context,
          associatedMemory: 0n,
          offset: 0
        })
        assert(referenceCount !== undefined && referenceCount >= 1)
        assert.include([false, undefined], usesSvmPointer)
        assert(properties === undefined || properties.length === 0)
      })
    ))

  it.effect("has images too, and retains those of a pool for as long as their lease", () =>
    onDevice(() =>
      Effect.gen(function*() {
        const { driverObjects } = yield* DeviceContext
        const shape = { kind: "2d", width: 8, height: 4, depth: 1, layers: 1 } as const
        const format = { order: "rgba", type: "unorm8" } as const
        const { size, type } = yield* OpenClMemory.info(yield* Images.make(shape, format))
        deepStrictEqual([type, size], ["CL_MEM_OBJECT_IMAGE2D", 128])
        yield* ImagePool.use(shape, format, (image) => OpenClMemory.retain(image))
        strictEqual(driverObjects.liveByKind["reference"], undefined)
        const own = yield* Images.make(shape, format)
        const memory = yield* OpenClMemory.retain(own)
        strictEqual(yield* reasonOf(OpenClMemory.adopt(memory)), "InvalidRequest")
      }).pipe(Effect.scoped, Effect.provide(Layer.fresh(ImagePool.layer())))
    ))

  it.effect("leaves out what the driver does not answer", () =>
    onDevice(
      () =>
        Effect.gen(function*() {
          const info = yield* OpenClMemory.info(yield* allocate(100))
          deepStrictEqual(Object.values(info).filter((value) => value !== undefined), [])
        }),
      () => ({ clGetMemObjectInfo: () => -30 })
    ))
})

describeWith(["opencl"], "OpenClMemory.adopt", () => {
  it.effect("works on memory of other code, and gives its own reference back", () =>
    onDevice(() =>
      Effect.gen(function*() {
        const { memory, release } = yield* theirs(64, 2)
        yield* Effect.scoped(Effect.gen(function*() {
          const buffer = yield* OpenClMemory.adopt(memory, { label: "theirs" })
          deepStrictEqual([buffer.size, buffer.label], [64, "theirs"])
          strictEqual(buffer.usage, BufferUsage.defaultUsage | BufferUsage.kernelWriteOnly)
          yield* hasReferences(buffer, 2)
          yield* CommandQueue.fill(buffer, 0x01010101)
          deepStrictEqual(yield* read(buffer), Array.from({ length: 64 }, () => 1))
        }))
        strictEqual(release(), 0)
      })
    ))

  const { hostNoAccess, hostReadOnly, hostWriteOnly } = BufferUsage
  it.effect.each(
    [
      ["CL_MEM_HOST_WRITE_ONLY", 128, hostWriteOnly, "read"],
      ["CL_MEM_HOST_READ_ONLY", 256, hostReadOnly, "write"],
      ["CL_MEM_HOST_NO_ACCESS", 512, hostNoAccess, "read"]
    ] as const
  )(
    "knows by %s what the program may do with it",
    ([name, flags, usage, refused]) =>
      onDevice(() =>
        Effect.gen(function*() {
          const { memory, release } = yield* theirs(64, 1 | flags)
          yield* Effect.scoped(Effect.gen(function*() {
            const buffer = yield* OpenClMemory.adopt(memory)
            strictEqual(buffer.usage, BufferUsage.defaultUsage | usage)
            const access = refused === "read" ? read(buffer) : CommandQueue.write(buffer, new Uint8Array(64))
            strictEqual(yield* reasonOf(Effect.asVoid(access)), "InvalidRequest")
            strictEqual(
              yield* reasonOf(OpenClMemory.adopt(memory, { usage: BufferUsage.defaultUsage })),
              "InvalidRequest"
            )
            const { flags: told } = yield* OpenClMemory.info(buffer)
            assert.include([...told ?? []], name)
          }))
          strictEqual(release(), 0)
        })
      )
  )

  it.effect("takes the program's reference over without retain", () =>
    onDevice((watched) =>
      Effect.gen(function*() {
        const { memory } = yield* theirs(64)
        yield* Effect.scoped(OpenClMemory.adopt(memory, { takeOver: true }))
        strictEqual(watched.count("clRetainMemObject"), 0)
        strictEqual(watched.alive()["clCreateBuffer"], undefined)
      })
    ))

  it.effect("knows what it has: equal, with the same hash, and one buffer to every operation", () =>
    onDevice(() =>
      Effect.gen(function*() {
        const [x, y] = [yield* allocate(640), yield* allocate(640)]
        const again = yield* OpenClMemory.adopt(yield* OpenCl.handle(x))
        const third = yield* OpenClMemory.adopt(yield* OpenCl.handle(again))
        assert.isTrue(Equal.equals(x, again) && Equal.equals(x, third) && Equal.equals(third, again))
        strictEqual(Hash.hash(x), Hash.hash(third))
        assert.isFalse(Equal.equals(x, y))
        strictEqual(yield* reasonOf(CommandQueue.copy(x, third)), "InvalidRequest")
        const region = yield* SubRegion.make(x, { offset: 512 })
        const adopted = yield* OpenClMemory.adopt(yield* OpenCl.handle(region))
        assert.isTrue(Equal.equals(region, adopted))
        strictEqual(yield* reasonOf(CommandQueue.copy(adopted, third)), "InvalidRequest")
      })
    ))

  it.effect("knows it through however many adoptions, each of which ended before the next but one", () =>
    onDevice(() =>
      Effect.gen(function*() {
        const { memory, release } = yield* theirs(64)
        const adopt = Effect.gen(function*() {
          const scope = yield* Scope.make()
          return { buffer: yield* Scope.provide(OpenClMemory.adopt(memory), scope), scope }
        })
        let last = yield* adopt
        for (let frame = 0; frame < 20_000; frame++) {
          const next = yield* adopt
          yield* Scope.close(last.scope, Exit.void)
          last = next
        }
        const again = yield* adopt
        assert.isTrue(Equal.equals(again.buffer, last.buffer))
        yield* CommandQueue.fill(last.buffer, 0)
        for (const { scope } of [again, last]) yield* Scope.close(scope, Exit.void)
        strictEqual(release(), 0)
      })
    ))

  it.effect("never takes a released handle's successor for the buffer that it was", () =>
    onDevice(() =>
      Effect.gen(function*() {
        const first = yield* Effect.scoped(allocate(64))
        for (let at = 0; at < 16; at++) assert.isFalse(Equal.equals(first, yield* allocate(64)))
      })
    ))

  it.effect("takes a sub-buffer with the buffer that it is a part of", () =>
    onDevice(() =>
      Effect.gen(function*() {
        const { api } = yield* OpenCl.OpenCl
        const whole = yield* theirs(1024)
        const code = new Int32Array(1)
        const memory = api.clCreateSubBuffer(whole.memory, 0, 0x1220, BigUint64Array.of(512n, 128n), code)
        assert(memory !== null)
        yield* Effect.scoped(Effect.gen(function*() {
          const part = yield* OpenClMemory.adopt(memory)
          deepStrictEqual([part.origin, part.size, part.root.size], [512, 128, 1024])
          const inner = yield* SubRegion.make(part, { size: 4 })
          deepStrictEqual([inner.origin, inner.root === part.root], [512, true])
        }))
        deepStrictEqual([api.clReleaseMemObject(memory), whole.release()], [0, 0])
      })
    ))

  it.effect("refuses what is no handle, of another context, or no buffer", () =>
    onDevice((watched) =>
      Effect.gen(function*() {
        for (const bad of [0n, -1n, 5, undefined]) {
          strictEqual(yield* reasonOf(OpenClMemory.adopt(bad as bigint)), "InvalidRequest")
        }
        strictEqual(watched.count("clGetMemObjectInfo"), 0)
        const { memory, release } = yield* theirs(64, 4)
        strictEqual(
          yield* reasonOf(OpenClMemory.adopt(memory, { usage: BufferUsage.defaultUsage })),
          "InvalidRequest"
        )
        strictEqual(release(), 0)
      })
    ))

  const bends = { InvalidRequest: [CL_MEM_TYPE, 0x10f1], ForeignDevice: [CL_MEM_CONTEXT, 8n] } as const
  for (const [reason, [question, answer]] of Object.entries(bends)) {
    it.effect(`fails with ${reason} and retains nothing`, () =>
      onDevice((watched) =>
        Effect.gen(function*() {
          const { memory, release } = yield* theirs(64)
          strictEqual(yield* reasonOf(OpenClMemory.adopt(memory)), reason)
          strictEqual(watched.count("clRetainMemObject"), 0)
          strictEqual(release(), 0)
        }), (api) => ({ clGetMemObjectInfo: answering(api.clGetMemObjectInfo, question, answer) })))
  }
})

describeWith(["opencl"], "OpenClMemory.retain", () => {
  it.effect("keeps a freed buffer's handle good until the scope closes", () =>
    onDevice((watched) =>
      Effect.gen(function*() {
        const { driverObjects } = yield* DeviceContext
        yield* Effect.scoped(Effect.gen(function*() {
          const scope = yield* Effect.scope
          const memory = yield* Effect.scoped(
            Effect.flatMap(allocate(64), (buffer) => Scope.provide(OpenClMemory.retain(buffer), scope))
          )
          strictEqual(driverObjects.liveByKind["reference"], 1)
          const buffer = yield* OpenClMemory.adopt(memory)
          yield* CommandQueue.fill(buffer, 0)
          yield* CommandQueue.finish
        }))
        strictEqual(watched.alive()["clCreateBuffer"], undefined)
      })
    ))

  it.effect("ends with the lease that a region is a part of", () =>
    onDevice(() =>
      Effect.gen(function*() {
        const { driverObjects } = yield* DeviceContext
        const lease = yield* BufferPool.allocate(640)
        const scope = yield* Scope.make()
        const region = yield* Scope.provide(SubRegion.make(lease, { offset: 512 }), scope)
        yield* OpenClMemory.retain(yield* SubRegion.make(region, { size: 64 }))
        yield* OpenClMemory.retain(region)
        yield* Scope.close(scope, Exit.void)
        strictEqual(driverObjects.liveByKind["reference"], 2)
        yield* Lease.release(lease)
        strictEqual(driverObjects.liveByKind["reference"], undefined)
      }).pipe(Effect.scoped, Effect.provide(Layer.fresh(BufferPool.layer())))
    ))

  it.effect("ends with a lease, whose block goes to the next owner", () =>
    onDevice(() =>
      Effect.gen(function*() {
        const { driverObjects } = yield* DeviceContext
        const lease = yield* BufferPool.allocate(64)
        const scope = yield* Scope.make()
        yield* Scope.provide(OpenClMemory.retain(lease), scope)
        yield* hasReferences(lease, 2)
        yield* Lease.release(lease)
        strictEqual(driverObjects.liveByKind["reference"], undefined)
        const next = yield* BufferPool.allocate(64)
        yield* hasReferences(next, 1)
        yield* Scope.close(scope, Exit.void)
        const none = yield* BufferPool.allocate(0)
        strictEqual(yield* reasonOf(OpenClMemory.retain(none)), "InvalidRequest")
        strictEqual(yield* reasonOf(OpenClMemory.info(lease)), "Released")
      }).pipe(Effect.scoped, Effect.provide(Layer.fresh(BufferPool.layer())))
    ))
})

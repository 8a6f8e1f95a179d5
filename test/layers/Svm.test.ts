import * as DeviceArray from "@effect-gpu-pool/arrays/DeviceArray"
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Equal from "effect/Equal"
import * as Exit from "effect/Exit"
import * as Hash from "effect/Hash"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as BufferUsage from "../../src/domain/BufferUsage.ts"
import * as Kernel from "../../src/domain/kernel/Kernel.ts"
import * as KernelArgument from "../../src/domain/kernel/KernelArgument.ts"
import { OpenCl, OpenClMemory, Svm } from "../../src/opencl.ts"
import * as Allocator from "../../src/services/buffers/Allocator.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import type * as PooledBuffer from "../../src/services/buffers/PooledBuffer.ts"
import * as SubRegion from "../../src/services/buffers/SubRegion.ts"
import { DeviceContext } from "../../src/services/device/DeviceContext.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import { reasonOf, setCode } from "../support/openClDevice.ts"
import { describeWith } from "../support/required.ts"
import { onSvm } from "../support/svmDevice.ts"
import { answering, type Bends, watch } from "../support/watchedOpenCl.ts"

const fine = { grain: "fine" } as const

const scale = Kernel.make({
  name: "scale",
  args: [KernelArgument.VectorArg("f32", "x"), KernelArgument.ScalarArg("f32", "a")],
  body: { opencl: "x[i] = a * x[i];" }
})

const numbers = (buffer: PooledBuffer.PooledBuffer) =>
  Effect.map(CommandQueue.read(buffer, Uint32Array), (array) => [...array])

/** The driver has no memory while `refuses` says so. */
const refusing = (refuses: () => boolean): Bends => ({ clSVMAlloc }) => ({
  clSVMAlloc: (...args) => refuses() ? null : clSVMAlloc(...args)
})

const CL_DEVICE_SVM_CAPABILITIES = 0x1053
const CL_DEVICE_VERSION = 0x102f

const lacking = (question: number, answer: string | bigint): Bends => ({ clGetDeviceInfo }) => ({
  clGetDeviceInfo: answering(clGetDeviceInfo, question, answer)
})

const build = (options: Svm.AllocatorOptions, bends: Bends) =>
  Effect.gen(function*() {
    const { api } = yield* watch(bends)
    const device = OpenCl.layerFrom(api)
    return yield* Effect.gen(function*() {
      const problem = yield* Effect.flip(Effect.scoped(Layer.build(Svm.layerAllocator(options))))
      strictEqual(problem.reason._tag, "Unsupported")
      return { message: problem.message, capabilities: yield* Svm.capabilities }
    }).pipe(Effect.provide(device))
  })

const isClMem = (options: Svm.PoolOptions) =>
  onSvm(() =>
    Effect.gen(function*() {
      const { api } = yield* OpenCl.OpenCl
      const x = yield* BufferPool.allocate(1000)
      const { address, size } = yield* Svm.pointer(x)
      const info = new BigUint64Array(2)
      const memory = yield* OpenCl.handle(x)
      api.clGetMemObjectInfo(memory, 0x1109, 4, info.subarray(0, 1), null)
      api.clGetMemObjectInfo(memory, 0x1103, 8, info.subarray(1), null)
      deepStrictEqual([info[0], info[1], size], [1n, address, 1000])
    }), options)

const carriesArrays = (options: Svm.PoolOptions | undefined) =>
  Effect.gen(function*() {
    const program = Effect.scoped(Effect.gen(function*() {
      const x = yield* DeviceArray.fromHost([[1, 2, 3], [4, 5, 6]])
      const centred = yield* DeviceArray.subtract(x, yield* DeviceArray.mean(x))
      const product = yield* DeviceArray.matmul(centred, yield* DeviceArray.transpose(x))
      return yield* DeviceArray.toNested(yield* DeviceArray.sqrt(yield* DeviceArray.multiply(product, product)))
    }))
    const device = OpenCl.layer()
    const onBuffers = yield* Effect.provide(program, Layer.provideMerge(BufferPool.layer(), device))
    const onShared = yield* Effect.provide(program, Layer.provideMerge(Svm.layerPool(options), device))
    deepStrictEqual(onBuffers, [[7, 20.5], [11, 24.5]])
    deepStrictEqual(onShared, onBuffers)
  })

describeWith(["finegrain"], "Shared virtual memory of fine grain", () => {
  it.live("is under a cl_mem", () => isClMem(fine))

  it.live("carries a program of device arrays, unchanged", () => carriesArrays(fine))

  it.live("is what atomics need", () =>
    Effect.gen(function*() {
      const layer = Svm.layerPool({ atomics: true }).pipe(Layer.provide(OpenCl.layer()))
      strictEqual(yield* reasonOf(Effect.scoped(Layer.build(layer))), "InvalidRequest")
    }))

  it.live("may be for atomics", () => onSvm(() => BufferPool.allocate(64), { ...fine, atomics: true }))
})

describeWith(["opencl"], "Shared virtual memory", () => {
  describe("buffers", () => {
    it.live("are a cl_mem over the shared memory", () => isClMem({}))

    it.live("are what kernels, writes, reads, copies and fills expect", () =>
      onSvm(() =>
        Effect.gen(function*() {
          const x = yield* BufferPool.allocate(16)
          const y = yield* BufferPool.allocate(16)
          yield* CommandQueue.write(x, Float32Array.of(1, 2, 3, 4))
          yield* CommandQueue.dispatch(scale, { x, a: 2 }, 4)
          yield* CommandQueue.fill(y, 0)
          yield* CommandQueue.copy(x, y, { sourceOffset: 4, size: 8 })
          deepStrictEqual([...(yield* CommandQueue.read(y, Float32Array))], [4, 6, 0, 0])
        })
      ))

    it.live("carry a program of device arrays, unchanged", () => carriesArrays(undefined))

    it.live("know their memory by its address", () =>
      onSvm(() =>
        Effect.gen(function*() {
          const x = yield* BufferPool.allocate(64)
          const y = yield* BufferPool.allocate(64)
          const [one, same, other] = [yield* Svm.pointer(x), yield* Svm.pointer(x), yield* Svm.pointer(y)]
          assert.isTrue(Equal.equals(one, same))
          strictEqual(Hash.hash(one), Hash.hash(same))
          assert.isFalse(Equal.equals(one, other))
          assert.isTrue(Equal.equals(one, new Svm.SvmPointer(one.address, 8)))
          strictEqual(String(one), `SvmPointer(0x${one.address.toString(16)}, 64 B)`)
          strictEqual(yield* reasonOf(Svm.pointer(yield* BufferPool.allocate(0))), "InvalidRequest")
        })
      ))

    it.live("keep their memory for a handle that OpenClMemory.retain gave, as promised there", () =>
      onSvm(({ count }) =>
        Effect.gen(function*() {
          const { driverObjects } = yield* DeviceContext
          yield* Effect.scoped(Effect.gen(function*() {
            const scope = yield* Effect.scope
            const memory = yield* Effect.scoped(Effect.gen(function*() {
              const buffer = yield* Allocator.allocate(64)
              yield* CommandQueue.fill(buffer, 5)
              return yield* Scope.provide(OpenClMemory.retain(buffer), scope)
            }))
            yield* CommandQueue.finish
            deepStrictEqual([count("clEnqueueSVMFree"), driverObjects.liveByKind.svm], [0, 1])
            deepStrictEqual([...(yield* CommandQueue.read(yield* OpenClMemory.adopt(memory), Uint32Array))][15], 5)
          }))
          deepStrictEqual([count("clEnqueueSVMFree"), driverObjects.liveByKind.svm], [1, undefined])
        })
      ))

    it.live("go with such a handle when its scope outlives the layer", () =>
      Effect.gen(function*() {
        const scope = yield* Scope.make()
        const layer = Svm.layerAllocator().pipe(Layer.provideMerge(OpenCl.layer()))
        const { driverObjects } = yield* Effect.gen(function*() {
          yield* Scope.provide(OpenClMemory.retain(yield* Allocator.allocate(64)), scope)
          return yield* DeviceContext
        }).pipe(Effect.scoped, Effect.provide(layer))
        deepStrictEqual(driverObjects.liveByKind, { svm: 1, reference: 1 })
        yield* Scope.close(scope, Exit.void)
        deepStrictEqual(driverObjects.liveByKind, {})
      }))

    it.live("are freed after their cl_mem and after what was recorded, in the queue", () =>
      onSvm(({ calls }) =>
        Effect.gen(function*() {
          yield* BufferPool.use(64, (x) => CommandQueue.fill(x, 1))
          const before = calls.length
          yield* BufferPool.freeHeld
          const ending = calls.slice(before).filter((call) => /Release|SVM/.test(call))
          deepStrictEqual(ending.slice(0, 2), ["clReleaseMemObject", "clEnqueueSVMFree"])
          strictEqual((yield* DeviceContext).driverObjects.liveByKind.svm, undefined)
        })
      ))

    it.live("keep their memory until the last region is gone", () =>
      onSvm(({ count }) =>
        Effect.gen(function*() {
          const { regionAlignment } = (yield* DeviceContext).info.limits
          const allocator = yield* Allocator.Allocator
          yield* Effect.scoped(Effect.gen(function*() {
            const parent = yield* allocator.allocate(4 * regionAlignment)
            const region = yield* SubRegion.make(parent, { offset: regionAlignment, size: 16 })
            const [whole, part] = [yield* Svm.pointer(parent), yield* Svm.pointer(region)]
            strictEqual(part.address, whole.address + BigInt(regionAlignment))
            yield* CommandQueue.fill(region, 5)
            yield* (yield* DeviceContext).destroyBufferUnsafe(parent)
            strictEqual(count("clEnqueueSVMFree"), 0)
            deepStrictEqual([...(yield* CommandQueue.read(region, Uint32Array))], [5, 5, 5, 5])
          }))
          strictEqual(count("clEnqueueSVMFree"), 1)
        })
      ))

    it.live("have the alignment that was asked for", () =>
      Effect.forEach([1, 4, 64, 128], (alignment) =>
        onSvm(() =>
          Effect.gen(function*() {
            const { address } = yield* Svm.pointer(yield* BufferPool.allocate(24))
            strictEqual(address % BigInt(alignment), 0n)
          }), { alignment }), { discard: true }))

    it.live.each([-1, 3, 0.5, 256, NaN, 2 ** 40])(
      "cannot have the alignment %d",
      (alignment) =>
        Effect.gen(function*() {
          const layer = Layer.provide(Svm.layerAllocator({ alignment }), OpenCl.layer())
          const error = yield* Effect.flip(Effect.scoped(Layer.build(Layer.provideMerge(layer, OpenCl.layer()))))
          strictEqual(error.reason._tag, "InvalidRequest")
          assert.include(error.message, `alignment ${alignment} is no `)
        })
    )

    it.live("that are too large are refused before the driver is asked, and those of no bytes need none", () =>
      onSvm(({ count }) =>
        Effect.gen(function*() {
          const { limits } = (yield* DeviceContext).info
          const allocator = yield* Allocator.Allocator
          strictEqual(yield* reasonOf(allocator.allocate(limits.maxBufferSize + 1)), "LimitExceeded")
          strictEqual(yield* reasonOf(BufferPool.allocate(limits.maxBufferSize + 1)), "LimitExceeded")
          strictEqual((yield* allocator.allocate(0)).size, 0)
          strictEqual(yield* reasonOf(allocator.allocate(1.5)), "InvalidRequest")
          strictEqual(yield* reasonOf(allocator.allocate(4, { usage: -1 })), "InvalidRequest")
          strictEqual(count("clSVMAlloc"), 0)
        })
      ))

    it.live("take the usage for kernels' access, and host memory for granted", () =>
      onSvm(() =>
        Effect.gen(function*() {
          const usage = BufferUsage.defaultUsage | BufferUsage.kernelReadOnly | BufferUsage.hostMemory
          const x = yield* BufferPool.allocate(16, { usage })
          strictEqual(yield* reasonOf(CommandQueue.dispatch(scale, { x, a: 2 }, 4)), "InvalidRequest")
          yield* CommandQueue.fill(x, 3)
          deepStrictEqual(yield* numbers(x), [3, 3, 3, 3])
        })
      ))
  })

  describe("a null of clSVMAlloc", () => {
    it.live("is OutOfMemory, after all of the fallback", () =>
      onSvm(
        () =>
          Effect.gen(function*() {
            const error = yield* Effect.flip(BufferPool.allocate(1001))
            assert(error.reason._tag === "OutOfMemory")
            deepStrictEqual(error.reason.stepsTried, ["bin", "borrow", "driver", "reclaim", "exact"])
            const allocator = yield* Allocator.Allocator
            strictEqual(yield* reasonOf(allocator.allocate(64)), "OutOfMemory")
            const stats = yield* BufferPool.stats
            deepStrictEqual([stats.activeBlocks, stats.managedBytes, stats.pendingBytes], [0, 0, 0])
          }),
        undefined,
        refusing(() => true)
      ))

    it.live("makes the pool evict, and the request pass", () =>
      Effect.suspend(() => {
        let left = Infinity
        return onSvm(
          ({ count }) =>
            Effect.gen(function*() {
              yield* BufferPool.use(100_000, () => Effect.void)
              left = 0
              const lease = yield* BufferPool.allocate(1000, { label: "fits" })
              strictEqual(lease.size, 1000)
              strictEqual((yield* BufferPool.stats).heldBlocks, 0)
              strictEqual(count("clEnqueueSVMFree"), 1)
            }),
          undefined,
          ({ clEnqueueSVMFree, clSVMAlloc }) => ({
            clSVMAlloc: (...args) => left > 0 ? clSVMAlloc(...args) : null,
            clEnqueueSVMFree: (...args) => {
              left = 1
              return clEnqueueSVMFree(...args)
            }
          })
        )
      }))

    it.live("never becomes a buffer when the cl_mem over the memory is refused", () =>
      onSvm(
        ({ count }) =>
          Effect.gen(function*() {
            const allocator = yield* Allocator.Allocator
            strictEqual(yield* reasonOf(allocator.allocate(64)), "OutOfMemory")
            deepStrictEqual([count("clSVMAlloc"), count("clSVMFree")], [1, 1])
          }),
        undefined,
        () => ({ clCreateBuffer: (_context, _flags, _bytes, _host, code) => setCode(code, -6) })
      ))
  })

  describe("a device that lacks it", () => {
    it.live("says why", () =>
      Effect.gen(function*() {
        const none = yield* build({}, lacking(CL_DEVICE_SVM_CAPABILITIES, 0n))
        assert.include(none.message, "reports no kind of it. Use BufferPool.layer")
        strictEqual(none.capabilities.coarseGrain, false)
        const old = yield* build({}, lacking(CL_DEVICE_VERSION, "OpenCL 1.2 old"))
        assert.include(old.message, "has OpenCL 1.2 old, and shared virtual memory came with OpenCL 2.0")
        strictEqual(old.capabilities.fineGrain, false)
        const coarse = yield* build(fine, lacking(CL_DEVICE_SVM_CAPABILITIES, 1n))
        assert.include(coarse.message, `Use grain: "coarse" and Mapping.map`)
        const plain = yield* build({ ...fine, atomics: true }, lacking(CL_DEVICE_SVM_CAPABILITIES, 3n))
        assert.include(plain.message, "atomics between host and device")
      }))

    it.live("still opens with a loader that has none of the functions", () =>
      Effect.gen(function*() {
        const koffi = yield* Effect.promise(() => import("koffi"))
        const old = {
          ...koffi.default,
          load: (name: string) => {
            const library = koffi.load(name)
            return {
              ...library,
              func: (symbol: string, ...rest: ReadonlyArray<unknown>) => {
                if (symbol.includes("SVM")) throw new Error(`Cannot find function '${symbol}'`)
                return (library.func as (...args: ReadonlyArray<unknown>) => unknown)(symbol, ...rest)
              }
            }
          }
        }
        const api = yield* OpenCl.load({ koffi: () => Promise.resolve(old as never) })
        strictEqual(api.clSVMAlloc(0n, 1, 64, 0), null)
        strictEqual(api.clEnqueueSVMUnmap(0n, 0n, 0, null, null), -59)
        api.clSVMFree(0n, 0n)
        const sum = BufferPool.use(16, (x) => Effect.andThen(CommandQueue.fill(x, 1), numbers(x)))
        const layer = BufferPool.layer().pipe(Layer.provideMerge(OpenCl.layerFrom(api)))
        deepStrictEqual(yield* Effect.provide(sum, layer), [1, 1, 1, 1])
      }))
  })
})

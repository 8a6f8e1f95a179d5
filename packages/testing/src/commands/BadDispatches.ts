/**
 * Dispatches and kernels that every backend must refuse, and failures of recorded commands.
 *
 * @internal
 */
import { BufferPool, BufferUsage, CommandQueue, Kernel } from "effect-gpu-pool"
import type { PooledBuffer } from "effect-gpu-pool/BufferPool"
import { DeviceContext } from "effect-gpu-pool/DeviceContext"
import { VectorArg } from "effect-gpu-pool/KernelArgument"
import { KernelCache } from "effect-gpu-pool/KernelCache"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { type ConformanceTest, inGroup, type TestServices } from "../ConformanceTest.ts"
import * as Expect from "../Expect.ts"
import { expectUsable, failing, invalid, type Mistake, mistakeTests } from "../memory/BadRequests.ts"
import * as Kernels from "./Kernels.ts"

const test = inGroup("failures")

const withLease = (
  call: (lease: PooledBuffer) => Effect.Effect<unknown, unknown, TestServices>,
  size: number = 64,
  usage: number = BufferUsage.defaultUsage
) => Effect.flatMap(BufferPool.allocate(size, { usage }), call)

const overBindingLimit = Effect.gen(function*() {
  const { limits } = yield* DeviceContext.useSync((device) => device.info)
  const size = limits.maxBindingSize + 4
  // Where a binding can be as large as a buffer, the allocation of the buffer fails first.
  if (size > limits.maxBufferSize) return yield* BufferPool.allocate(size)
  const y = yield* BufferPool.allocate(size)
  return yield* CommandQueue.dispatch(Kernels.iota, { y, start: 0 }, 1)
})

const { copySrc, kernelReadOnly, kernelWriteOnly, storage } = BufferUsage

const vectors: ReadonlyArray<Mistake> = [
  ...[-1, 0.5, NaN, 16, 2 ** 53].map((offset) =>
    invalid(
      `a view from element ${offset}`,
      (x, y) => CommandQueue.dispatch(Kernels.view, { x: { buffer: x, offset }, y }, 1)
    )
  ),
  ...failing("InvalidRequest", {
    "a lease of no bytes as an argument": withLease((y) => CommandQueue.dispatch(Kernels.iota, { y, start: 0 }, 1), 0),
    "a lease smaller than an element as an argument": withLease(
      (y) => CommandQueue.dispatch(Kernels.iota, { y, start: 0 }, 1),
      3
    ),
    "one lease in two arguments, both written": (x) => CommandQueue.dispatch(Kernels.exchange, { x, y: x }, 1),
    "one lease in two arguments, one of them written": (x) =>
      CommandQueue.dispatch(Kernels.addTo, { x, y: x, a: 1 }, 1),
    "a kernelReadOnly lease that the kernel writes": withLease(
      (y) => CommandQueue.dispatch(Kernels.iota, { y, start: 0 }, 1),
      64,
      storage | kernelReadOnly
    ),
    "a kernelWriteOnly lease that the kernel reads": withLease(
      (x) => withLease((y) => CommandQueue.dispatch(Kernels.addTo, { x, y, a: 1 }, 1)),
      64,
      storage | kernelWriteOnly
    ),
    "a lease without storage as an argument": withLease(
      (y) => CommandQueue.dispatch(Kernels.iota, { y, start: 0 }, 1),
      64,
      copySrc
    )
  }),
  ...failing("LimitExceeded", {
    "a lease over the binding limit": overBindingLimit
  }),
  ...([[17, 0, 0], [1, 16, 0], [9, 8, 0], [9, 0, 8], [2 ** 32 - 1, 15, 15]] as const).map(
    ([count, from, to]) =>
      invalid(
        `${count} items from elements ${from} and ${to} of 16`,
        (x, y) =>
          CommandQueue.dispatch(
            Kernels.addItemwise,
            { x: { buffer: x, offset: from }, y: { buffer: y, offset: to }, a: 1 },
            count
          )
      )
  )
]

const compile = (kernel: Kernel.Kernel) => KernelCache.use((cache) => cache.get(kernel))

const beyondDevice: ReadonlyArray<Mistake> = [
  ...failing("LimitExceeded", {
    "a workgroup over the device's limit": Effect.flatMap(
      DeviceContext,
      ({ info }) => compile({ ...Kernels.constant(1), workgroupSize: info.limits.maxWorkgroupSize + 1 })
    ),
    "more vectors than the device takes": Effect.flatMap(
      DeviceContext,
      ({ info }) => compile(Kernels.wide(info.limits.maxVectorArguments + 1))
    )
  }),
  ...failing("Unsupported", {
    "a kernel without a body for the backend": (y) => CommandQueue.dispatch(Kernels.bodiless, { y }, 1)
  })
]

export const tests: ReadonlyArray<ConformanceTest> = [
  ...mistakeTests("bad dispatches", vectors),
  ...mistakeTests("bad kernels", beyondDevice),
  /** The host compiles nothing: there the kernel has no body. */
  test("a compile error carries the compiler's log and leaves the queue usable", { counting: true }, function*() {
    const { language } = yield* DeviceContext.useSync((device) => device.info.traits)
    const y = yield* BufferPool.allocate(64)
    const before = yield* KernelCache.use((cache) => cache.stats)
    yield* CommandQueue.fill(y, 11)
    for (const attempt of ["the first time", "the second time"]) {
      const dispatch = CommandQueue.dispatch(Kernels.broken, { y }, 1)
      if (language.bodies === "ranges") yield* Expect.failsWith(attempt, dispatch, "Unsupported")
      else {
        const { log } = yield* Expect.failsWith(attempt, dispatch, "DriverError")
        Expect.isTrue(`the log names what is wrong: ${log}`, log.includes("no_such_name"))
      }
    }
    const after = yield* KernelCache.use((cache) => cache.stats)
    Expect.equal("kernels in the cache", after.size, before.size)
    Expect.equal("compilations", after.misses - before.misses, 2)
    yield* expectUsable
  }),
  /** A body that throws: only a body on the host can. */
  test("the failure of a kernel names its command, and the queue stays usable", function*() {
    const { language } = yield* DeviceContext.useSync((device) => device.info.traits)
    const y = yield* BufferPool.allocate(64)
    const throwing = Kernel.make({
      name: "throwing",
      args: [VectorArg("u32", "y")],
      body: {
        wgsl: "y[i] = 1u;",
        opencl: "y[i] = 1u;",
        host: () => {
          throw new RangeError("too much for this body")
        }
      }
    })
    yield* CommandQueue.dispatch(throwing, { y }, 3)
    const finished = yield* Effect.result(CommandQueue.finish)
    Expect.equal("the finish", finished._tag, language.bodies === "ranges" ? "Failure" : "Success")
    if (Result.isFailure(finished)) {
      const { commands, log } = Expect.reasonOf("a body that throws", finished.failure, "DriverError")
      Expect.same("the commands", commands, ["dispatch throwing (3 items)"])
      Expect.isTrue(`the log says why: ${log}`, log.includes("too much for this body"))
    }
    yield* CommandQueue.finish
    yield* expectUsable
  })
]

/**
 * An OpenCL context and queue of other code, on the machine's driver, with that code's own memory and commands, and the
 * driver's counts of references.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { OpenCl } from "../../src/opencl.ts"

export const CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE = 1

const CL_QUEUE_REFERENCE_COUNT = 0x1092
const CL_CONTEXT_REFERENCE_COUNT = 0x1080

export type References = readonly [context: number, queue: number]

export interface OtherCode {
  readonly handles: OpenCl.Handles
  /** The driver's counts, including its internal references for memory and commands. */
  readonly references: () => References
  /** Fills a buffer of its own on the shared queue and reads it, in one blocking call. */
  readonly works: () => boolean
  /** Makes another queue of the other code's. */
  readonly queue: (properties: number, context?: bigint) => bigint
  readonly context: () => bigint
  /** Makes a buffer of the other code's. */
  readonly buffer: (bytes: number) => bigint
  /** Everything that is enqueued from now on waits until the returned function is called. */
  readonly block: () => () => void
}

const count = (query: OpenCl.OpenClApi["clGetCommandQueueInfo"], of: bigint, what: number): number => {
  const value = new Uint32Array(new ArrayBuffer(4))
  query(of, what, 4, value, null)
  return value[0]!
}

const load = Effect.promise(async () => {
  const koffi = await import("koffi")
  const library = koffi.load("libOpenCL.so.1")
  return {
    info: library.func("int32_t clGetContextInfo(void*, uint32_t, size_t, void*, void*)"),
    finish: library.func("int32_t clFinish(void*)"),
    userEvent: library.func("void* clCreateUserEvent(void*, void*)"),
    setStatus: library.func("int32_t clSetUserEventStatus(void*, int32_t)")
  }
})

/** Released with the scope, by the other code. */
export const otherCode: Effect.Effect<OtherCode, never, Scope.Scope> = Effect.gen(function*() {
  const api = yield* Effect.orDie(OpenCl.load())
  const [platform] = (yield* Effect.orDie(OpenCl.devices)).filter(({ devices }) => devices.length > 0)
  const device = platform!.devices[0]!.id
  const { finish, info, setStatus, userEvent } = yield* load
  /** The latest first. */
  const releases: Array<() => unknown> = []
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      for (const release of releases) release()
    })
  )
  const code = new Int32Array(new ArrayBuffer(4))
  const newContext = (): bigint => {
    const devices = new BigUint64Array(new ArrayBuffer(8)).fill(device)
    const made = api.clCreateContext(null, 1, devices, null, null, code)!
    releases.unshift(() => api.clReleaseContext(made))
    return made
  }
  const context = newContext()
  const newQueue = (properties: number, of = context): bigint => {
    const made = api.clCreateCommandQueue(of, device, properties, code)!
    releases.unshift(() => api.clReleaseCommandQueue(made))
    return made
  }
  const queue = newQueue(0)
  /**
   * Runs a command on the buffer at once, because PoCL keeps the last command of each memory object, and with it a
   * reference to the queue.
   */
  const newBuffer = (bytes: number): bigint => {
    const made = api.clCreateBuffer(context, 0, bytes, null, code)!
    releases.unshift(() => api.clReleaseMemObject(made))
    api.clEnqueueWriteBuffer(queue, made, 1, 0, bytes, new Uint8Array(new ArrayBuffer(bytes)), 0, null, null)
    return made
  }
  const own = newBuffer(16)
  const references = (): References => [
    count(info as OpenCl.OpenClApi["clGetCommandQueueInfo"], context, CL_CONTEXT_REFERENCE_COUNT),
    count(api.clGetCommandQueueInfo, queue, CL_QUEUE_REFERENCE_COUNT)
  ]
  const works = (): boolean => {
    const pattern = new Uint32Array(new ArrayBuffer(4)).fill(7)
    const read = new Uint32Array(new ArrayBuffer(16))
    const filled = api.clEnqueueFillBuffer(queue, own, pattern, 4, 0, 16, 0, null, null)
    return filled === 0 && api.clEnqueueReadBuffer(queue, own, 1, 0, 16, read, 0, null, null) === 0 &&
      read.every((value) => value === 7) && finish(queue) === 0
  }
  return {
    handles: { context, queue, device },
    references,
    works,
    queue: newQueue,
    context: newContext,
    buffer: newBuffer,
    block: () => {
      const event = new BigUint64Array(new ArrayBuffer(8)).fill(userEvent(context, null) as bigint)
      const byte = new Uint8Array(new ArrayBuffer(1))
      api.clEnqueueReadBuffer(queue, own, 0, 0, 1, byte, 1, event, null)
      api.clFlush(queue)
      return () => {
        setStatus(event[0], 0)
        finish(queue)
        api.clReleaseEvent(event[0]!)
        byte.fill(0)
      }
    }
  }
})

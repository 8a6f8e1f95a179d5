import * as Effect from "effect/Effect"
import { OpenCl } from "../../src/opencl.ts"
import { HandleLedger } from "./handleLedger.ts"

type Api = OpenCl.OpenClApi

/** Functions to put in the place of the driver's, made from the driver's. */
export type Bends = (api: Api) => Partial<Api>

const CL_INVALID_VALUE = -30

/**
 * OpenCL with every call recorded: the calls in order, and the handles that are alive by the driver's own answers, to
 * check the library's counts.
 */
export interface Watched {
  readonly api: Api
  /** Names of the calls; an asynchronous one once more, with " ended", when its callback ran. */
  readonly calls: ReadonlyArray<string>
  readonly count: (name: string) => number
  /**
   * Handles that the driver gave and did not get back, by the function that gave them; and, by the function that was
   * called, how often a call named one that was released, or was to release one that was not alive or that a thread of the
   * driver still used. Such a call fails without reaching the driver, which could crash.
   */
  readonly alive: () => Readonly<Record<string, number>>
}

type AnyFunction = (...args: ReadonlyArray<unknown>) => unknown

/** The arguments of asynchronous calls that must not be released until the call has ended. */
const usedByThread: Readonly<Record<string, (args: ReadonlyArray<unknown>) => Iterable<unknown>>> = {
  clWaitForEventsAsync: (args) => args[1] as BigUint64Array,
  clBuildProgramAsync: (args) => [args[0]]
}

const refusalOf = (name: string): unknown =>
  name === "view" ? new ArrayBuffer(0) : /^cl(?:Create|SVMAlloc|EnqueueMap)/.test(name) ? null : CL_INVALID_VALUE

export const watch = (bends: Bends = () => ({})): Effect.Effect<Watched> =>
  Effect.orDie(Effect.map(OpenCl.load(), (driver) => {
    const calls: Array<string> = []
    const ledger = new HandleLedger()
    const bent: Api = { ...driver, ...bends(driver) }
    const note = (name: string, call: AnyFunction): AnyFunction => (...args) => {
      calls.push(name)
      if (name.endsWith("Async")) {
        const callback = args.at(-1) as (...results: ReadonlyArray<unknown>) => void
        if (!ledger.allows(name, args)) return setImmediate(callback, null, CL_INVALID_VALUE)
        const ended = ledger.awaited(usedByThread[name]?.(args) ?? [])
        const noted = (...results: ReadonlyArray<unknown>) => {
          ended()
          calls.push(`${name} ended`)
          callback(...results)
        }
        return call(...args.slice(0, -1), noted)
      }
      if (!ledger.allows(name, args)) return refusalOf(name)
      const result = call(...args)
      ledger.answered(name, args, result)
      return result
    }
    const api = Object.fromEntries(
      Object.entries(bent).map(([name, member]) => [
        name,
        typeof member === "function" ? note(name, member as unknown as AnyFunction) : member
      ])
    ) as unknown as Api
    return {
      api,
      calls,
      count: (name) => calls.filter((call) => call === name).length,
      alive: () => ledger.balance
    }
  }))

type Info = (object: bigint, what: number, bytes: number, value: OpenCl.Pointer, needed: OpenCl.Pointer) => number

const store = (bytes: Uint8Array, capacity: number, value: OpenCl.Pointer, needed: OpenCl.Pointer): number => {
  if (needed instanceof BigUint64Array) needed[0] = BigInt(bytes.length)
  if (ArrayBuffer.isView(value) && capacity >= bytes.length) {
    new Uint8Array(value.buffer, value.byteOffset, value.byteLength).set(bytes)
  }
  return 0
}

/** An info function that answers one query differently from the driver. */
export const answering = (info: Info, question: number, answer: string | bigint | number): Info => {
  const bytes = typeof answer === "string"
    ? new TextEncoder().encode(`${answer}\0`)
    : typeof answer === "bigint"
    ? new Uint8Array(BigUint64Array.of(answer).buffer)
    : new Uint8Array(Uint32Array.of(answer).buffer)
  return (object, what, capacity, value, needed) =>
    what === question ? store(bytes, capacity, value, needed) : info(object, what, capacity, value, needed)
}

/**
 * Blocks the queue: no later command runs before the returned function is called. The command that blocks reads one
 * byte of `memory`. There is no way to make it fail: PoCL 3.1 corrupts its heap when a user event ends with an error.
 */
export const blockQueue = Effect.fnUntraced(function*(memory: bigint) {
  const { api, context, enqueueUnsafe } = yield* OpenCl.OpenCl
  const koffi = yield* Effect.promise(() => import("koffi"))
  const library = koffi.load("libOpenCL.so.1")
  const create = library.func("void* clCreateUserEvent(void*, void*)")
  const setStatus = library.func("int32_t clSetUserEventStatus(void*, int32_t)")
  const release = library.func("int32_t clReleaseEvent(void*)")
  const event = new BigUint64Array([create(context, null) as bigint])
  const byte = new ArrayBuffer(1)
  yield* enqueueUnsafe({
    label: "block",
    call: "clEnqueueReadBuffer",
    memory: byte,
    enqueue: (queue, out) => api.clEnqueueReadBuffer(queue, memory, 0, 0, 1, byte, 1, event, out)
  })
  return () => {
    setStatus(event[0], 0)
    release(event[0])
  }
})

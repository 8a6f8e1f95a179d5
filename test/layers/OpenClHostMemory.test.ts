/** The results of commands in host memory, which exist only once the host has waited for the command's event. */
import { it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as ImageShape from "../../src/domain/images/ImageShape.ts"
import * as Mapping from "../../src/services/buffers/mapping/Mapping.ts"
import * as QueueEvent from "../../src/services/device/QueueEvent.ts"
import * as Images from "../../src/services/images/Images.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import { allocate, onDevice, read, reasonOf } from "../support/openClDevice.ts"
import { describeWith } from "../support/required.ts"
import { eventsOf, lateReads } from "../support/strictOpenCl.ts"
import { onSvm } from "../support/svmDevice.ts"
import type { Bends } from "../support/watchedOpenCl.ts"

type AnyFunction = (...args: ReadonlyArray<unknown>) => unknown

const CL_OUT_OF_HOST_MEMORY = -6

/** Records events that the library releases without having waited for them. */
class Waits {
  readonly #calls = new Map<bigint, string>()
  readonly waited: Array<string> = []
  readonly taken: Array<string> = []

  readonly bends: Bends = (api) => ({
    ...Object.fromEntries(
      Object.entries(api).filter(([name]) => name.startsWith("clEnqueue")).map(([name, call]) => [
        name,
        (...args: ReadonlyArray<unknown>) => {
          const result = (call as AnyFunction)(...args)
          const event = args.at(name.startsWith("clEnqueueMap") ? -2 : -1)
          if (event instanceof BigUint64Array) this.#calls.set(event[0]!, name)
          return result
        }
      ])
    ),
    clWaitForEvents: (count, list) => {
      for (const event of eventsOf(count, list)) {
        const name = this.#calls.get(event)
        if (name !== undefined) this.waited.push(name)
        this.#calls.delete(event)
      }
      return api.clWaitForEvents(count, list)
    },
    clReleaseEvent: (event) => {
      const name = this.#calls.get(event)
      if (name !== undefined) this.taken.push(name)
      this.#calls.delete(event)
      return api.clReleaseEvent(event)
    }
  })

  /** Checks that the library waited for every command, among them those of the given functions. */
  check(...names: ReadonlyArray<string>): void {
    deepStrictEqual(this.taken, [])
    deepStrictEqual(names.filter((name) => !this.waited.includes(name)), [])
  }
}

/** Polls the status until the device has done all recorded commands, without waiting for an event. */
const done = Effect.flatMap(
  CommandQueue.event,
  (event) => Effect.repeat(QueueEvent.isDone(event), { until: (isDone) => isDone })
)

const rectangle = { region: [4, 2], buffer: { rowPitch: 16 } } as const

describeWith(["opencl"], "The host's memory after OpenCL commands", () => {
  it.live("has what was read although the driver stores it late", () =>
    onDevice(
      () =>
        Effect.gen(function*() {
          const x = yield* allocate(64)
          yield* CommandQueue.fill(x, 0x07070707)
          const image = yield* Images.fromArray(Uint32Array.of(1, 2, 3, 4), ImageShape.image2d(2, 2))
          for (let time = 0; time < 20; time++) {
            deepStrictEqual(yield* read(x), Array(64).fill(7))
            deepStrictEqual([...(yield* CommandQueue.readRect(x, Uint8Array, rectangle))], Array(8).fill(7))
            deepStrictEqual([...(yield* Images.read(image, Uint32Array))], [1, 2, 3, 4])
            const reads = yield* Effect.forEach(Array(5), () => Effect.forkChild(read(x)))
            yield* done
            deepStrictEqual(yield* Effect.forEach(reads, Fiber.join), Array(5).fill(Array(64).fill(7)))
          }
        }),
      lateReads
    ))

  it.live("has what was read although a later command has ended first", () =>
    onDevice(
      () =>
        Effect.gen(function*() {
          const [x, y] = [yield* allocate(64), yield* allocate(64)]
          yield* CommandQueue.fill(x, 0x07070707)
          for (let time = 0; time < 20; time++) {
            const reading = yield* Effect.forkChild(read(x), { startImmediately: true })
            yield* Effect.scoped(Mapping.map(y, Uint8Array, { access: "write" }))
            deepStrictEqual(yield* Fiber.join(reading), Array(64).fill(7))
          }
        }),
      lateReads
    ))

  it.live("is seen only after a wait for the command's event", () => {
    const waits = new Waits()
    return Effect.andThen(
      onDevice(
        () =>
          Effect.gen(function*() {
            const [x, y] = [yield* allocate(64), yield* allocate(64)]
            const image = yield* Images.fromArray(Uint32Array.of(1, 2, 3, 4), ImageShape.image2d(2, 2))
            for (let time = 0; time < 5; time++) {
              yield* CommandQueue.write(x, new Uint8Array(64))
              yield* CommandQueue.copy(x, y)
              yield* done
              yield* read(y)
              yield* CommandQueue.readRect(y, Uint8Array, rectangle)
              yield* Images.read(image, Uint32Array)
              yield* Effect.scoped(Mapping.map(x, Uint8Array))
              yield* Effect.scoped(Images.map(image, Uint32Array))
              yield* CommandQueue.finish
            }
          }),
        waits.bends
      ),
      Effect.sync(() =>
        waits.check(
          "clEnqueueWriteBuffer",
          "clEnqueueReadBuffer",
          "clEnqueueReadBufferRect",
          "clEnqueueReadImage",
          "clEnqueueMapBuffer",
          "clEnqueueMapImage",
          "clEnqueueUnmapMemObject"
        )
      )
    )
  })

  it.live("is so where it is shared with the device", () => {
    const waits = new Waits()
    return Effect.andThen(
      onSvm(
        () =>
          Effect.gen(function*() {
            const x = yield* allocate(64)
            yield* CommandQueue.fill(x, 1)
            yield* done
            yield* Effect.scoped(Mapping.map(x, Uint8Array))
            yield* CommandQueue.finish
          }),
        { grain: "coarse" },
        waits.bends
      ),
      Effect.sync(() => waits.check("clEnqueueFillBuffer", "clEnqueueSVMMap", "clEnqueueSVMUnmap"))
    )
  })

  it.live("is not shown where that wait fails", () =>
    onDevice(
      () =>
        Effect.gen(function*() {
          const x = yield* allocate(64)
          yield* CommandQueue.fill(x, 1)
          const error = yield* Effect.flip(read(x))
          strictEqual(error.reason._tag, "DriverError")
          strictEqual(yield* reasonOf(read(x)), "DriverError")
        }),
      () => ({ clWaitForEvents: () => CL_OUT_OF_HOST_MEMORY })
    ))
})

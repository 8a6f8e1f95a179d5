/** Mappings of the same bytes of shared virtual memory, on drivers that do not count them. */
import { it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import * as Mapping from "../../src/services/buffers/mapping/Mapping.ts"
import { DeviceContext } from "../../src/services/device/DeviceContext.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import { reasonOf } from "../support/openClDevice.ts"
import { describeWith } from "../support/required.ts"
import { Uncounted } from "../support/strictOpenCl.ts"
import { onSvm } from "../support/svmDevice.ts"

const CL_OUT_OF_RESOURCES = -5

const mappings = DeviceContext.useSync(({ driverObjects }) => driverObjects.liveByKind["mapping"] ?? 0)

const bytes = 256

/** A buffer in which each byte is its own index. */
const counted = Effect.gen(function*() {
  const x = yield* BufferPool.allocate(bytes)
  yield* CommandQueue.write(x, Uint8Array.from({ length: bytes }, (_, index) => index))
  return x
})

const reading = (offset: number, shape: ReadonlyArray<number>) => ({ access: "read", offset, shape }) as const

const isShown = ({ data }: { readonly data: Uint8Array }, offset: number) =>
  deepStrictEqual([...data], Array.from({ length: data.length }, (_, index) => offset + index))

describeWith(["opencl"], "Mappings of the same shared virtual memory", () => {
  it.live("map their bytes once, and unmap them with the last one", () => {
    const driver = new Uncounted()
    return onSvm(
      ({ count }) =>
        Effect.gen(function*() {
          const x = yield* counted
          const [one, other] = [yield* Scope.make(), yield* Scope.make()]
          const shorter = yield* Scope.provide(Mapping.map(x, Uint8Array, reading(0, [64])), one)
          const same = yield* Scope.provide(Mapping.map(x, Uint8Array, reading(0, [64])), one)
          const longer = yield* Scope.provide(Mapping.map(x, Uint8Array, reading(0, [128])), other)
          for (const mapping of [shorter, same, longer]) isShown(mapping, 0)
          strictEqual(yield* mappings, 3)
          strictEqual(count("clEnqueueSVMMap"), 2)
          yield* Scope.close(one, Exit.void)
          isShown(longer, 0)
          deepStrictEqual([yield* mappings, count("clEnqueueSVMUnmap")], [1, 0])
          yield* Scope.close(other, Exit.void)
          deepStrictEqual([yield* mappings, count("clEnqueueSVMUnmap")], [0, 2])
          yield* CommandQueue.fill(x, 0)
          yield* CommandQueue.finish
        }),
      { grain: "coarse" },
      driver.bends
    )
  })

  it.live("show what they are of, however they overlap and in which order they end", () => {
    const driver = new Uncounted()
    let seed = 1
    const random = (below: number) => (seed = (seed * 48271) % 0x7fffffff) % below
    return onSvm(
      () =>
        Effect.gen(function*() {
          const x = yield* counted
          const open: Array<readonly [Scope.Closeable, { readonly data: Uint8Array }, number]> = []
          for (let step = 0; step < 300; step++) {
            if (random(2) === 0 && open.length > 0) {
              const [[scope]] = open.splice(random(open.length), 1) as [typeof open[number]]
              yield* Scope.close(scope, Exit.void)
            } else {
              const offset = 4 * random(bytes / 4)
              const length = 4 * (1 + random((bytes - offset) / 4))
              const scope = yield* Scope.make()
              const mapping = yield* Scope.provide(Mapping.map(x, Uint8Array, reading(offset, [length])), scope)
              open.push([scope, mapping, offset])
            }
            for (const [, mapping, offset] of open) isShown(mapping, offset)
            strictEqual(yield* mappings, open.length)
          }
          for (const [scope] of open) yield* Scope.close(scope, Exit.void)
          deepStrictEqual([yield* mappings, driver.mapped.size], [0, 0])
          yield* CommandQueue.fill(x, 0)
          yield* CommandQueue.finish
        }),
      { grain: "coarse" },
      driver.bends
    )
  })

  it.live("leave nothing mapped where the driver refuses a part", () => {
    const driver = new Uncounted()
    return onSvm(
      () =>
        Effect.gen(function*() {
          const x = yield* counted
          const scope = yield* Scope.make()
          yield* Scope.provide(Mapping.map(x, Uint8Array, reading(64, [64])), scope)
          driver.refusesFrom = 3
          strictEqual(
            yield* reasonOf(Effect.scoped(Mapping.map(x, Uint8Array, reading(0, [bytes])))),
            "OutOfMemory"
          )
          deepStrictEqual([yield* mappings, driver.mapped.size], [1, 1])
          yield* Scope.close(scope, Exit.void)
          strictEqual(driver.mapped.size, 0)
        }),
      { grain: "coarse" },
      driver.bends
    )
  })

  it.live("fail with the one whose command has mapped their bytes", () => {
    const maps: Array<bigint> = []
    return onSvm(
      () =>
        Effect.gen(function*() {
          const x = yield* counted
          const first = yield* Effect.exit(Mapping.map(x, Uint8Array, { access: "read" }))
          const second = yield* Effect.exit(Mapping.map(x, Uint8Array, { access: "read" }))
          deepStrictEqual([Exit.isFailure(first), Exit.isFailure(second)], [true, true])
        }),
      { grain: "coarse" },
      (api) => ({
        clEnqueueSVMMap: (...args) => {
          const code = api.clEnqueueSVMMap(...args)
          maps.push((args.at(-1) as BigUint64Array)[0]!)
          return code
        },
        clGetEventInfo: (event, what, size, value, needed) => {
          const code = api.clGetEventInfo(event, what, size, value, needed)
          if (maps.includes(event) && value instanceof Int32Array && value[0]! <= 0) value[0] = CL_OUT_OF_RESOURCES
          return code
        },
        clReleaseEvent: (event) => {
          const at = maps.indexOf(event)
          if (at >= 0) maps.splice(at, 1)
          return api.clReleaseEvent(event)
        }
      })
    )
  })
})

/** Each operation that takes options, called with an unknown one: the error names it and lists the known ones. */
import { assert, describe, it } from "@effect/vitest"
import { strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { FaultyAllocator, LimitingAllocator } from "../../src/allocators.ts"
import { Devices } from "../../src/devices.ts"
import { Host } from "../../src/host.ts"
import { ImagePool } from "../../src/images.ts"
import { Allocator, BufferPool, GpuError } from "../../src/index.ts"

type Services =
  | Allocator.Allocator
  | BufferPool.BufferPool
  | Layer.Success<ReturnType<typeof Host.layer>>
  | Scope.Scope

const services = Layer.merge(BufferPool.layer(), Allocator.layerImmediate).pipe(Layer.provideMerge(Host.layer()))

/** Options with a name that the types forbid. */
const named = (name: string, value: unknown = 1): never => ({ [name]: value }) as never

const layers: ReadonlyArray<readonly [string, string, string, Layer.Layer<never, unknown, Services>]> = [
  ["BufferPool.layer", "maxByte", "maxBytes", BufferPool.layer(named("maxByte"))],
  ["BufferPool.layerNoDeps", "sizepolicy", "sizePolicy", BufferPool.layerNoDeps(named("sizepolicy"))],
  ["BufferPool.layerConfig", "maxbytes", "maxBytes", BufferPool.layerConfig(named("maxbytes"))],
  ["ImagePool.layer", "maxHeldByte", "maxHeldBytes", ImagePool.layer(named("maxHeldByte"))],
  ["LimitingAllocator.layer", "limit", "", LimitingAllocator.layer(named("limit"))],
  ["FaultyAllocator.layer", "fault", "faults", FaultyAllocator.layer(named("fault"))],
  ["Host.layer", "capacity", "capacityBytes", Host.layer(named("capacity"))],
  ["Devices.layer", "cacheCapacity", "kernelCacheCapacity", Devices.layer("host", named("cacheCapacity"))],
  ["Devices.layerDefault", "select", "selector", Devices.layerDefault(named("select", "host"))]
]

describe("an unknown option of a layer is refused", () => {
  it.effect.each(layers)("by %s: %s", ([operation, name, near, layer]) =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Layer.build(layer))
      assert(GpuError.isGpuError(error), String(error))
      const { message, reason } = error
      strictEqual(reason._tag, "InvalidRequest")
      assert.include(message, `: there is no option "${name}". `)
      assert.include(message.split(": there")[0], operation.split(".layer")[0]!)
      if (near !== "") assert.include(message, `Did you mean ${near}? `)
      assert.match(message, /The (only option is|options are) /)
    }).pipe(Effect.scoped, Effect.provide(services)))

  it.effect("but not where it is undefined, or where the name is known", () =>
    Effect.asVoid(Layer.build(BufferPool.layer({ maxBytes: 64, label: undefined }))).pipe(
      Effect.scoped,
      Effect.provide(services)
    ))
})

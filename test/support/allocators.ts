/**
 * Allocators as programs write them, on the public API: some obey every rule of docs/pool.md, "An allocator of your
 * own"; the others each break one.
 */
import { Allocator, BufferUsage, DeviceContext, GpuError } from "effect-gpu-pool"
import { StatisticsAllocator } from "effect-gpu-pool/allocators"
import type { DeviceBuffer } from "effect-gpu-pool/backend"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import type { QueueDriver } from "../../src/services/device/QueueDriver.ts"

type Service = Allocator.Allocator["Service"]
type Buffer = DeviceBuffer.DeviceBuffer
export type AllocatorLayer = Layer.Layer<
  Allocator.Allocator,
  GpuError.GpuError,
  DeviceContext.DeviceContext | QueueDriver
>

const over = (decorate: (inner: Service) => Partial<Service>): AllocatorLayer =>
  Layer.effect(
    Allocator.Allocator,
    Effect.map(Allocator.Allocator, (inner) => Allocator.Allocator.of({ ...inner, ...decorate(inner) }))
  ).pipe(Layer.provide(Allocator.layerImmediate))

interface Spares {
  readonly take: (bytes: number, usage: number) => Buffer | undefined
  /** Whether it keeps the buffer. */
  readonly keep: (buffer: Buffer) => boolean
  readonly all: () => ReadonlyArray<Buffer>
}

/** Returns a kept buffer if it has one, instead of allocating, and frees the kept ones when it closes. */
const keeping = (makeSpares: () => Spares): AllocatorLayer =>
  Layer.effect(
    Allocator.Allocator,
    Effect.gen(function*() {
      const inner = yield* Allocator.Allocator
      const spares = makeSpares()
      yield* Effect.addFinalizer(() => Effect.sync(() => spares.all().forEach((buffer) => inner.freeUnsafe(buffer))))
      return Allocator.Allocator.of({
        ...inner,
        allocate: (bytes, options) =>
          Effect.suspend(() => {
            const spare = spares.take(bytes, options?.usage ?? BufferUsage.defaultUsage)
            return spare === undefined ? inner.allocate(bytes, options) : Effect.succeed(spare)
          }),
        freeUnsafe: (buffer) => buffer.size > 0 && spares.keep(buffer) ? Exit.void : inner.freeUnsafe(buffer)
      })
    })
  ).pipe(Layer.provide(Allocator.layerImmediate))

/** One buffer, the last one that was freed. */
const oneSpare = (): Spares => {
  let spare: Buffer | undefined
  return {
    take: (bytes, usage) => {
      if (spare?.size !== bytes || spare.usage !== usage) return undefined
      const taken = spare
      spare = undefined
      return taken
    },
    keep: (buffer) => {
      if (spare !== undefined) return false
      spare = buffer
      return true
    },
    all: () => spare === undefined ? [] : [spare]
  }
}

const sparesPerSize = (most: number) => (): Spares => {
  const bins = new Map<string, Array<Buffer>>()
  const bin = (size: number, usage: number): Array<Buffer> => {
    const key = `${size}/${usage}`
    const found = bins.get(key) ?? []
    bins.set(key, found)
    return found
  }
  return {
    take: (bytes, usage) => bin(bytes, usage).pop(),
    keep: (buffer) => {
      const found = bin(buffer.size, buffer.usage)
      return found.length < most && found.push(buffer) > 0
    },
    all: () => [...bins.values()].flat()
  }
}

const failingEvery = (nth: number): AllocatorLayer =>
  over((inner) => {
    let calls = 0
    return {
      allocate: (bytes, options) =>
        Effect.suspend(() =>
          bytes > 0 && ++calls % nth === 0 ? GpuError.outOfMemory(bytes) : inner.allocate(bytes, options)
        )
    }
  })

/** An allocator that keeps at most one spare. */
export const keepsSpare: AllocatorLayer = keeping(oneSpare)

/** Allocators that obey the rules, each in its own way. */
export const lawful: Readonly<Record<string, AllocatorLayer>> = {
  "keeps a spare": keepsSpare,
  "keeps up to four spares of each size and usage": keeping(sparesPerSize(4)),
  "always gives 256 bytes more": over((inner) => ({
    allocate: (bytes, options) => inner.allocate(bytes === 0 ? 0 : bytes + 256, options)
  })),
  "refuses every third request": failingEvery(3),
  "refuses every seventh request": failingEvery(7),
  "waits before each request": over((inner) => ({
    allocate: (bytes, options) =>
      Effect.uninterruptible(Effect.andThen(Effect.yieldNow, inner.allocate(bytes, options)))
  })),
  "is deferred": Allocator.layerDeferred,
  "counts": Layer.provide(StatisticsAllocator.layer, Allocator.layerImmediate)
}

/** Each breaks the rule of that name. */
export const lawless: ReadonlyArray<readonly [rule: string, what: string, layer: AllocatorLayer]> = [
  [
    "size",
    "gives 4 bytes less",
    over((inner) => ({
      allocate: (bytes, options) => inner.allocate(bytes > 4 ? bytes - 4 : bytes, options)
    }))
  ],
  [
    "size",
    "gives memory for 0 bytes",
    over((inner) => ({
      allocate: (bytes, options) => inner.allocate(Math.max(4, bytes), options)
    }))
  ],
  [
    "size",
    "has no memory for 0 bytes",
    over((inner) => ({
      allocate: (bytes, options) =>
        bytes === 0 ? Effect.suspend(() => GpuError.outOfMemory(0)) : inner.allocate(bytes, options)
    }))
  ],
  [
    "usage",
    "forgets the usage",
    over((inner) => ({
      allocate: (bytes) => inner.allocate(bytes)
    }))
  ],
  [
    "owner",
    "gives one buffer twice",
    over((inner) => {
      const given = new Map<number, Buffer>()
      return {
        allocate: (bytes, options) => {
          const other = given.get(bytes)
          return other !== undefined && !other.destroyed && options?.usage === other.usage
            ? Effect.succeed(other)
            : Effect.tap(inner.allocate(bytes, options), (buffer) => Effect.sync(() => void given.set(bytes, buffer)))
        }
      }
    })
  ],
  [
    "alive",
    "gives a buffer that it has freed",
    over((inner) => {
      let last: Buffer | undefined
      return {
        allocate: (bytes, options) =>
          Effect.suspend(() =>
            last?.size === bytes && last.usage === (options?.usage ?? BufferUsage.defaultUsage)
              ? Effect.succeed(last)
              : inner.allocate(bytes, options)
          ),
        freeUnsafe: (buffer) => {
          last = buffer
          return inner.freeUnsafe(buffer)
        }
      }
    })
  ],
  [
    "alive",
    "frees another buffer as well",
    over((inner) => {
      const given = new Set<Buffer>()
      return {
        allocate: (bytes, options) =>
          Effect.tap(inner.allocate(bytes, options), (buffer) => Effect.sync(() => void given.add(buffer))),
        freeUnsafe: (buffer) => {
          given.delete(buffer)
          const [other] = given
          if (other !== undefined) inner.freeUnsafe(other)
          return inner.freeUnsafe(buffer)
        }
      }
    })
  ],
  [
    "once",
    "frees twice",
    over((inner) => ({
      freeUnsafe: (buffer) => {
        inner.freeUnsafe(buffer)
        return inner.freeUnsafe(buffer)
      }
    }))
  ],
  ["return", "leaks what it gets back", over(() => ({ freeUnsafe: () => Exit.void }))],
  ["return", "keeps its spares when it closes", keeping(() => ({ ...sparesPerSize(4)(), all: () => [] }))],
  [
    "return",
    "loses a buffer when it is interrupted",
    over((inner) => ({
      allocate: (bytes, options) =>
        Effect.interruptible(
          Effect.flatMap(inner.allocate(bytes, options), (buffer) => Effect.as(Effect.yieldNow, buffer))
        )
    }))
  ],
  [
    "answer",
    "dies where it should fail",
    over((inner) => ({
      allocate: (bytes, options) => bytes > 1000 ? Effect.die(new Error("too much")) : inner.allocate(bytes, options)
    }))
  ],
  [
    "answer",
    "dies of what has no text",
    over((inner) => ({
      allocate: (bytes, options) => bytes > 1000 ? Effect.die(Object.create(null)) : inner.allocate(bytes, options)
    }))
  ],
  [
    "answer",
    "throws what has no text in freeUnsafe",
    over((inner) => ({
      freeUnsafe: (buffer) => {
        inner.freeUnsafe(buffer)
        throw Object.create(null)
      }
    }))
  ],
  [
    "answer",
    "throws in freeUnsafe",
    over((inner) => ({
      freeUnsafe: (buffer) => {
        inner.freeUnsafe(buffer)
        throw new Error("not now")
      }
    }))
  ]
]

/** Breaks the rule "order" on a device whose recorded commands wait for a submit. */
export const withoutOrder: (typeof lawless)[number] = [
  "order",
  "destroys before the commands are submitted",
  Layer.effect(
    Allocator.Allocator,
    Effect.gen(function*() {
      const inner = yield* Allocator.Allocator
      const device = yield* DeviceContext.DeviceContext
      return Allocator.Allocator.of({
        ...inner,
        freeUnsafe: (buffer) => buffer.size === 0 ? inner.freeUnsafe(buffer) : device.destroyBufferUnsafe(buffer)
      })
    })
  ).pipe(Layer.provide(Allocator.layerImmediate))
]

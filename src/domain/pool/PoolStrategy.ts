/**
 * How a pool keeps free memory: as blocks of a few sizes, or as slabs that it splits and merges.
 *
 * @since 0.1.0
 */
import * as Config from "effect/Config"
import * as Schema from "effect/Schema"
import { formatted } from "../arguments/Format.ts"
import * as LayerOptions from "../arguments/LayerOptions.ts"
import type { MemorySpan } from "../data/MemorySpan.ts"
import { type GpuError, invalidRequest, isGpuError } from "../GpuError.ts"
import { ArenaCore, type ArenaCoreOptions } from "./arena/ArenaCore.ts"
import { searchApart } from "./arena/SearchApart.ts"
import type { MemoryAccount } from "./machine/MemoryAccount.ts"
import type { Reusable } from "./machine/PoolState.ts"
import type { Family, Request } from "./machine/Request.ts"
import * as MemoryLimit from "./MemoryLimit.ts"
import { type BlockCore, type PoolBlock, PoolCore } from "./PoolCore.ts"
import type { PoolCoreOptions } from "./PoolCoreOptions.ts"
import { ownQueue, type ReusePolicy } from "./ReusePolicy.ts"

/**
 * A way to keep free memory, for the option `strategy` of a pool. Without one a pool keeps blocks.
 *
 * @category models
 * @since 0.1.0
 */
export interface PoolStrategy {
  /** Its name in errors. */
  readonly name: string
  /** Whether it splits buffers. */
  readonly splits: boolean
  /** The settings of an arena. A recording has them, and a replay makes the arena of them again. */
  readonly arena?: ArenaSettings | undefined
  /** Makes the core of a memory. */
  readonly core: <A, F>(options: PoolCoreOptions, memory: SplitMemory<A, F>) => BlockCore<A, F>
  /** How requests that should be apart from some allocations search. Without it they take any memory. */
  readonly searchApart?:
    | (<A extends Reusable & { readonly wholeMemory: MemorySpan }>(
      memory: MemoryAccount<A>,
      request: Request,
      blockSize: number,
      most: number
    ) => PoolBlock<A, Family> | "any" | undefined)
    | undefined
  /** What is wrong with the arguments that it was made of. Pools with such a strategy fail with it. */
  readonly problem?: GpuError | undefined
}

/**
 * Memory that can be split.
 *
 * @category models
 * @since 0.1.0
 */
export interface SplitMemory<A, F> extends Required<Pick<ArenaCoreOptions<A, F>, "part" | "splits">> {
  /** Parts begin at multiples of so many bytes. */
  readonly alignment: number
}

/**
 * Blocks of a few sizes, as a size policy says: the default.
 *
 * **Example** (A pool of blocks in a program whose pools are arenas)
 *
 * ```ts
 * import { BufferPool } from "effect-gpu-pool"
 * import { PoolStrategy } from "effect-gpu-pool/allocators"
 *
 * const pool = BufferPool.layer({ strategy: PoolStrategy.blocks })
 * ```
 *
 * @category strategies
 * @since 0.1.0
 */
export const blocks: PoolStrategy = { name: "blocks", splits: false, core: (options) => new PoolCore(options) }

/** Every element type may begin at a multiple of it. */
const leastBytes = 16

/** A power of two in bytes. */
const powerOfTwo = LayerOptions.instance<ArenaBytes>((operation, name, value) => {
  const bytes = value === undefined ? leastBytes : Number(MemoryLimit.wholeBytes(value))
  return bytes >= leastBytes && bytes <= 2 ** 40 && Number.isInteger(Math.log2(bytes)) ? undefined : invalidRequest(
    operation,
    `${name} ${formatted(value)} is no power of two from 16 to 2^40`,
    "Pass a power of two in bytes, or a text such as \"2 MiB\", or leave it out."
  )
}, Schema.String)

const growthOption = LayerOptions.instance<number>(
  (operation, _, value = 0) =>
    typeof value === "number" && value >= 0 && value <= 1
      ? undefined
      : invalidRequest(operation, `growth ${formatted(value)} is no share`, "Pass a number from 0 to 1."),
  Schema.Number
)

const borrowOption = LayerOptions.instance<number>((operation, _, value = 1) =>
  typeof value === "number" && value > 0
    ? undefined
    : invalidRequest(
      operation,
      `borrow ${formatted(value)} is no number above 0`,
      "Pass 1, or Infinity for any slab."
    ), Schema.Number)

/**
 * Bytes of an arena's slabs and chunks: a power of two from 16, or a text of one, as `"2 MiB"`.
 *
 * @category models
 * @since 0.1.0
 */
export type ArenaBytes = number | `${number} KiB` | `${number} MiB` | `${number} GiB` | (string & {})

/**
 * The options of {@link arena}.
 *
 * @category models
 * @since 0.1.0
 */
export interface ArenaOptions extends Schema.Schema.Type<typeof ArenaOptions> {}

/**
 * Of {@link ArenaOptions}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ArenaOptions = Schema.Struct({
  /** The bytes of a slab, a power of two. Default: 1 MiB, or a sixteenth of a smaller limit. */
  slabBytes: powerOfTwo,
  /** The share of the managed bytes that a new slab has at least, from 0 to 1. Default: 1/32. */
  growth: growthOption,
  /** Chunks have multiples of so many bytes: a power of two. Default: 256, or the device's alignment if that is larger. */
  unitBytes: powerOfTwo,
  /**
   * How far a request may borrow: it takes a part of a slab without leases only if that has at most `1 + borrow` times the bytes
   * of the slab that would be made for it. A number above 0, or `Infinity`. Default: 1.
   */
  borrow: borrowOption
})

/**
 * What an arena was made with, its defaults included. Without `slabBytes` that follows from the pool's limit.
 *
 * @category models
 * @since 0.1.0
 */
export interface ArenaSettings {
  readonly slabBytes: number | undefined
  readonly growth: number
  readonly unitBytes: number
  readonly borrow: number
}

/**
 * Slabs of memory that are split into the sizes that are asked for, and merged again as leases end. It needs fewer driver
 * allocations and less memory than blocks where sizes vary, since a chunk is as large as its request and its free memory
 * serves every other size.
 *
 * **Details**
 *
 * - A slab has `slabBytes`, and more the more the pool manages. A larger request gets a slab of its own.
 * - Under memory pressure, slabs without leases are evicted. Free memory beside a lease goes back to the driver only after
 *   the lease has ended: `PoolStats.fragmentedBytes` counts it. Near a tight limit, blocks serve more requests.
 * - A pool without a limit on held bytes frees slabs without leases that are beyond 1.1 times the most bytes that leases
 *   asked for at one time, before it asks the driver for another one.
 * - A request within a reservation gets a slab of just its own bytes, so that no other lease keeps reserved bytes, and a
 *   reservation of the bytes that are asked for is enough.
 * - A size policy does not apply. Images are not split, nor is staging memory on WebGPU.
 * - On WebGPU, a dispatch that reads one lease of a slab and writes another reads a copy. Leases that are allocated `apart` are
 * in different slabs.
 *
 * **Example** (Many small buffers in one driver allocation)
 *
 * ```ts
 * import { Effect, Layer } from "effect"
 * import { BufferPool } from "effect-gpu-pool"
 * import { PoolStrategy } from "effect-gpu-pool/allocators"
 * import { Host } from "effect-gpu-pool/host"
 *
 * const many = Effect.scoped(Effect.gen(function*() {
 *   for (let bytes = 1000; bytes <= 20_000; bytes += 1000) yield* BufferPool.allocate(bytes)
 *   return (yield* BufferPool.stats).driverAllocations
 * }))
 * const gpu = BufferPool.layer({ strategy: PoolStrategy.arena() }).pipe(Layer.provideMerge(Host.layer()))
 * await Effect.runPromise(Effect.provide(many, gpu)) // => 1
 * ```
 *
 * @see cupy.cuda.MemoryPool, which splits and merges what it gets from the driver
 * @category strategies
 * @since 0.1.0
 */
export const arena = (options: ArenaOptions = {}): PoolStrategy => {
  const given = LayerOptions.read("PoolStrategy.arena", ArenaOptions, options)
  const problem = isGpuError(given) ? given : undefined
  const settings = settingsOf(isGpuError(given) ? {} : given)
  const { borrow, growth, slabBytes, unitBytes } = settings
  return {
    name: "arena",
    splits: true,
    arena: settings,
    searchApart,
    // Alignments are powers of two.
    core: (coreOptions, { alignment, part, splits }) =>
      new ArenaCore({ ...coreOptions, part, splits, slabBytes, growth, borrow, unit: Math.max(unitBytes, alignment) }),
    problem
  }
}

const settingsOf = ({ borrow = 1, growth = 1 / 32, slabBytes, unitBytes = 256 }: ArenaOptions): ArenaSettings => ({
  slabBytes: slabBytes === undefined ? undefined : bytesOf(slabBytes),
  growth,
  unitBytes: bytesOf(unitBytes),
  borrow
})

const bytesOf = (checked: ArenaBytes): number => Number(MemoryLimit.wholeBytes(checked))

/**
 * A strategy by its name in configuration: `arena` or `blocks`.
 *
 * **Example** (Arenas where the environment says so)
 *
 * ```ts
 * import { Config, ConfigProvider, Effect, Layer } from "effect"
 * import { BufferPool } from "effect-gpu-pool"
 * import { PoolStrategy } from "effect-gpu-pool/allocators"
 * import { Host } from "effect-gpu-pool/host"
 *
 * const gpu = BufferPool.layerConfig({
 *   maxBytes: Config.String("GPU_MEMORY_LIMIT"),
 *   strategy: Config.withDefault(PoolStrategy.config("GPU_POOL_STRATEGY"), PoolStrategy.blocks)
 * }).pipe(
 *   Layer.provideMerge(Host.layer()),
 *   Layer.provide(ConfigProvider.layer(
 *     ConfigProvider.fromEnv({ env: { GPU_MEMORY_LIMIT: "16 MiB", GPU_POOL_STRATEGY: "arena" } })
 *   ))
 * )
 * const managed = Effect.scoped(Effect.andThen(BufferPool.allocate(1000), BufferPool.stats)).pipe(
 *   Effect.map(({ managedBytes }) => managedBytes)
 * )
 * await Effect.runPromise(Effect.provide(managed, gpu)) // => 1048576
 * ```
 *
 * @category strategies
 * @since 0.1.0
 */
export const config = (name: string): Config.Config<PoolStrategy> =>
  Config.map(Config.Literals(["arena", "blocks"], name), (strategy) => strategy === "arena" ? arena() : blocks)

/**
 * The options of a pool that keeps memory as CuPy's `MemoryPool` does.
 *
 * **Details**
 *
 * - Sizes are rounded up to 512 bytes, and the driver is asked for just these. What has come back is split for smaller requests,
 *   however large it is, and merges again.
 * - Each queue has its own memory (`ReusePolicy.ownQueue`).
 * - All is kept, until `freeHeld` or a request beyond the limit frees what is whole again.
 * - The pool takes a chunk beside a lease before a whole slab, and of those within 1/32 of the request's size any; CuPy takes the smallest.
 *
 * A program whose sizes grow does better with {@link arena}: here it keeps every size that it has ever asked for.
 *
 * **Example** (One allocation, split in two)
 *
 * ```ts
 * import { Effect, Layer } from "effect"
 * import { BufferPool } from "effect-gpu-pool"
 * import { PoolStrategy } from "effect-gpu-pool/allocators"
 * import { Host } from "effect-gpu-pool/host"
 *
 * const split = Effect.gen(function*() {
 *   yield* BufferPool.use(2048, () => Effect.void)
 *   yield* BufferPool.allocate(1024)
 *   yield* BufferPool.allocate(1000)
 *   return (yield* BufferPool.stats).driverAllocations
 * }).pipe(Effect.scoped)
 * const gpu = BufferPool.layer(PoolStrategy.cupyOptions).pipe(Layer.provideMerge(Host.layer()))
 * await Effect.runPromise(Effect.provide(split, gpu)) // => 1
 * ```
 *
 * @see cupy.cuda.MemoryPool
 * @category strategies
 * @since 0.1.0
 */
export const cupyOptions: {
  readonly strategy: PoolStrategy
  readonly reuse: ReusePolicy
  readonly maxHeldBytes: number
} = {
  strategy: arena({ unitBytes: 512, slabBytes: 512, growth: 0, borrow: Infinity }),
  reuse: ownQueue,
  maxHeldBytes: Infinity
}

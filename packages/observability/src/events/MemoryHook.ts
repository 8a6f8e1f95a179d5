/**
 * Functions that a pool calls when it leases memory, takes it back, asks the driver and frees: the hooks of CuPy, on `PoolEvents`.
 *
 * @since 0.1.0
 */
import * as Format from "effect-gpu-pool/Format"
import type {
  DriverAsked,
  Freed,
  GaveUp,
  Kept,
  Leased,
  PoolEvent,
  RanOut,
  Refused,
  Released,
  RoomNeeded,
  Waiting
} from "effect-gpu-pool/PoolEvent"
import * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import * as PoolEvents from "./PoolEvents.ts"

/**
 * Functions that a pool calls; each is optional. They run synchronously within the pool's step: they must be quick, and must not ask
 * the pool for anything.
 *
 * @see cupy.cuda.MemoryHook
 * @category models
 * @since 0.1.0
 */
export interface MemoryHook {
  /**
   * A pool is asked for a lease: the first event of the request, before the others here. CuPy's `malloc_preprocess`. The bytes of the block
   * are not known yet, unless a held one serves it or the driver is asked at once.
   */
  readonly onRequest?: ((event: RequestBegun) => void) | undefined
  /** The driver is asked for a block. CuPy's `alloc_preprocess`. */
  readonly onAsk?: ((event: DriverAsked) => void) | undefined
  /** The driver has made a block. CuPy's `alloc_postprocess`. */
  readonly onAllocate?: ((event: Leased | Kept) => void) | undefined
  /** The driver has made none. CuPy's `alloc_postprocess` with the address 0. */
  readonly onRefuse?: ((event: Refused) => void) | undefined
  /** A request has its lease. CuPy's `malloc_postprocess`. */
  readonly onLease?: ((event: Leased) => void) | undefined
  /** A request ends without a lease. CuPy's `malloc_postprocess` with the address 0. */
  readonly onFail?: ((event: RanOut | GaveUp) => void) | undefined
  /** A lease has ended. CuPy's `free_preprocess` and `free_postprocess`, since a lease ends in one step. */
  readonly onRelease?: ((event: Released) => void) | undefined
  /** A block goes back to the driver. */
  readonly onFree?: ((event: Freed) => void) | undefined
}

/**
 * The first event of a request for a lease.
 *
 * @category models
 * @since 0.1.0
 */
export type RequestBegun = DriverAsked | Leased | RoomNeeded | Waiting | RanOut | GaveUp

/**
 * Runs an effect, and calls the hook for what happens to the memory of all pools meanwhile. These are the pools of the program, or
 * those of `PoolEvents.layer` where that is provided. When the hook throws, the effect is interrupted and this dies with the error; the
 * pools are not affected.
 *
 * **Example** (Counting what the driver is asked for)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool } from "effect-gpu-pool"
 * import { MemoryHook } from "@effect-gpu-pool/observability"
 *
 * Effect.gen(function*() {
 *   const sizes: Array<number> = []
 *   const job = Effect.replicateEffect(BufferPool.use(64, () => Effect.void), 3)
 *   yield* MemoryHook.run(job, { onAllocate: ({ capacity }) => void sizes.push(capacity) })
 *   return sizes
 * }) // => [64]
 * ```
 *
 * @see cupy.cuda.MemoryHook
 * @category hooks
 * @since 0.1.0
 */
export const run: {
  /** Runs an effect, and calls the hook for what happens to the memory of all pools meanwhile. */
  (hook: MemoryHook): <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  <A, E, R>(effect: Effect.Effect<A, E, R>, hook: MemoryHook): Effect.Effect<A, E, R>
} = dual(
  2,
  <A, E, R>(effect: Effect.Effect<A, E, R>, hook: MemoryHook): Effect.Effect<A, E, R> =>
    // The subscription begins first, and never completes.
    Effect.raceFirst(Effect.suspend(() => PoolEvents.listen(caller(hook))), effect)
)

const caller = (hook: MemoryHook): (event: PoolEvent) => void => {
  const { onRequest } = hook
  if (onRequest === undefined) return (event) => call(hook, event)
  /** The open requests of each memory that the hook knows. */
  const open = new Map<number, Set<number>>()
  return (event) => {
    if (isRequest(event)) begin(open, event, onRequest)
    // The memory's requests end with it, and not all of them with an event.
    else if (event._tag === "Lost" || event._tag === "Closed") open.delete(event.memoryNumber)
    call(hook, event)
  }
}

/** Not a reservation, which has no family. `Kept` and `Refused` may follow the end of their request, so they begin none. */
const isRequest = (event: PoolEvent): event is RequestBegun => {
  switch (event._tag) {
    case "DriverAsked":
    case "Leased":
    case "RoomNeeded":
    case "Waiting":
    case "RanOut":
    case "GaveUp":
      return event.family !== ""
    default:
      return false
  }
}

const begin = (
  open: Map<number, Set<number>>,
  event: RequestBegun,
  onRequest: (event: RequestBegun) => void
): void => {
  const { _tag, memoryNumber, request } = event
  const requests = open.get(memoryNumber) ?? new Set()
  open.set(memoryNumber, requests)
  if (!requests.has(request)) onRequest(event)
  if (_tag === "Leased" || _tag === "RanOut" || _tag === "GaveUp") requests.delete(request)
  else requests.add(request)
}

const call = (hook: MemoryHook, event: PoolEvent): void => {
  switch (event._tag) {
    case "DriverAsked":
      return hook.onAsk?.(event)
    case "Refused":
      return hook.onRefuse?.(event)
    case "Leased":
      if (event.from === "driver") hook.onAllocate?.(event)
      return hook.onLease?.(event)
    case "Kept":
      return hook.onAllocate?.(event)
    case "RanOut":
    case "GaveUp":
      if (event.family !== "") hook.onFail?.(event)
      return
    case "Released":
      return hook.onRelease?.(event)
    case "Freed":
      return hook.onFree?.(event)
  }
}

/**
 * A hook that writes a line of JSON for each event, with the names of CuPy's hook: `alloc`, `malloc` and `free`. `print` takes the
 * lines.
 *
 * **Example** (The lines of one lease)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool } from "effect-gpu-pool"
 * import { MemoryHook } from "@effect-gpu-pool/observability"
 *
 * Effect.gen(function*() {
 *   const lines: Array<string> = []
 *   const hook = MemoryHook.debugPrint((line) => lines.push(line))
 *   yield* MemoryHook.run(BufferPool.use(60, () => Effect.void), hook)
 *   return lines.map((line) => JSON.parse(line).hook)
 * }) // => ["alloc", "malloc", "free"]
 * ```
 *
 * @see cupy.cuda.memory_hooks.DebugPrintHook
 * @category hooks
 * @since 0.1.0
 */
export const debugPrint = (print: (line: string) => void): MemoryHook => {
  const write = (hook: string, { device, pool, ...sizes }: Line): void =>
    print(Format.line(JSON.stringify({ hook, device_id: device, pool, ...sizes }), Infinity))
  return {
    onAllocate: ({ block, capacity, device, pool }) => write("alloc", { device, pool, mem_size: capacity, block }),
    onLease: (event) =>
      write("malloc", { device: event.device, pool: event.pool, size: event.size, ...placeOf(event) }),
    onRelease: (event) => write("free", { device: event.device, pool: event.pool, ...placeOf(event) })
  }
}

/** What a line says of the memory of a lease. */
const placeOf = ({ block, capacity, offset, partBytes }: Leased | Released) =>
  partBytes === undefined
    ? { mem_size: capacity, block }
    : { mem_size: partBytes, block, offset, block_size: capacity }

/** The members of a line. A block has a number in place of an address, and a part of one has its offset there. */
interface Line {
  readonly device: string
  readonly pool: string
  readonly size?: number
  readonly mem_size: number
  readonly block: number
  readonly offset?: number | undefined
  readonly block_size?: number
}

/**
 * What one call site has asked for, in bytes.
 *
 * @category models
 * @since 0.1.0
 */
export interface LineProfile {
  /** As "file:line:column"; "unknown" while `CallSite` tracks nothing. */
  readonly callSite: string
  /** How many leases. */
  readonly leases: number
  /** The bytes that they asked for. */
  readonly bytes: number
  /** The bytes of the blocks that the driver made for them. */
  readonly acquiredBytes: number
}

/**
 * A hook that counts bytes by the place in the program that asked for them, the most bytes first. Places are known where
 * `CallSite.track` is around the effect.
 *
 * **Example** (Which line asks for the most)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool, CallSite } from "effect-gpu-pool"
 * import { MemoryHook } from "@effect-gpu-pool/observability"
 *
 * const { hook, report } = MemoryHook.lineProfile()
 * const job = Effect.suspend(() => BufferPool.use(64, () => Effect.void))
 * const profiled = Effect.map(MemoryHook.run(CallSite.track(job), hook), () => report()[0]?.bytes)
 * ```
 *
 * @see cupy.cuda.memory_hooks.LineProfileHook
 * @category hooks
 * @since 0.1.0
 */
export const lineProfile = (): {
  readonly hook: MemoryHook
  /** What it has counted so far. */
  readonly report: () => ReadonlyArray<LineProfile>
} => {
  const places = new Map<string, { leases: number; bytes: number; acquiredBytes: number }>()
  const placeOf = (callSite = "unknown") => {
    const place = places.get(callSite) ?? { leases: 0, bytes: 0, acquiredBytes: 0 }
    places.set(callSite, place)
    return place
  }
  return {
    hook: {
      onAllocate: ({ callSite, capacity }) => void (placeOf(callSite).acquiredBytes += capacity),
      onLease: ({ callSite, size }) => {
        const place = placeOf(callSite)
        place.leases += 1
        place.bytes += size
      }
    },
    report: () =>
      Array.from(places, ([callSite, counts]) => ({ callSite, ...counts })).sort((a, b) => b.bytes - a.bytes)
  }
}

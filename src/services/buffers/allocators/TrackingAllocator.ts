/**
 * An allocator that lists the buffers that were not freed, and logs them when it closes.
 *
 * @see rmm::mr::tracking_resource_adaptor
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import { line } from "../../../domain/arguments/Format.ts"
import * as CallSite from "../../calls/CallPlaces.ts"
import type { DeviceBuffer } from "../../device/DeviceBuffer.ts"
import { Allocator } from "../Allocator.ts"

/**
 * One buffer that was allocated and not freed.
 *
 * @category models
 * @since 0.1.0
 */
export interface Allocation {
  /** The label that it was allocated with. */
  readonly label: string | undefined
  readonly bytes: number
  /** Milliseconds since it was allocated, on Effect's clock. */
  readonly ageMillis: number
  /** Where it was asked for, as "file:line:column", in `CallSite.track` and as far as the place is known. */
  readonly callSite: string | undefined
}

/**
 * The service that lists the outstanding buffers. Where several trackers are stacked, it belongs to the outermost.
 *
 * **Example** (Failing a test that forgets its buffers)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { TrackingAllocator } from "effect-gpu-pool/allocators"
 *
 * const nothingLeft = TrackingAllocator.AllocationTracker.use((tracker) => tracker.outstanding).pipe(
 *   Effect.flatMap((left) => left.length === 0 ? Effect.void : Effect.die(left))
 * )
 * ```
 *
 * @category services
 * @since 0.1.0
 */
export class AllocationTracker extends Context.Service<AllocationTracker, {
  /** What was allocated and not freed, oldest first. */
  readonly outstanding: Effect.Effect<ReadonlyArray<Allocation>>
}>()("effect-gpu-pool/AllocationTracker") {}

interface Tracked {
  readonly label: string | undefined
  readonly callSite: string | undefined
  readonly since: number
}

const make = Effect.gen(function*() {
  const inner = yield* Allocator
  const live = new Map<DeviceBuffer, Tracked>()

  const outstanding = Clock.clockWith((clock) => {
    const now = clock.currentTimeMillisUnsafe()
    // A buffer that was destroyed without the allocator is no leak either.
    const left = Array.from(live).filter(([buffer]) => !buffer.destroyed)
    return Effect.succeed(left.map(([buffer, tracked]) => allocationOf(buffer, tracked, now)))
  })
  yield* Effect.addFinalizer(() => Effect.flatMap(outstanding, report))

  const allocate: Allocator["Service"]["allocate"] = (bytes, request) => {
    const located = CallSite.locate(request, allocate)
    const track = (buffer: DeviceBuffer) =>
      Clock.clockWith((clock) => {
        const since = clock.currentTimeMillisUnsafe()
        live.set(buffer, { label: request?.label, callSite: located?.callSite, since })
        return Effect.succeed(buffer)
      })
    // Uninterruptible, or a buffer could get lost between its creation and its record.
    return Effect.uninterruptible(Effect.flatMap(inner.allocate(bytes, located), track))
  }

  const freeUnsafe: Allocator["Service"]["freeUnsafe"] = (buffer) => {
    const exit = inner.freeUnsafe(buffer)
    // Where the driver fails to free, the memory may be gone all the same.
    if (Exit.isSuccess(exit) || buffer.destroyed) live.delete(buffer)
    return exit
  }

  return Context.make(Allocator, { ...inner, allocate, freeUnsafe }).pipe(
    Context.add(AllocationTracker, { outstanding })
  )
})

const allocationOf = (buffer: DeviceBuffer, { callSite, label, since }: Tracked, now: number): Allocation => ({
  label,
  bytes: buffer.size,
  ageMillis: Math.max(0, now - since),
  callSite
})

/** A loop that leaks would make very many lines. */
const longestReport = 100

const report = (left: ReadonlyArray<Allocation>): Effect.Effect<void> => {
  if (left.length === 0) return Effect.void
  const buffers = left.length === 1 ? "1 buffer was" : `${left.length} buffers were`
  const younger = left.slice(longestReport)
  return Effect.logWarning([
    `${buffers} allocated and not freed, ${bytesOf(left)} bytes together:`,
    ...left.slice(0, longestReport).map(lineOf),
    ...(younger.length > 0 ? [`  and ${younger.length} younger ones, ${bytesOf(younger)} bytes together`] : []),
    "Allocate in a scope that closes (Allocator.allocate), or call freeUnsafe once for each buffer." +
    (left.some(({ callSite }) => callSite !== undefined)
      ? ""
      : " Run the program in CallSite.track to learn where each was asked for.")
  ].join("\n"))
}

const lineOf = ({ ageMillis, bytes, callSite, label }: Allocation): string => {
  const age = ageMillis === 0 ? "0ms" : Duration.format(Duration.millis(ageMillis))
  const place = callSite === undefined ? "" : `, asked for at ${callSite}`
  return `  ${label === undefined ? "(no label)" : `"${line(label)}"`}, ${bytes} bytes, ${age} old${place}`
}

const bytesOf = (allocations: ReadonlyArray<Allocation>): number =>
  allocations.reduce((sum, { bytes }) => sum + bytes, 0)

/**
 * Tracks the buffers that the Allocator in context allocates and frees: label, bytes, age and, in `CallSite.track`, the
 * place in the program.
 *
 * When it closes, it logs a warning that lists what was not freed. It frees nothing itself: the device frees such
 * buffers when it closes. Under a pool it sees blocks instead of leases, each with the label and place of its first
 * lease, and the pool frees them all when it closes.
 *
 * **Example** (What is not freed yet)
 *
 * ```ts
 * import { Effect, Layer } from "effect"
 * import { Allocator } from "effect-gpu-pool"
 * import { TrackingAllocator } from "effect-gpu-pool/allocators"
 * import { Host } from "effect-gpu-pool/host"
 *
 * const tracked = TrackingAllocator.layer.pipe(
 *   Layer.provide(Allocator.layerImmediate),
 *   Layer.provideMerge(Host.layer())
 * )
 *
 * const program = Effect.gen(function*() {
 *   yield* Allocator.allocate(4096, { label: "image" })
 *   yield* Effect.scoped(Allocator.allocate(64, { label: "scratch" }))
 *   const tracker = yield* TrackingAllocator.AllocationTracker
 *   return (yield* tracker.outstanding).map(({ bytes, label }) => ({ bytes, label }))
 * }).pipe(Effect.scoped, Effect.provide(tracked))
 *
 * await Effect.runPromise(program) // => [{ bytes: 4096, label: "image" }]
 * ```
 *
 * @see rmm::mr::tracking_resource_adaptor
 * @category layers
 * @since 0.1.0
 */
export const layer: Layer.Layer<Allocator | AllocationTracker, never, Allocator> = Layer.fresh(
  Layer.effectContext(make)
)

/**
 * What was allocated and not freed, oldest first.
 *
 * **Example** (Bytes in use, by label)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { TrackingAllocator } from "effect-gpu-pool/allocators"
 *
 * const byLabel = Effect.map(TrackingAllocator.outstanding, (allocations) => {
 *   const bytes = new Map<string | undefined, number>()
 *   for (const one of allocations) bytes.set(one.label, (bytes.get(one.label) ?? 0) + one.bytes)
 *   return bytes
 * })
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const outstanding: Effect.Effect<ReadonlyArray<Allocation>, never, AllocationTracker> = AllocationTracker.use(
  (tracker) => tracker.outstanding
)

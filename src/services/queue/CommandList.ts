/**
 * Commands that were traced once, and run again and again on other buffers.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { GpuError } from "../../domain/GpuError.ts"
import type { BufferPool, PooledBuffer } from "../buffers/BufferPool.ts"

/**
 * The commands of one effect, as `CommandQueue.trace` found them: checked, compiled and with their memory planned. A run only puts
 * buffers in and records the commands.
 *
 * **Example** (A step that is traced once)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool, CommandQueue } from "effect-gpu-pool"
 *
 * Effect.gen(function*() {
 *   const x = yield* BufferPool.allocate(16)
 *   const copied = yield* CommandQueue.trace([x], ([x]) =>
 *     Effect.tap(BufferPool.allocate(16), (y) => CommandQueue.copy(x!, y)))
 *   yield* CommandQueue.write(x, Float32Array.of(1, 2, 3, 4))
 *   const [y] = yield* copied.run([x])
 *   return [copied.commands, copied.peakBytes, yield* CommandQueue.read(y!, Float32Array)]
 * }) // => [1, 16, Float32Array.of(1, 2, 3, 4)]
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface CommandList<A> {
  /** What the effect returned. Its leases stand for the results of a run, and have ended. */
  readonly traced: A
  /** How many commands a run records. */
  readonly commands: number
  /** The most bytes that a run has besides its inputs: its results, and memory that it releases when its commands are recorded. */
  readonly peakBytes: number
  /** The numbers of the inputs that a run writes to. */
  readonly writtenInputs: ReadonlyArray<number>
  /** The leases of the program, not among the inputs, that each run writes to. */
  readonly writtenLeases: ReadonlyArray<PooledBuffer>
  /**
   * Whether a run can have these inputs: as many and as large as the traced ones, with their usage, and none that is
   * written is also another input or a lease of the program that the commands use.
   */
  readonly accepts: (inputs: ReadonlyArray<PooledBuffer>) => boolean
  /**
   * Records the commands on these inputs. Returns a lease for each lease of `traced`, in the order of `LeaseHolder.leases`: memory of the
   * caller's scope, or an input, or a lease of the program, where the effect returned that. All memory of a run is requested together, so
   * runs cannot wait for each other's memory. Fails with InvalidRequest for inputs that it does not accept, with Released, ForeignDevice
   * and DeviceLost, and as `BufferPool.allocateAll`.
   */
  readonly run: (
    inputs: ReadonlyArray<PooledBuffer>
  ) => Effect.Effect<ReadonlyArray<PooledBuffer>, GpuError, BufferPool | Scope.Scope>
}

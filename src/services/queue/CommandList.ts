/**
 * Commands that were traced once, and run again and again on other buffers.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { GpuError } from "../../domain/GpuError.ts"
import type { BufferPool, PooledBuffer } from "../buffers/BufferPool.ts"
import type { CommandQueue } from "./CommandQueue.ts"
import * as Trace from "./traced/Trace.ts"

/**
 * The commands of one effect, as {@link trace} found them: checked, compiled and with their memory planned. A run only puts
 * buffers in and records the commands.
 *
 * **Example** (A step that is traced once)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool, CommandQueue } from "effect-gpu-pool"
 * import { CommandList } from "effect-gpu-pool/kernels"
 *
 * Effect.gen(function*() {
 *   const x = yield* BufferPool.allocate(16)
 *   const copied = yield* CommandList.trace([x], ([x]) =>
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

/**
 * Traces the commands of an effect, for many runs on other buffers. `f` gets a placeholder for each input, and runs once: the buffers that
 * it allocates have no memory, and its commands are checked, compiled and noted, but not recorded. A run of the list records them, with the
 * inputs of the run in the places of those of the trace.
 *
 * **Details**
 *
 * A run has memory of its own for what `f` allocates: all of it is requested together, and memory that is not needed at the same time is
 * the same block, so fresh memory has unspecified contents, also in a pool that clears. What `f` returns are the results: the leases in
 * its `LeaseHolder`s, tuples, arrays and records. Leases that `f` knows from elsewhere are those of the program in every run. Data that `f`
 * writes is copied at the trace and written again in each run. An input that `f` releases is released by each run, and one that it
 * transfers to its scope belongs to the caller's scope after each run. Whatever else `f` does is done at the trace only. A budget inside
 * `f` fails with InvalidRequest, since it would not limit the runs: put it around the run. `reserve` and `exclusively` are not needed there
 * and do nothing, since a run never waits with a part of its memory.
 *
 * Reads, further queues, events, `flush` and `finish` cannot be replayed: they fail with InvalidRequest inside `f`, as do memory of no
 * pool, mappings, sub-regions and images of placeholders, and leases of `f` in a scope that outlives it. Memory with another usage than the
 * default fails with Unsupported. Runs repeat no finalizers: if one records a command or allocates memory when `f` has returned, the trace
 * fails with InvalidRequest. Fails as the commands in `f` do, and with Unsupported on a device that was opened for its memory alone.
 *
 * **Example** (Two runs of one trace)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool, CommandQueue } from "effect-gpu-pool"
 * import { CommandList } from "effect-gpu-pool/kernels"
 *
 * Effect.gen(function*() {
 *   const x = yield* BufferPool.allocate(8)
 *   yield* CommandQueue.write(x, Float32Array.of(1, 2))
 *   const doubled = yield* CommandList.trace([x], Effect.fnUntraced(function*([x]) {
 *     const y = yield* BufferPool.allocate(16)
 *     yield* CommandQueue.copy(x!, y)
 *     yield* CommandQueue.copy(x!, y, { targetOffset: 8 })
 *     return y
 *   }))
 *   const [first] = yield* doubled.run([x])
 *   yield* CommandQueue.write(x, Float32Array.of(3, 4))
 *   const [second] = yield* doubled.run([x])
 *   return [yield* CommandQueue.read(first!, Float32Array), yield* CommandQueue.read(second!, Float32Array)]
 * }) // => [Float32Array.of(1, 2, 1, 2), Float32Array.of(3, 4, 3, 4)]
 * ```
 *
 * @see cl_khr_command_buffer
 * @category constructors
 * @since 0.1.0
 */
export const trace: <A, E, R>(
  inputs: ReadonlyArray<PooledBuffer>,
  f: (inputs: ReadonlyArray<PooledBuffer>) => Effect.Effect<A, E, R>
) => Effect.Effect<
  CommandList<A>,
  E | GpuError,
  Exclude<R, CommandQueue | BufferPool | Scope.Scope> | BufferPool | CommandQueue
> = Trace.trace

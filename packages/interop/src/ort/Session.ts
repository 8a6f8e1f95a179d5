/**
 * Sessions of onnxruntime-web, and tensors on leases.
 *
 * @since 0.1.0
 */
import type * as BufferPool from "effect-gpu-pool/BufferPool"
import * as CommandQueue from "effect-gpu-pool/CommandQueue"
import * as GpuError from "effect-gpu-pool/GpuError"
import * as WebGpu from "effect-gpu-pool/WebGpu"
import type * as WebGpuHandle from "effect-gpu-pool/WebGpuHandle"
import * as Effect from "effect/Effect"

/**
 * The types of numbers that tensors on leases have.
 *
 * @category models
 * @since 0.1.0
 */
export type DataType = "float32" | "float16"

/** How many bytes a number has. */
const bytesPerElement: Readonly<Record<DataType, number>> = { float32: 4, float16: 2 }

/**
 * `ort.Tensor`, of any build of onnxruntime-web.
 *
 * @category models
 * @since 0.1.0
 */
export interface TensorClass<T> {
  fromGpuBuffer(
    buffer: WebGpuHandle.Buffer,
    options: { readonly dataType: DataType; readonly dims: ReadonlyArray<number> }
  ): T
}

/**
 * An `InferenceSession`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Session<T> {
  readonly outputNames: ReadonlyArray<string>
  run(
    feeds: Readonly<Record<string, T>>,
    fetches: Readonly<Record<string, T | null>>
  ): Promise<Readonly<Record<string, T>>>
}

/**
 * Bytes that a tensor takes of a buffer: onnxruntime-web works in whole units of 16.
 *
 * @internal
 */
export const bytesOf = (dataType: DataType, dims: ReadonlyArray<number>): number =>
  Math.ceil(bytesPerElement[dataType] * dims.reduce((product, dim) => product * dim, 1) / 16) * 16

/**
 * The execution provider of the program's own device, for `executionProviders` of a session. Of the buffers that it has freed
 * onnxruntime-web keeps none from one run to the next, so that they do not lie beside those of the pool.
 *
 * **Example** (A session on the device of this library)
 *
 * ```ts no-run
 * import { executionProvider } from "@effect-gpu-pool/interop/ort"
 * import { Effect } from "effect"
 * import * as ort from "onnxruntime-web/webgpu"
 *
 * const session = (model: Uint8Array) =>
 *   Effect.flatMap(executionProvider, (provider) =>
 *     Effect.acquireRelease(
 *       Effect.promise(() => ort.InferenceSession.create(model, { executionProviders: [provider] })),
 *       (session) => Effect.promise(() => session.release())
 *     ))
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const executionProvider: Effect.Effect<
  {
    readonly name: "webgpu"
    readonly device: WebGpuHandle.Device
    readonly storageBufferCacheMode: "lazyRelease"
  },
  never,
  WebGpu.WebGpu
> = Effect.map(WebGpu.WebGpu, ({ device }) => ({ name: "webgpu", device, storageBufferCacheMode: "lazyRelease" }))

/**
 * A tensor whose numbers are those of a lease, without a copy: as a feed a session reads them, as a fetch it writes them. The lease stays
 * its scope's; the tensor is not to be used after it.
 *
 * Fails with InvalidRequest for a lease with fewer bytes than the tensor, rounded up to 16; and as `WebGpu.handle` does, so with
 * Unsupported for a lease of an arena.
 *
 * **Example** (A feed)
 *
 * ```ts no-run
 * import { tensor } from "@effect-gpu-pool/interop/ort"
 * import { Effect } from "effect"
 * import { BufferPool, CommandQueue } from "effect-gpu-pool"
 * import * as ort from "onnxruntime-web/webgpu"
 *
 * const pixels = Effect.fnUntraced(function*(values: Float32Array) {
 *   const lease = yield* BufferPool.allocate(Math.ceil(values.byteLength / 16) * 16)
 *   yield* CommandQueue.write(lease, values)
 *   return yield* tensor(ort.Tensor, lease, "float32", [1, values.length])
 * })
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const tensor = <T>(
  Tensor: TensorClass<T>,
  lease: BufferPool.PooledBuffer,
  dataType: DataType,
  dims: ReadonlyArray<number>
): Effect.Effect<T, GpuError.GpuError, WebGpu.WebGpu> => {
  const bytes = bytesOf(dataType, dims)
  return lease.size < bytes
    ? Effect.fail(GpuError.invalidRequest(
      "tensor",
      `the lease has ${lease.size} B, and a tensor of ${dataType} and dims [${dims.join(", ")}] takes ${bytes} B`,
      "Allocate as many; onnxruntime-web takes whole units of 16 B."
    ))
    : Effect.map(WebGpu.handle(lease), (buffer) => Tensor.fromGpuBuffer(buffer, { dataType, dims }))
}

/**
 * Runs a session after what the program has recorded so far: it submits that first. A run ends before its fiber does, since
 * onnxruntime-web cannot be stopped and uses the leases until then.
 *
 * Fails with DriverError where onnxruntime-web fails, and as `CommandQueue.flush` does.
 *
 * **Example** (A model between two leases)
 *
 * ```ts no-run
 * import { run } from "@effect-gpu-pool/interop/ort"
 * import type { InferenceSession, Tensor } from "onnxruntime-web"
 *
 * const infer = (session: InferenceSession, x: Tensor, y: Tensor) => run(session, { x }, { y })
 * ```
 *
 * @category functions
 * @since 0.1.0
 */
export const run = <T>(
  session: Session<T>,
  feeds: Readonly<Record<string, T>>,
  fetches: Readonly<Record<string, T | null>> = Object.fromEntries(session.outputNames.map((name) => [name, null]))
): Effect.Effect<Readonly<Record<string, T>>, GpuError.GpuError, CommandQueue.CommandQueue> =>
  Effect.andThen(
    CommandQueue.flush,
    Effect.uninterruptible(Effect.tryPromise({
      try: () => session.run(feeds, fetches),
      catch: (cause) =>
        GpuError.driverError({
          backend: "onnxruntime-web",
          call: "InferenceSession.run",
          log: cause instanceof Error ? cause.message : String(cause),
          hint: "Compare the names, the types and the dims of feeds and fetches with those of the model."
        })
    }))
  )

/**
 * Spans around what takes long: misses, waits for memory, compilations and reads. A hit has none.
 *
 * @since 0.1.0
 */
import { format } from "effect-gpu-pool/DeviceInfo"
import { CurrentTracing, type Slow, type Tracing } from "effect-gpu-pool/Tracing"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

const nameOf: { readonly [what in Slow[0]]: string } = {
  miss: "gpu.pool.miss",
  wait: "gpu.pool.wait",
  refused: "gpu.pool.refused",
  compile: "gpu.kernel.compile",
  read: "gpu.read"
}

/** What is unknown is left out: a tracer would write it as text. */
const known = (attributes: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined))

const attributesOf = (slow: Slow): Record<string, unknown> => {
  switch (slow[0]) {
    case "compile":
      return { "gpu.device": format(slow[2]), "gpu.kernel.name": slow[1] }
    case "read":
      return { "gpu.operation": slow[1] }
    default: {
      const [what, request, memory] = slow
      return known({
        "gpu.device": memory.device,
        "gpu.memory.label": memory.label,
        "gpu.pool.service": request.source.service,
        "gpu.budget.label": request.budget?.owner.name,
        "gpu.operation": request.operation,
        "gpu.request.size": request.size,
        "gpu.request.label": request.label,
        "gpu.request.call_site": request.callSite,
        "gpu.block.size": what === "miss" ? request.pending : undefined
      })
    }
  }
}

const around: Tracing = (effect, slow) =>
  Effect.withFiber(({ cache: { tracer, tracerEnabled } }) => {
    if (tracer === undefined || !tracerEnabled) return effect
    return Effect.useSpan(nameOf[slow[0]], { attributes: attributesOf(slow) }, (span) =>
      slow[0] !== "read" ? effect : Effect.map(effect, (bytes) => {
        if (bytes instanceof ArrayBuffer) {
          span.attribute("gpu.read.size", bytes.byteLength)
        }
        return bytes
      }))
  })

/**
 * Spans for whatever runs with this layer, by the program's tracer: that of `OtlpTracer` or of `DevTools`, for example. Without a
 * tracer nothing is made.
 *
 * **Details**
 *
 * - `gpu.pool.miss`: the driver is asked for a block; it fails where the driver refuses, also when the pool then finds another way.
 * - `gpu.pool.wait`: a request waits in line, for memory, for its budget, for a reservation or for its turn; it fails where the
 *   request fails, also when it has waited for as long as it may.
 * - `gpu.pool.refused`: a request fails without waiting, for want of memory or at a limit. It takes no time.
 * - `gpu.kernel.compile`: a kernel is compiled.
 * - `gpu.read`: bytes come back to the host.
 *
 * Sizes are in bytes. A span ends when the fiber goes on, also by an interruption. Hits have none, and take no more steps than before.
 *
 * **Example** (The spans of a miss and of a hit)
 *
 * ```ts
 * import { Effect, Tracer } from "effect"
 * import { BufferPool } from "effect-gpu-pool"
 * import { GpuTraces } from "@effect-gpu-pool/observability"
 *
 * Effect.gen(function*() {
 *   const names: Array<string> = []
 *   const tracer = Tracer.make({
 *     span: (options) => {
 *       names.push(options.name)
 *       return new Tracer.NativeSpan(options)
 *     }
 *   })
 *   const twice = Effect.replicateEffect(BufferPool.use(64, () => Effect.void), 2)
 *   yield* twice.pipe(Effect.withTracer(tracer), Effect.provide(GpuTraces.layer))
 *   return names
 * }) // => ["gpu.pool.miss"]
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layer: Layer.Layer<never> = Layer.succeed(CurrentTracing, around)

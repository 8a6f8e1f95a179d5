/**
 * The service: `GET /wave?samples=4096&periods=3` computes, `GET /metrics` serves Prometheus the metrics of pool and
 * kernels.
 */
import { KernelMetrics, PoolMetrics } from "@effect-gpu-pool/observability"
import { Effect, Layer, Schema } from "effect"
import { BufferPool, type GpuError } from "effect-gpu-pool"
import type { Device } from "effect-gpu-pool/backend"
import { FetchHttpClient, HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { Otlp, PrometheusMetrics } from "effect/observability"
import * as Waves from "./Waves.ts"

const mostSamples = 2 ** 22

const counted = (most: number) =>
  Schema.FiniteFromString.check(Schema.isInt(), Schema.isBetween({ minimum: 1, maximum: most }))

const asked = Schema.Struct({ samples: counted(mostSamples), periods: counted(1000) })

const failed = (status: number, error: Error) => HttpServerResponse.json({ error: error.message }, { status })

const wave = Effect.gen(function*() {
  const wanted = yield* HttpServerRequest.schemaSearchParams(asked)
  const samples = yield* Waves.compute(wanted)
  return yield* HttpServerResponse.json({ ...wanted, loudness: Waves.loudness(samples) })
}).pipe(
  Effect.catchTags({
    SchemaError: (error) => failed(400, error),
    // Requests wait for memory; one that waits for too long fails.
    GpuError: (error) => failed(503, error)
  })
)

const routes = Layer.mergeAll(HttpRouter.add("GET", "/wave", wave), PrometheusMetrics.layerHttp())

export interface ServiceOptions {
  readonly device: Layer.Layer<Device.Services, GpuError.GpuError>
  /** Bytes of the pool. */
  readonly maxBytes: number
  /** The OpenTelemetry collector: traces, metrics and logs go there. */
  readonly collector: string | undefined
}

/**
 * Pool and device, their observers below them, and the exporter on top: it closes first, so that it sends the last
 * numbers.
 */
const observed = ({ collector, device, maxBytes }: ServiceOptions) => {
  const pool = BufferPool.layer({ label: "waves", maxBytes, onExhausted: "wait", waitAtMost: "10 seconds" }).pipe(
    Layer.provideMerge(device),
    Layer.provideMerge(Layer.mergeAll(PoolMetrics.layer(), KernelMetrics.layer()))
  )
  if (collector === undefined) return pool
  const otlp = Otlp.layerJson({ baseUrl: collector, resource: { serviceName: "waves" } }).pipe(
    Layer.provide(FetchHttpClient.layer)
  )
  return Layer.provideMerge(otlp, pool)
}

/** Serves until its scope closes. */
export const layer = (options: ServiceOptions) => Layer.provide(HttpRouter.serve(routes), observed(options))

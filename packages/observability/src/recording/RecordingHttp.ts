/**
 * Serves the recording of a running program over HTTP.
 *
 * @since 0.1.0
 */
import { membersOf } from "effect-gpu-pool/ArgumentProblem"
import { formatted } from "effect-gpu-pool/Format"
import { type GpuError, invalidRequest, isGpuError } from "effect-gpu-pool/GpuError"
import * as KnownOptions from "effect-gpu-pool/KnownOptions"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { Recorder } from "./Recorder.ts"
import { toLines } from "./RecordingFile.ts"

/**
 * Where a program serves its recording.
 *
 * @category models
 * @since 0.1.0
 */
export interface HttpOptions {
  /** The path of the route, with its leading slash. Default: `/recording`. */
  readonly path?: HttpRouter.PathInput | undefined
}

const known = KnownOptions.of<HttpOptions>({ path: true })

const operation = "Recording.layerHttp"

const pathOf = (options: HttpOptions): HttpRouter.PathInput | GpuError => {
  const given = membersOf(operation, options, known)
  if (isGpuError(given)) return given
  const { path = "/recording" } = given
  return typeof path === "string" && (path.startsWith("/") || path === "*")
    ? path
    : invalidRequest(operation, `path ${formatted(path)} does not begin with a slash`, `Pass a path, as "/recording".`)
}

/**
 * Adds a route to the program's HTTP server that answers each request with what the recorder has now, as the text of a file:
 * `effect-gpu-pool view http://localhost:3000/recording --serve` shows the running program. The answer has labels, sizes and places
 * in the program, so only add it to a server whose clients may know them. Fails with InvalidRequest for an invalid path.
 *
 * **Example** (A server that hands out its recording)
 *
 * ```ts
 * import { Layer } from "effect"
 * import { Recording } from "@effect-gpu-pool/observability"
 * import { HttpRouter } from "effect/http"
 *
 * const Routes = Recording.layerHttp({ path: "/debug/memory" }).pipe(Layer.provide(Recording.layer()))
 * const Served = HttpRouter.serve(Routes) // above the layer of an HttpServer
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layerHttp = (
  options: HttpOptions = {}
): Layer.Layer<never, GpuError, HttpRouter.HttpRouter | Recorder> =>
  Layer.effectDiscard(Effect.gen(function*() {
    const path = pathOf(options)
    if (isGpuError(path)) return yield* path
    const recorder = yield* Recorder
    const router = yield* HttpRouter.HttpRouter
    const answer = Effect.sync(() =>
      HttpServerResponse.stream(Stream.encodeText(toLines(recorder.takeUnsafe("asked"))), {
        contentType: "application/jsonl; charset=utf-8",
        headers: { "cache-control": "no-store" }
      })
    )
    yield* router.add("GET", path, answer)
  }))

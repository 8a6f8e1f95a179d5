/**
 * Serves the recording of a running program over HTTP.
 *
 * @since 0.1.0
 */
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

/**
 * Adds a route to the program's HTTP server that answers each request with what the recorder has now, as the text of a file:
 * `effect-gpu-pool view http://localhost:3000/recording --serve` shows the running program. The answer has labels, sizes and places
 * in the program, so only add it to a server whose clients may know them.
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
): Layer.Layer<never, never, HttpRouter.HttpRouter | Recorder> =>
  Layer.effectDiscard(Effect.gen(function*() {
    const recorder = yield* Recorder
    const router = yield* HttpRouter.HttpRouter
    const answer = Effect.sync(() =>
      HttpServerResponse.stream(Stream.encodeText(toLines(recorder.takeUnsafe("asked"))), {
        contentType: "application/jsonl; charset=utf-8",
        headers: { "cache-control": "no-store" }
      })
    )
    yield* router.add("GET", options.path ?? "/recording", answer)
  }))

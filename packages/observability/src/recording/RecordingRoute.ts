/**
 * The route by which a program hands out its recording. Apart, because only programs that use it should load Effect's router.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Stream from "effect/Stream"
import { Recorder } from "./Recorder.ts"
import { toLines } from "./RecordingFile.ts"

/** Adds the route until the scope of the router closes. */
export const add = (
  path: HttpRouter.PathInput
): Effect.Effect<void, never, HttpRouter.HttpRouter | Recorder> =>
  Effect.gen(function*() {
    const router = yield* HttpRouter.HttpRouter
    const recorder = yield* Recorder
    const answer = Effect.sync(() =>
      HttpServerResponse.stream(Stream.encodeText(toLines(recorder.takeUnsafe("asked"))), {
        contentType: "application/jsonl; charset=utf-8",
        headers: { "cache-control": "no-store" }
      })
    )
    yield* router.add("GET", path, answer)
  })

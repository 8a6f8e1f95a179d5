/** A program that serves its recording over HTTP. */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual } from "@effect/vitest/utils"
import * as BufferPool from "effect-gpu-pool/BufferPool"
import { Host } from "effect-gpu-pool/host"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as PoolEvents from "../src/events/PoolEvents.ts"
import * as Recording from "../src/recording/Recording.ts"

/** A pool whose recording is served, and a service that uses the pool. */
const program = (options?: Parameters<typeof Recording.layerHttp>[0]) => {
  const pool = BufferPool.layer({ label: "frames" }).pipe(
    Layer.provideMerge(Host.layer()),
    Layer.provideMerge(Recording.layer({ capacity: 1000 })),
    Layer.provideMerge(PoolEvents.layer)
  )
  const use = HttpRouter.use((router) =>
    Effect.gen(function*() {
      const buffers = yield* BufferPool.BufferPool
      yield* router.add(
        "GET",
        "/use",
        Effect.as(Effect.orDie(buffers.use(64, () => Effect.void)), HttpServerResponse.empty())
      )
    })
  )
  return Layer.merge(use, Recording.layerHttp(options)).pipe(Layer.provide(pool))
}

const tagsOf = (text: string) =>
  Effect.map(
    Recording.fromLines(Stream.succeed(text)),
    (recording) => Array.from(Recording.events(recording), ({ _tag }) => _tag)
  )

describe("Recording.layerHttp", () => {
  it.effect("hands out what there is now, at each request", () =>
    Effect.gen(function*() {
      const { dispose, handler } = HttpRouter.toWebHandler(program(), { disableLogger: true })
      const get = (path: string) => Effect.promise(() => handler(new Request(`http://localhost${path}`)))
      const first = yield* get("/recording")
      deepStrictEqual([first.status, first.headers.get("cache-control")], [200, "no-store"])
      assert.include(first.headers.get("content-type") ?? "", "jsonl")
      deepStrictEqual(yield* tagsOf(yield* Effect.promise(() => first.text())), [])
      yield* get("/use")
      const second = yield* Effect.promise(async () =>
        (await handler(new Request("http://localhost/recording"))).text()
      )
      deepStrictEqual(yield* tagsOf(second), ["DriverAsked", "Leased", "Released"])
      yield* Effect.promise(dispose)
    }))

  it.effect("takes the path that the program names", () =>
    Effect.gen(function*() {
      const { dispose, handler } = HttpRouter.toWebHandler(program({ path: "/debug/memory" }), { disableLogger: true })
      const status = (path: string) =>
        Effect.promise(async () => (await handler(new Request(`http://localhost${path}`))).status)
      deepStrictEqual([yield* status("/debug/memory"), yield* status("/recording")], [200, 404])
      yield* Effect.promise(dispose)
    }))
})

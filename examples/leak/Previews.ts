/**
 * A service that turns pictures into previews, and keeps previews so that it need not make them twice. Its first
 * version has no bound on how many it keeps: sooner or later there is no memory for the next picture.
 */
import { Effect, Exit, Random, Scope } from "effect"
import { BufferPool, type GpuError } from "effect-gpu-pool"

const kib = 1024

/** How large a picture is, and how its preview comes out. */
interface Picture {
  readonly name: string
  readonly bytes: number
}

/** Keeps the previews of the last `most` pictures, or of all. */
export class Previews {
  readonly #kept = new Map<string, Scope.Closeable>()
  readonly #most: number

  constructor(most: number) {
    this.#most = most
  }

  /** The preview's memory stays until the preview is no longer kept. */
  keep({ bytes, name }: Picture): Effect.Effect<void, GpuError.GpuError, BufferPool.BufferPool> {
    return Effect.gen({ self: this }, function*() {
      const scope = yield* Scope.make()
      yield* BufferPool.allocate(bytes / 16, { label: "preview" }).pipe(Scope.provide(scope))
      this.#kept.set(name, scope)
      const [oldest] = this.#kept
      if (this.#kept.size <= this.#most || oldest === undefined) return
      this.#kept.delete(oldest[0])
      yield* Scope.close(oldest[1], Exit.void)
    })
  }

  /** Releases all previews. */
  close(): Effect.Effect<void> {
    return Effect.forEach([...this.#kept.values()], (scope) => Scope.close(scope, Exit.void), { discard: true })
  }
}

/** Reads a picture, scales it in two steps, and keeps its preview. */
const work = (picture: Picture, previews: Previews) =>
  Effect.scoped(Effect.gen(function*() {
    yield* BufferPool.allocate(picture.bytes, { label: "pixels" })
    yield* Effect.sleep("2 millis")
    yield* BufferPool.allocate(picture.bytes / 4, { label: "half size" })
    yield* Effect.sleep("2 millis")
    yield* previews.keep(picture)
  }))

/** Serves so many pictures, four at a time. Fails when there is no memory for one. */
export const serve = (pictures: number, previews: Previews) =>
  Effect.forEach(Array.from({ length: pictures }, (_, at) => at), (at) =>
    Effect.gen(function*() {
      const bytes = (yield* Random.nextIntBetween(1, 9)) * 256 * kib
      yield* work({ name: `picture ${at}`, bytes }, previews)
    }), { concurrency: 4, discard: true }).pipe(Effect.ensuring(previews.close()))

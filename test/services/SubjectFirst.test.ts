import { describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import { BufferPool, CommandQueue, Mapping, MemoryObjects, SubRegion } from "effect-gpu-pool"
import { ImageFormat, Images, ImageShape } from "effect-gpu-pool/images"
import { Schedules } from "effect-schedules"
import * as Effect from "effect/Effect"
import { pipe } from "effect/Function"
import { layer } from "../support/hostPool.ts"

const numbers = (buffer: BufferPool.PooledBuffer) => Effect.map(CommandQueue.read(buffer, Uint32Array), Array.from)

const same = <E, R>(calls: ReadonlyArray<Effect.Effect<unknown, E, R>>, expected: unknown) =>
  Effect.map(Effect.all(calls), (answers) => deepStrictEqual(answers, calls.map(() => expected)))

describe("functions on a buffer take it first or last", () => {
  it.effect("with and without options", () =>
    Effect.gen(function*() {
      const x = yield* BufferPool.allocate(16)
      const y = yield* BufferPool.allocate(16)
      yield* pipe(x, CommandQueue.write(Uint32Array.of(1, 2, 3, 4)))
      yield* pipe(x, CommandQueue.write(Uint32Array.of(9), { offset: 12 }))
      deepStrictEqual(yield* numbers(x), [1, 2, 3, 9])
      yield* same([
        CommandQueue.read(x, Uint32Array, { length: 2 }),
        pipe(x, CommandQueue.read(Uint32Array, { length: 2 }))
      ], Uint32Array.of(1, 2))
      const [into, last] = [new Uint32Array(4), new Uint32Array(1)]
      yield* pipe(x, CommandQueue.readInto(into))
      yield* pipe(x, CommandQueue.readInto(last, { offset: 12 }))
      deepStrictEqual([...into, ...last], [1, 2, 3, 9, 9])
      yield* pipe(y, CommandQueue.fill(7))
      yield* pipe(x, CommandQueue.copy(y, { size: 4 }))
      deepStrictEqual(yield* numbers(y), [1, 7, 7, 7])
      yield* pipe(x, CommandQueue.copy(y))
      yield* pipe(y, CommandQueue.fill(0, { offset: 4, size: 4 }))
      deepStrictEqual(yield* numbers(y), [1, 0, 3, 9])
      yield* pipe(x, CommandQueue.writeRect(Uint32Array.of(5), { region: [4] }))
      yield* pipe(x, CommandQueue.copyRect(y, { region: [4] }))
      yield* pipe(y, CommandQueue.readRectInto(last, { region: [4] }))
      deepStrictEqual(last, yield* pipe(y, CommandQueue.readRect(Uint32Array, { region: [4] })))
      deepStrictEqual([...last], [5])
    }).pipe(Effect.scoped, Effect.provide(layer())))

  it.effect("for regions, mappings and arrays of the host", () =>
    Effect.gen(function*() {
      const x = yield* BufferPool.allocate(16)
      yield* CommandQueue.write(x, Uint32Array.of(1, 2, 3, 4))
      const regions = [
        pipe(x, SubRegion.make({ offset: 8 })),
        pipe(x, SubRegion.make({ offset: 8 }, { label: "end" })),
        pipe(x, SubRegion.slice(Uint32Array, 2)),
        SubRegion.slice(x, Uint32Array, 2)
      ].map(Effect.flatMap((region) => CommandQueue.read(region, Uint32Array)))
      yield* same(regions, Uint32Array.of(3, 4))
      const mappings = [
        Mapping.map(x, Uint32Array, { access: "read" }),
        pipe(x, Mapping.map(Uint32Array, { access: "read" }))
      ].map((mapping) => Effect.scoped(Effect.map(mapping, ({ data }) => [...data])))
      yield* same(mappings, [1, 2, 3, 4])
      const host = yield* MemoryObjects.fromHost(Uint32Array.of(1, 2), { mode: "use" })
      yield* same(
        [MemoryObjects.hostArray(host, Uint32Array), pipe(host, MemoryObjects.hostArray(Uint32Array))],
        Uint32Array.of(1, 2)
      )
    }).pipe(Effect.scoped, Effect.provide(layer())))
})

describe("functions on an image take it first or last", () => {
  it.effect("with and without options", () =>
    Effect.gen(function*() {
      const shape = ImageShape.image1d(4)
      const format = ImageFormat.make("r", "uint32")
      const image = yield* Images.make(shape, format)
      const other = yield* Images.make(shape, format)
      yield* pipe(image, Images.write(Uint32Array.of(1, 2, 3, 4)))
      yield* pipe(image, Images.write(Uint32Array.of(9), { origin: [3] }))
      const parts = [
        Images.read(image, { origin: [2] }),
        pipe(image, Images.read({ origin: [2] })),
        pipe(image, Images.read(Uint32Array, { origin: [2] }))
      ]
      yield* same(parts, Uint32Array.of(3, 9))
      yield* pipe(image, Images.copy(other))
      yield* pipe(other, Images.fill(0, { origin: [1] }))
      yield* pipe(image, Images.copy(other, { sourceOrigin: [3], targetOrigin: [3] }))
      const into = new Uint32Array(4)
      yield* pipe(other, Images.readInto(into))
      deepStrictEqual([...into], [1, 0, 0, 9])
      const x = yield* BufferPool.allocate(20)
      yield* pipe(image, Images.toBuffer(x, { offset: 4 }))
      yield* pipe(x, Images.fromBuffer(other, { offset: 4 }))
      yield* same([
        Effect.scoped(Effect.map(pipe(other, Images.map({ access: "read" })), ({ data }) => [...data])),
        Effect.scoped(Effect.map(pipe(other, Images.map(Uint32Array, { access: "read" })), ({ data }) => [...data]))
      ], [1, 2, 3, 9])
    }).pipe(Effect.scoped, Effect.provide(layer())))
})

describe("functions on a program take it first or last", () => {
  it.effect("with and without options", () =>
    Effect.gen(function*() {
      const program = Effect.andThen(Effect.yieldNow, Effect.yieldNow)
      const named = pipe(program, Schedules.named("one"))
      strictEqual((yield* pipe(named, Schedules.explore({ deviations: 1 }))).complete, true)
      strictEqual((yield* pipe(named, Schedules.random({ schedules: 3 }))).schedules, 3)
      deepStrictEqual(
        yield* pipe(named, Schedules.replay("")),
        yield* Schedules.replay(Schedules.named(program, "one"), "")
      )
      yield* pipe(program, Schedules.withIntruder(() => Effect.void))
    }))
})

import { describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import { BufferPool, CommandQueue, type GpuError, Mapping, MemoryObjects, SubRegion } from "effect-gpu-pool"
import { ImageFormat, type ImageLike, Images, ImageShape } from "effect-gpu-pool/images"
import { Schedules } from "effect-schedules"
import * as Effect from "effect/Effect"
import { pipe } from "effect/Function"
import type * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { layer } from "../support/hostPool.ts"

const numbers = (buffer: BufferPool.PooledBuffer) => Effect.map(CommandQueue.read(buffer, Uint32Array), Array.from)

type Services = Layer.Success<ReturnType<typeof layer>> | Scope.Scope

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

  it.effect("and refuse what is no buffer in front", () =>
    Effect.gen(function*() {
      const x = yield* BufferPool.allocate(16)
      const nothing = undefined as unknown as BufferPool.PooledBuffer
      const refused = [
        CommandQueue.write(nothing, new Uint8Array(4)),
        CommandQueue.read(nothing, Uint8Array),
        CommandQueue.copy(x, nothing),
        CommandQueue.copy(nothing, x),
        CommandQueue.fill(x, {} as number),
        Mapping.map(nothing, Uint8Array),
        SubRegion.make(nothing, {}),
        Images.read(nothing as unknown as ImageLike.ImageLike)
      ]
      for (const call of refused) {
        const error = yield* Effect.flip<unknown, GpuError.GpuError, Effect.Services<typeof call>>(call)
        strictEqual(error.reason._tag, "InvalidRequest")
      }
    }).pipe(Effect.scoped, Effect.provide(layer())))
})

describe("a call with its subject first and something wrong after it", () => {
  it.effect("fails, and is no function that waits for a subject", () =>
    Effect.gen(function*() {
      const x = yield* BufferPool.allocate(16)
      const image = yield* Images.make(ImageShape.image1d(4), ImageFormat.make("r", "uint32"))
      const lookalike = { size: 16, usage: 1 } as never
      const options = { size: 4 } as never
      const wrong: ReadonlyArray<
        readonly [operation: string, call: Effect.Effect<unknown, GpuError.GpuError, Services>]
      > = [
        ["CommandQueue.copy", CommandQueue.copy(x, lookalike) as never],
        ["CommandQueue.copy", CommandQueue.copy(x, lookalike, options)],
        ["CommandQueue.write", CommandQueue.write(x, options)],
        ["CommandQueue.fill", CommandQueue.fill(x, options)],
        ["CommandQueue.readInto", CommandQueue.readInto(x, options)],
        ["CommandQueue.copyRect", CommandQueue.copyRect(x, lookalike) as never],
        ["CommandQueue.copyRect", CommandQueue.copyRect(x, x as never) as never],
        ["CommandQueue.writeRect", CommandQueue.writeRect(x as never, new Uint8Array(4) as never) as never],
        ["CommandQueue.readRect", CommandQueue.readRect(x as never, Uint8Array as never) as never],
        ["CommandQueue.readRectInto", CommandQueue.readRectInto(x as never, new Uint8Array(4) as never) as never],
        ["MemoryObjects.hostArray", MemoryObjects.hostArray(x as never) as never],
        ["Images.copy", Images.copy(image, lookalike) as never],
        ["Images.write", Images.write(image, options)],
        ["Images.toBuffer", Images.toBuffer(image, options)],
        ["Images.hostArray", Images.hostArray(image as never) as never],
        ["Mapping.map", Mapping.map(x, lookalike)],
        ["SubRegion.make", SubRegion.make(x, 4 as never)]
      ]
      for (const [operation, call] of wrong) {
        const error = yield* Effect.flip(call)
        strictEqual(error.reason._tag, "InvalidRequest")
        strictEqual(error.message.slice(0, operation.length), operation)
      }
    }).pipe(Effect.scoped, Effect.provide(layer())))

  it.effect("which options of a call in a pipe are not, also where they are left undefined", () =>
    Effect.gen(function*() {
      const x = yield* BufferPool.allocate(16)
      const y = yield* BufferPool.allocate(16)
      yield* pipe(x, CommandQueue.write(Uint32Array.of(1, 2, 3, 4), undefined))
      yield* pipe(x, CommandQueue.copy(y, {}))
      deepStrictEqual(yield* numbers(y), [1, 2, 3, 4])
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

/** Kernels for workgroups on the host: what bodies get, and how the event loop runs between workgroups. */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import { turnsDuring } from "../../packages/testing/src/EventLoop.ts"
import * as BufferUsage from "../../src/domain/BufferUsage.ts"
import * as GroupKernel from "../../src/domain/kernel/GroupKernel.ts"
import * as Kernel from "../../src/domain/kernel/Kernel.ts"
import { LocalArg, ScalarArg, VectorArg } from "../../src/domain/kernel/KernelArgument.ts"
import type * as Workgroup from "../../src/domain/kernel/Workgroup.ts"
import { Host } from "../../src/host.ts"
import { DeviceContext } from "../../src/services/device/DeviceContext.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"

const create = (bytes: number) =>
  DeviceContext.use((device) => device.createBuffer(bytes, BufferUsage.defaultUsage, undefined))

/** A kernel over no data that shows which workgroups run. */
const probe = (body: GroupKernel.GroupBody<readonly []>, workgroupSize: number | readonly [number, number, number]) =>
  GroupKernel.make({ name: "probe", args: [], workgroupSize, body: { host: body } })

/** A kernel with that many words of local memory. */
const large = (length: number) =>
  GroupKernel.make({
    name: "large",
    args: [LocalArg("u32", "words", length)],
    workgroupSize: 1,
    body: { host: () => {} }
  })

describe("workgroups on the host", () => {
  it.effect("run one after the other, x first, and their items likewise", () =>
    Effect.gen(function*() {
      const groups: Array<string> = []
      const items: Array<string> = []
      const kernel = probe(({ groupId: { x, y, z }, items: each }) => {
        groups.push(`${x}${y}${z}`)
        each(({ globalId, localId, localIndex }) => {
          if (groups.length > 1) return
          items.push(`${localIndex}: ${localId.x}${localId.y}${localId.z} ${globalId.x}${globalId.y}${globalId.z}`)
        })
      }, [2, 1, 2])
      yield* CommandQueue.dispatch(kernel, {}, [3, 2, 1])
      yield* CommandQueue.finish
      deepStrictEqual(groups, ["000", "100", "010", "110"])
      deepStrictEqual(items, ["0: 000 000", "1: 100 100", "2: 001 001", "3: 101 101"])
    }).pipe(Effect.provide(Host.layer())))

  it.effect("begin with local memory that is not zero, whatever the one before left", () =>
    Effect.gen(function*() {
      const seen: Array<ReadonlyArray<number>> = []
      const kernel = GroupKernel.make({
        name: "left",
        args: [
          LocalArg("f32", "floats", 1),
          LocalArg("i32", "whole", 1),
          LocalArg("u32", "counts", 2, { atomic: true })
        ],
        workgroupSize: 1,
        body: {
          host: (_, { counts, floats, whole }) => {
            seen.push([floats[0]!, whole[0]!, ...counts])
            floats[0] = whole[0] = counts[1] = 5
          }
        }
      })
      yield* CommandQueue.dispatch(kernel, {}, 2)
      yield* CommandQueue.finish
      deepStrictEqual(seen, [[NaN, -1, 0xffffffff, 0xffffffff], [NaN, -1, 0xffffffff, 0xffffffff]])
    }).pipe(Effect.provide(Host.layer())))

  it.effect("let the event loop run after as many as a task may have", () =>
    Effect.gen(function*() {
      let ran = 0
      const kernel = probe(() => {
        ran += 1
      }, 4)
      const turns = yield* turnsDuring(Effect.andThen(CommandQueue.dispatch(kernel, {}, 400), CommandQueue.finish))
      strictEqual(ran, 100)
      // Two workgroups of 4 items are a task of 8.
      assert.isAtLeast(turns, 49)
    }).pipe(Effect.provide(Host.layer({ rangeItems: 8 }))))

  it.effect("take more turns for items that work through many elements", () =>
    Effect.gen(function*() {
      const kernel = GroupKernel.make({
        name: "long",
        args: [ScalarArg("u32", "inner")],
        workgroupSize: 4,
        workPerItem: "inner",
        body: { host: () => {} }
      })
      const run = (inner: number) =>
        turnsDuring(Effect.andThen(CommandQueue.dispatch(kernel, { inner }, 40), CommandQueue.finish))
      assert.isAtLeast(yield* run(100), 9)
      assert.isBelow(yield* run(1), 3)
    }).pipe(Effect.provide(Host.layer({ rangeItems: 100 }))))

  it.effect("fail by the name and the range of their command", () =>
    Effect.gen(function*() {
      const kernel = probe(() => {
        throw new RangeError("not this one")
      }, 4)
      yield* CommandQueue.dispatch(kernel, {}, [5, 3])
      const { reason } = yield* Effect.flip(CommandQueue.finish)
      assert(reason._tag === "DriverError")
      deepStrictEqual(reason.commands, ["dispatch probe (5 x 3 x 1 items)"])
      assert.include(reason.log, "not this one")
    }).pipe(Effect.provide(Host.layer())))

  it.effect("fail where the body is an async function, whether that fails or not", () =>
    Effect.gen(function*() {
      for (
        const later of [
          () => Promise.resolve(),
          () => Promise.reject(new Error("not one that ends the process")),
          ({ items }: Workgroup.HostGroup) => items(() => Promise.reject(new Error("nor this one")))
        ]
      ) {
        yield* CommandQueue.dispatch(probe(later, 4), {}, 5)
        const { reason } = yield* Effect.flip(CommandQueue.finish)
        assert(reason._tag === "DriverError")
        assert.include(reason.log, "the host body has an async function")
        deepStrictEqual(reason.commands, ["dispatch probe (5 x 1 x 1 items)"])
      }
      const single = Kernel.make({ name: "single", args: [], body: { host: () => Promise.resolve() } })
      yield* CommandQueue.dispatch(single, {}, 5)
      const { reason } = yield* Effect.flip(CommandQueue.finish)
      assert(reason._tag === "DriverError")
      assert.include(reason.log, "the host body has an async function")
    }).pipe(Effect.provide(Host.layer())))

  it.effect("fail where an item waits at a barrier of its own", () =>
    Effect.gen(function*() {
      const kernel = probe(({ items }) => items(() => items(() => {})), 4)
      yield* CommandQueue.dispatch(kernel, {}, 4)
      const { reason } = yield* Effect.flip(CommandQueue.finish)
      assert(reason._tag === "DriverError")
      assert.include(reason.log, "items was called inside of items")
      // A body that catches what one item throws may go on with the next barrier.
      let ran = 0
      const careful = probe(({ items }) => {
        try {
          items(() => {
            throw new Error("one")
          })
        } catch {
          items(() => {
            ran += 1
          })
        }
      }, 4)
      yield* CommandQueue.dispatch(careful, {}, 4)
      yield* CommandQueue.finish
      strictEqual(ran, 4)
    }).pipe(Effect.provide(Host.layer())))

  it.effect("have the local memory that the layer's option says", () =>
    Effect.gen(function*() {
      yield* CommandQueue.dispatch(large(8), {}, 1)
      const { reason } = yield* Effect.flip(CommandQueue.dispatch(large(9), {}, 1))
      assert(reason._tag === "LimitExceeded")
      deepStrictEqual([reason.limitName, reason.limit, reason.requested], ["maxLocalBytes", 32, 48])
    }).pipe(Effect.provide(Host.layer({ maxLocalBytes: 32 }))))

  it.effect("see vectors with offsets, and no argument for local memory", () =>
    Effect.gen(function*() {
      const x = yield* create(32)
      yield* CommandQueue.write(x, new Uint32Array(8))
      const kernel = GroupKernel.make({
        name: "offsets",
        args: [VectorArg("u32", "x", { withOffset: true }), LocalArg("u32", "part", 2)],
        workgroupSize: 2,
        body: {
          host: ({ items, range }, { part, x, x_offset }) =>
            items(({ globalId, localIndex }) => {
              part[localIndex] = 10 + globalId.x
              if (globalId.x < range.x) x[x_offset + globalId.x] = part[localIndex]!
            })
        }
      })
      yield* CommandQueue.dispatch(kernel, { x: { buffer: x, offset: 4 } }, 3)
      deepStrictEqual([...(yield* CommandQueue.read(x, Uint32Array))], [0, 0, 0, 0, 10, 11, 12, 0])
    }).pipe(Effect.provide(Host.layer())))
})

/**
 * Several queues of a host device, in cases that need the host: memory that is mapped, freed or kept while other queues
 * still work.
 */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Kernels from "../../packages/testing/src/commands/Kernels.ts"
import * as ImageFormat from "../../src/domain/images/ImageFormat.ts"
import * as ImageShape from "../../src/domain/images/ImageShape.ts"
import * as ImageUsage from "../../src/domain/images/ImageUsage.ts"
import { Host } from "../../src/host.ts"
import * as BufferLike from "../../src/services/buffers/BufferLike.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import { QueueDriver } from "../../src/services/device/QueueDriver.ts"
import { DeviceQueues } from "../../src/services/device/queues/QueueOrder.ts"
import * as Images from "../../src/services/images/Images.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"

const gpu = BufferPool.layer().pipe(Layer.provideMerge(Host.layer({ rangeItems: 1 })))

describe("several queues", () => {
  it.live("run commands of others when an image is freed whose queue has closed", () =>
    Effect.gen(function*() {
      const first = yield* CommandQueue.CommandQueue
      const y = yield* BufferPool.allocate(16)
      const [image, scope] = yield* Effect.scoped(Effect.gen(function*() {
        const queue = yield* CommandQueue.make()
        const scope = yield* Scope.make()
        const usage = ImageUsage.copySrc | ImageUsage.copyDst
        const image = yield* CommandQueue.on(
          Scope.provide(Images.make(ImageShape.image2d(2, 2), ImageFormat.rgba8, { usage }), scope),
          queue
        )
        return [image, scope] as const
      }))
      yield* first.fill(y, 7)
      yield* Images.fill(image, 1)
      yield* Scope.close(scope, Exit.void)
      yield* first.finish
      deepStrictEqual(yield* first.read(y, Uint32Array), new Uint32Array(4).fill(7))
    }).pipe(Effect.scoped, Effect.provide(gpu)))

  it.live("have ended their work on memory before the program sees it", () =>
    Effect.gen(function*() {
      const queue = yield* CommandQueue.make()
      yield* CommandQueue.on(
        BufferPool.use(
          4,
          (x) => Effect.andThen(queue.dispatch(Kernels.setTo, { y: x, value: 9 }, 1), queue.fill(x, 8))
        ),
        queue
      )
      const y = yield* BufferPool.allocate(4)
      const { bytes } = yield* Host.Host
      const view = yield* bytes(y)
      view.fill(1)
      yield* queue.finish
      deepStrictEqual([...view], [1, 1, 1, 1])
    }).pipe(Effect.scoped, Effect.provide(gpu)))

  it.live("are forgotten by memory that one owner has for long", () =>
    Effect.gen(function*() {
      yield* CommandQueue.make()
      const x = yield* BufferPool.allocate(4)
      for (let turn = 0; turn < 1000; turn++) {
        yield* Effect.scoped(Effect.flatMap(CommandQueue.make(), (queue) => queue.fill(x, turn)))
      }
      const queues = (yield* QueueDriver).order?.queues
      assert.instanceOf(queues, DeviceQueues)
      const uses = queues.usesOf(BufferLike.deviceBuffer(x)!)
      assert.isAtMost(uses.reduce((count, { former, present }) => count + present.size + former.size, 0), 2)
      strictEqual(queues.open.size, 2)
    }).pipe(Effect.scoped, Effect.provide(gpu)))

  it.live("may wait for each other in a chain of any length", () =>
    Effect.gen(function*() {
      const x = yield* BufferPool.allocate(4 * 100)
      const queues = yield* Effect.replicateEffect(CommandQueue.make(), 3000)
      let before = yield* CommandQueue.CommandQueue
      yield* before.dispatch(Kernels.busy, { y: x }, 100)
      for (const queue of queues) {
        const event = yield* before.event
        yield* queue.on(CommandQueue.after(Effect.void, [event]))
        before = queue
      }
      yield* before.finish
    }).pipe(Effect.scoped, Effect.provide(gpu)))

  it.effect("say that they are closed, and not that their device is lost", () =>
    Effect.gen(function*() {
      const late = yield* Effect.scoped(CommandQueue.make({ label: "late" }))
      strictEqual(String(late), `CommandQueue("late", closed)`)
    }).pipe(Effect.scoped, Effect.provide(gpu)))
})

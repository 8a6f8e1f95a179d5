/**
 * Programs that run while their layer closes: at whatever step that happens, the driver never gets a released handle.
 */
import { assert, it } from "@effect/vitest"
import { deepStrictEqual } from "@effect/vitest/utils"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scheduler from "effect/Scheduler"
import * as Scope from "effect/Scope"
import * as Kernels from "../../packages/testing/src/commands/Kernels.ts"
import { YieldAt } from "../../packages/testing/src/pool/Interruption.ts"
import type { GpuError } from "../../src/domain/GpuError.ts"
import * as ImageFormat from "../../src/domain/images/ImageFormat.ts"
import * as ImageShape from "../../src/domain/images/ImageShape.ts"
import * as ImageUsage from "../../src/domain/images/ImageUsage.ts"
import { OpenCl, OpenClMemory, Svm } from "../../src/opencl.ts"
import * as Allocator from "../../src/services/buffers/Allocator.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import * as Mapping from "../../src/services/buffers/mapping/Mapping.ts"
import * as SubRegion from "../../src/services/buffers/SubRegion.ts"
import * as QueueEvent from "../../src/services/device/QueueEvent.ts"
import * as Images from "../../src/services/images/Images.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import * as MemoryObjects from "../../src/services/queue/MemoryObjects.ts"
import { allocate, read } from "../support/openClDevice.ts"
import { describeWith } from "../support/required.ts"
import { watch, type Watched } from "../support/watchedOpenCl.ts"

type Services = OpenCl.Services | Allocator.Allocator | BufferPool.BufferPool
type Program = Effect.Effect<unknown, GpuError, Services | Scope.Scope>

const image = Images.make(ImageShape.image2d(4, 4), ImageFormat.rgba8)

const programs: Readonly<Record<string, Program>> = {
  "opens a queue": CommandQueue.make(),
  "opens a queue and uses it": Effect.flatMap(
    CommandQueue.make(),
    (queue) => Effect.flatMap(allocate(64), (x) => queue.on(Effect.andThen(CommandQueue.fill(x, 1), read(x))))
  ),
  "waits for another queue": Effect.flatMap(CommandQueue.make(), (queue) =>
    Effect.gen(function*() {
      const x = yield* allocate(64)
      yield* CommandQueue.fill(x, 1)
      const event = yield* CommandQueue.event
      yield* queue.on(CommandQueue.after(CommandQueue.fill(x, 2), [event]))
      yield* QueueEvent.wait(event)
    })),
  "uses a buffer": Effect.flatMap(
    allocate(64),
    (x) => Effect.andThen(CommandQueue.write(x, new Uint8Array(64)), read(x))
  ),
  "uses a lease": BufferPool.use(64, (x) => Effect.andThen(CommandQueue.fill(x, 1), CommandQueue.read(x, Uint8Array))),
  "uses a sub-region": Effect.flatMap(
    BufferPool.allocate(8192),
    (x) => Effect.flatMap(SubRegion.make(x, { offset: 4096, size: 64 }), (part) => CommandQueue.fill(part, 1))
  ),
  "gives memory of the host": MemoryObjects.fromHost(new Uint8Array(64)),
  "maps a buffer": Effect.flatMap(allocate(64), (x) => Mapping.map(x, Uint8Array, { access: "readwrite" })),
  "runs a kernel": Effect.flatMap(allocate(64), (y) => CommandQueue.dispatch(Kernels.iota, { y, start: 0 }, 16)),
  "uses an image": Effect.flatMap(image, (x) => Effect.andThen(Images.fill(x, 1), Images.read(x))),
  "maps an image": Effect.flatMap(image, (x) => Images.map(x, { access: "read" })),
  "makes a sampler": Images.sampler({ filter: "linear" }),
  "asks for formats": Images.formats(ImageUsage.sampled, "2d"),
  "lends a buffer": Effect.flatMap(allocate(64), OpenClMemory.retain),
  "adopts a buffer": Effect.flatMap(
    Effect.flatMap(allocate(64), OpenClMemory.retain),
    (memory) => Effect.flatMap(OpenClMemory.adopt(memory), (x) => CommandQueue.fill(x, 1))
  ),
  "maps shared memory": Effect.flatMap(allocate(64), (x) => Mapping.map(x, Uint8Array)).pipe(
    Effect.provide(Svm.layerAllocator())
  ),
  "sees shared memory": Effect.flatMap(allocate(64), (x) => Svm.view(x, Uint8Array)).pipe(
    Effect.provide(Svm.layerAllocator({ grain: "fine" }))
  )
}

/** Runs the program until it yields at that step, and closes its layer there. Returns whether it reached the step. */
const closedAt = Effect.fnUntraced(function*(watched: Watched, program: Program, step: number, isBusy: boolean) {
  const layer = Layer.mergeAll(Allocator.layerImmediate, BufferPool.layer()).pipe(
    Layer.provideMerge(OpenCl.layerFrom(watched.api))
  )
  const scope = yield* Scope.make()
  const services = yield* Layer.buildWithScope(Layer.fresh(layer), scope)
  const command = Effect.flatMap(allocate(2 ** 20), (x) => CommandQueue.fill(x, 1))
  if (isBusy) yield* command.pipe(Scope.provide(scope), Effect.provide(services))
  const scheduler = new YieldAt(step)
  const fiber = yield* Effect.scoped(program).pipe(
    Effect.provide(services),
    Effect.provideService(Scheduler.Scheduler, scheduler),
    Effect.forkChild({ startImmediately: true })
  )
  yield* Scope.close(scope, Exit.void)
  const exit = yield* Fiber.await(fiber)
  deepStrictEqual(watched.alive(), {}, `after a close at step ${step}`)
  if (Exit.isFailure(exit)) {
    const { reason } = Cause.squash(exit.cause) as GpuError
    assert.include(["DeviceLost", "Released"], reason?._tag, `${step}: ${Cause.pretty(exit.cause)}`)
  }
  return scheduler.reached
})

describeWith(["opencl"], "A layer that closes", () => {
  for (const [what, program] of Object.entries(programs)) {
    // Each of its many steps compiles.
    for (const isBusy of what === "runs a kernel" ? [false] : [false, true]) {
      it.live(`while a program ${what}, at any of its steps${isBusy ? ", and its queue is busy" : ""}`, () =>
        Effect.gen(function*() {
          const watched = yield* watch()
          let step = 1
          while (yield* closedAt(watched, program, step, isBusy)) step++
          assert.isAbove(step, 1)
        }))
    }
  }
})

/** The example of a backend: tests of its threads, and the program that compares it with the host. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { BufferPool, CommandQueue, DeviceContext, GpuError, Kernel, KernelArgument, SubRegion } from "effect-gpu-pool"
import { spawn } from "node:child_process"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { compare } from "../../examples/backend/Comparison.ts"
import * as Workers from "../../examples/backend/Workers.ts"

const layer = BufferPool.layer().pipe(Layer.provideMerge(Workers.layer({ threads: 2 })))

const kernelOf = (host: Kernel.HostBody<readonly [KernelArgument.VectorArg<"y", "u32">]>) =>
  Kernel.make({ name: "tried", args: [KernelArgument.VectorArg("u32", "y")], body: { host } })

const failing = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.flip(effect), (error) => {
    assert(GpuError.isGpuError(error))
    return error.reason
  })

describe("the threads of the example's backend", () => {
  it.live("share the items of a dispatch", () =>
    Effect.gen(function*() {
      const threadOfItem = kernelOf((from, to, { y }) => {
        const { threadId } = process.getBuiltinModule("node:worker_threads")
        y.fill(threadId, from, to)
      })
      const y = yield* BufferPool.allocate(4 * 100_000)
      yield* CommandQueue.dispatch(threadOfItem, { y }, 100_000)
      const threads = new Set(yield* CommandQueue.read(y, Uint32Array))
      assert.strictEqual(threads.size, 2)
      assert.notInclude([...threads], 0)
    }).pipe(Effect.scoped, Effect.provide(layer)))

  it.live("lose the device when one of them ends, and leave nothing behind", () =>
    Effect.gen(function*() {
      const ending = kernelOf(() => {
        process.exit(3)
      })
      const { driverObjects, waiting } = yield* Effect.gen(function*() {
        const { driverObjects } = yield* DeviceContext.DeviceContext
        const y = yield* BufferPool.allocate(64)
        const lost = yield* Effect.forkChild(DeviceContext.lost, { startImmediately: true })
        yield* CommandQueue.dispatch(ending, { y }, 1)
        const waits = [CommandQueue.finish, CommandQueue.read(y, Uint32Array)]
        const waiting = yield* Effect.forEach(waits, (wait) => Effect.flip(wait), { concurrency: "unbounded" })
        const late = yield* Effect.flip(CommandQueue.fill(y, 0))
        return { driverObjects, waiting: [...waiting, late, yield* Fiber.join(lost)] }
      }).pipe(Effect.scoped, Effect.provide(layer))
      for (const { reason } of waiting) {
        assert.instanceOf(reason, GpuError.DeviceLost)
        assert.include(reason.detail, "it ended with exit code 3")
      }
      assert.deepStrictEqual(driverObjects.liveByKind, {})
    }))

  it.live("have nothing of the program around a body", () =>
    Effect.gen(function*() {
      const around = 7
      const y = yield* BufferPool.allocate(16)
      yield* CommandQueue.dispatch(kernelOf((from, to, { y }) => void y.fill(around, from, to)), { y }, 4)
      const { reason } = yield* Effect.flip(CommandQueue.finish)
      assert.instanceOf(reason, GpuError.DriverError)
      assert.include(reason.log, "around is not defined")
      const given = Kernel.hostFunction(
        { around },
        ({ around }) => (from: number, to: number, { y }: { y: Uint32Array }) => {
          y.fill(around, from, to)
        }
      )
      yield* CommandQueue.dispatch(kernelOf(given), { y }, 4)
      assert.deepStrictEqual([...yield* CommandQueue.read(y, Uint32Array)], [7, 7, 7, 7])
    }).pipe(Effect.scoped, Effect.provide(layer)))

  it.live("say where the text of a body is none", () =>
    Effect.gen(function*() {
      const y = yield* BufferPool.allocate(16)
      const native = kernelOf(Math.max as () => void)
      const reason = yield* failing(CommandQueue.dispatch(native, { y }, 4))
      assert.instanceOf(reason, GpuError.DriverError)
      assert.strictEqual(reason.call, "compile")
      assert.include(reason.log, "SyntaxError")
    }).pipe(Effect.scoped, Effect.provide(layer)))

  it.live("share memory that the program can see too, for as long as it owns it", () =>
    Effect.gen(function*() {
      const { memory } = yield* Workers.Workers
      const ended = yield* Effect.scoped(Effect.gen(function*() {
        const y = yield* BufferPool.allocate(16)
        const region = yield* SubRegion.make(y, { offset: 8, size: 4 })
        yield* CommandQueue.fill(y, 0x01020304)
        yield* CommandQueue.fill(region, 0)
        yield* CommandQueue.finish
        const bytes = yield* memory(y)
        assert.instanceOf(bytes.buffer, SharedArrayBuffer)
        assert.deepStrictEqual([...bytes], [4, 3, 2, 1, 4, 3, 2, 1, 0, 0, 0, 0, 4, 3, 2, 1])
        assert.deepStrictEqual([...yield* memory(region)], [0, 0, 0, 0])
        assert.strictEqual((yield* memory(yield* BufferPool.allocate(0))).length, 0)
        return y
      }))
      assert.instanceOf(yield* failing(memory(ended)), GpuError.Released)
    }).pipe(Effect.provide(layer)))

  it.live.each([0, 1.5, NaN])("are not opened by %s threads", (threads) =>
    Effect.gen(function*() {
      const reason = yield* failing(Effect.scoped(Layer.build(Workers.layer({ threads }))))
      assert.instanceOf(reason, GpuError.InvalidRequest)
    }))
})

const run = (args: ReadonlyArray<string>) =>
  Effect.promise(async () => {
    const main = join(import.meta.dirname, "../../examples/backend/main.ts")
    const child = spawn(process.execPath, [main, ...args], { stdio: ["ignore", "pipe", "pipe"] })
    const ended = new Promise<number | null>((resolve, reject) => child.on("error", reject).on("close", resolve))
    const [status, stdout, stderr] = await Promise.all([ended, text(child.stdout), text(child.stderr)])
    return { status, stdout, stderr }
  })

describe("npm run workers", () => {
  it.live("finds the same on the host and on threads", () =>
    Effect.gen(function*() {
      const lines = yield* compare(2, { size: 100, most: 50, rounds: 1 })
      assert.deepStrictEqual(lines.map(({ name }) => name), [
        "host, the program's own thread",
        "workers, 1 thread",
        "workers, 2 threads"
      ])
      for (const { millis, ratio, same } of lines) {
        assert.isTrue(same)
        assert.isAbove(millis, 0)
        assert.isAbove(ratio, 0)
      }
    }))

  it.live("prints a line for each, with the ratio of their times", () =>
    Effect.gen(function*() {
      const { status, stderr, stdout } = yield* run(["--size=64", "--most=20", "--rounds=1", "--threads=2"])
      assert.strictEqual(status, 0, stderr)
      assert.match(
        stdout,
        /^host, .* ms +1\.00 x\nworkers, 1 thread .* ms +[\d.]+ x\nworkers, 2 threads .* ms +[\d.]+ x\n$/m
      )
    }))
})

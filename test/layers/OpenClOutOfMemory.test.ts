import { assert, it } from "@effect/vitest"
import { strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import * as BufferUsage from "../../src/domain/BufferUsage.ts"
import { OpenCl } from "../../src/opencl.ts"
import * as BufferPool from "../../src/services/BufferPool.ts"
import * as CommandQueue from "../../src/services/CommandQueue.ts"
import * as PooledBuffer from "../../src/services/PooledBuffer.ts"
import { describeWith } from "../support/required.ts"

const MiB = 2 ** 20

const setAddressSpace = (limit: number | "unlimited") => {
  execFileSync("prlimit", ["--pid", String(process.pid), `--as=${limit}:`])
}

const virtualBytes = () => 1024 * Number(/^VmSize:\s+(\d+) kB$/m.exec(readFileSync("/proc/self/status", "utf8"))![1])

/** Lets this process, which is the test file's own, take so many more bytes from the system, and no more. */
const withRoomFor = (bytes: number) =>
  Effect.acquireRelease(
    Effect.sync(() => setAddressSpace(virtualBytes() + bytes)),
    () => Effect.sync(() => setAddressSpace("unlimited"))
  )

/** Memory that PoCL takes from the system when the buffer is made: without the flag it aborts at the first touch. */
const usage = BufferUsage.defaultUsage | BufferUsage.hostMemory

const layer = BufferPool.layer({ maxBytes: 2 ** 40 }).pipe(
  Layer.provideMerge(OpenCl.layer({ platform: "Portable Computing Language" }))
)

// The one system whose processes can limit themselves.
if (process.platform === "linux") {
  describeWith(["opencl"], "Real exhaustion on PoCL", () => {
    it.live("ends as OutOfMemory, and passes when a lease is released", () =>
      Effect.gen(function*() {
        yield* withRoomFor(1024 * MiB)
        const leases: Array<PooledBuffer.PooledBuffer> = []
        let exit = yield* Effect.exit(BufferPool.allocate(192 * MiB, { usage }))
        while (Exit.isSuccess(exit) && leases.length < 100) {
          leases.push(exit.value)
          exit = yield* Effect.exit(BufferPool.allocate(192 * MiB, { usage }))
        }
        assert.isAbove(leases.length, 1)
        assert.isBelow(leases.length, 6)
        const error = yield* Effect.flip(exit)
        strictEqual(error.reason._tag, "OutOfMemory")
        assert.isTrue(error.isRetryable)
        yield* PooledBuffer.release(leases.pop()!)
        yield* CommandQueue.fill(yield* BufferPool.allocate(100 * MiB, { usage }), 1)
        yield* CommandQueue.finish
        const stats = yield* BufferPool.stats
        strictEqual(stats.activeBytes, leases.length * 192 * MiB + 100 * MiB)
      }).pipe(Effect.scoped, Effect.provide(layer)))
  })
}

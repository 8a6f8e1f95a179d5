/**
 * What a second fiber does at any step of a scene, and how the scene may then end.
 */
import { Schedules } from "effect-schedules"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as Expect from "../../packages/testing/src/Expect.ts"
import type { GpuError, Reason } from "../../src/domain/GpuError.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import type * as PooledBuffer from "../../src/services/buffers/PooledBuffer.ts"
import * as Lease from "../../src/services/lease/Lease.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import { onStage, type Scene, type Services, type Stage } from "./Stage.ts"

interface Intruder {
  readonly name: string
  readonly act: (stage: Stage, main: Fiber.Fiber<unknown, GpuError>) => Effect.Effect<unknown, GpuError, Services>
  /** The errors with which the scene may end because of the intruder. */
  readonly mayCause: ReadonlyArray<Reason["_tag"]>
  readonly interrupts?: boolean | undefined
  /** Whether the intruder needs a scene whose pools share a memory. */
  readonly needsImages?: boolean | undefined
}

/** Only the owner of a block writes this. */
const secret = 0x5ec2e7

const release = (stage: Stage) =>
  Effect.forEach(Array.from(stage.shared), (lease) => Effect.ignore(Lease.release(lease)), { discard: true })

/** Ends the scene's leases, leases their blocks, and keeps them until the scene has ended. */
const takeOver = (stage: Stage, main: Fiber.Fiber<unknown, GpuError>) =>
  Effect.scoped(Effect.gen(function*() {
    const leases = Array.from(stage.shared)
    const own: Array<PooledBuffer.PooledBuffer> = []
    for (const lease of leases) {
      yield* Effect.ignore(Lease.release(lease))
      const mine = yield* BufferPool.allocate(lease.size, { usage: lease.usage, onExhausted: "fail" })
      yield* CommandQueue.fill(mine, secret)
      own.push(mine)
    }
    yield* CommandQueue.finish
    yield* Fiber.await(main)
    for (const lease of own) {
      const found = yield* CommandQueue.read(lease, Uint32Array)
      Expect.numbers("the next owner's data", found, new Uint32Array(found.length).fill(secret))
    }
  }))

const moveAway = (stage: Stage) =>
  Effect.gen(function*() {
    const scope = yield* Scope.make()
    for (const lease of stage.shared) yield* Effect.ignore(Lease.transfer(lease, scope))
    yield* Effect.yieldNow
    yield* Scope.close(scope, Exit.void)
  })

const changeLimit = (stage: Stage) =>
  Effect.gen(function*() {
    const before = yield* stage.memory.maxBytes
    yield* stage.memory.setLimit({ maxBytes: 16 })
    yield* Effect.yieldNow
    yield* stage.memory.setLimit({ maxBytes: before })
  })

const freeHeld = (stage: Stage) =>
  Effect.gen(function*() {
    yield* stage.memory.freeHeld
    yield* stage.memory.stopHolding
    yield* stage.memory.resumeHolding
    yield* stage.memory.trimTo(0)
  })

/** The laws of a pool's counters hold at every step. */
const look = (stage: Stage) =>
  Effect.gen(function*() {
    const limit = yield* stage.memory.maxBytes
    const stats = yield* stage.memory.stats
    const { fragmentedBytes, heldBytes, managedBytes, pendingBytes, reservedBytes } = stats
    Expect.isTrue("managed and pending bytes are within the limit", managedBytes + pendingBytes <= limit)
    const promised = managedBytes - heldBytes + fragmentedBytes + pendingBytes + reservedBytes
    Expect.isTrue("leased, pending and reserved bytes are within the limit", promised <= limit)
    // A slab is one block of the driver, and several of the pool.
    Expect.isTrue("managed blocks", stats.managedBlocks <= stats.heldBlocks + stats.activeBlocks)
    Expect.equal("blocks of the driver", stats.managedBlocks, stats.driverAllocations - stats.driverFrees)
    Expect.isTrue("active bytes are managed", stats.activeBytes <= stats.managedBytes - stats.heldBytes)
  })

export const intruders: ReadonlyArray<Intruder> = [
  { name: "a look", act: look, mayCause: [] },
  { name: "an interruption", act: (_, main) => Fiber.interrupt(main), mayCause: [], interrupts: true },
  { name: "a release", act: release, mayCause: ["Released"] },
  { name: "the next owner", act: takeOver, mayCause: ["Released", "OutOfMemory"] },
  { name: "a transfer", act: moveAway, mayCause: ["Released"] },
  { name: "a change of the limit", act: changeLimit, mayCause: ["OutOfMemory", "LimitExceeded"] },
  { name: "an end of holding", act: freeHeld, mayCause: [] },
  { name: "the pool's end", act: (stage) => stage.closePool, mayCause: ["Released"] },
  {
    name: "the end of the pool beside it",
    act: (stage) => stage.closeImages,
    mayCause: ["Released"],
    needsImages: true
  },
  {
    name: "the layers' end",
    act: (stage) => Effect.andThen(stage.closePool, stage.closeDevice),
    mayCause: ["Released", "DeviceLost"]
  },
  { name: "the device's end", act: (stage) => stage.closeDevice, mayCause: ["Released", "DeviceLost"] },
  { name: "a lost device", act: (stage) => Effect.sync(() => stage.faults.lose()), mayCause: ["DeviceLost"] }
]

const isExpected = (exit: Exit.Exit<unknown, GpuError>, scene: Scene, intruder: Intruder): boolean =>
  Exit.isSuccess(exit) || exit.cause.reasons.every((reason) => {
    if (Cause.isInterruptReason(reason)) return intruder.interrupts === true
    if (!Cause.isFailReason(reason)) return false
    const tag = reason.error.reason._tag
    return intruder.mayCause.includes(tag) || scene.mayFail?.includes(tag) === true
  })

/** The scene, with the intruder at any step of it. */
export const intruded = (scene: Scene, intruder: Intruder): Effect.Effect<void, GpuError> =>
  onStage(scene, (stage, program) =>
    Effect.gen(function*() {
      // A failure of the intruder itself, as on a closed pool, does not matter.
      const act = (main: Fiber.Fiber<unknown, GpuError>) => Effect.ignore(intruder.act(stage, main))
      const exit = yield* Effect.exit(Schedules.withIntruder(program, act))
      if (isExpected(exit, scene, intruder)) return
      return yield* Effect.die(new Expect.Mismatch({ message: `unexpected end: ${String(exit)}` }))
    }))

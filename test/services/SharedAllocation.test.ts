import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Exit from "effect/Exit"
import * as fc from "fast-check"
import * as BufferUsage from "../../src/domain/BufferUsage.ts"
import * as MemorySpan from "../../src/domain/data/MemorySpan.ts"
import { DeviceStatus } from "../../src/domain/device/DeviceStatus.ts"
import { GpuError } from "../../src/domain/GpuError.ts"
import * as Kernel from "../../src/domain/kernel/Kernel.ts"
import { VectorArg } from "../../src/domain/kernel/KernelArgument.ts"
import * as BufferProblems from "../../src/services/buffers/BufferProblems.ts"
import * as MappedMemory from "../../src/services/buffers/mapping/MappedMemory.ts"
import { DeviceBuffer } from "../../src/services/device/DeviceBuffer.ts"
import { DeviceQueues, type OrderedQueue } from "../../src/services/device/queues/QueueOrder.ts"
import { bind } from "../../src/services/queue/BoundArguments.ts"
import { info } from "../support/someDevice.ts"

/** A buffer of an allocator that cuts one allocation of the driver into several buffers. */
class ArenaBuffer extends DeviceBuffer {
  readonly #arena: object
  readonly #at: number

  constructor(arena: object, at: number, bytes: number) {
    super(info, bytes, BufferUsage.defaultUsage, undefined)
    this.#arena = arena
    this.#at = at
  }

  override get allocation(): object {
    return this.#arena
  }

  override get begin(): number {
    return this.#at
  }
}

/** Two buffers of 64 bytes of one allocation, apart or with bytes in common. */
const twoBuffers = fc.nat(32).map((words) => {
  const arena = {}
  return { one: new ArenaBuffer(arena, 0, 64), other: new ArenaBuffer(arena, words * 4, 64), isApart: words >= 16 }
})

const kernel = Kernel.make({
  name: "k",
  args: [VectorArg("u32", "x", { access: "read" }), VectorArg("u32", "y", { access: "readwrite" })],
  body: {}
})

/** A queue that runs nothing, and records for which queues it waits. */
const queueOf = (waits: Array<OrderedQueue>): OrderedQueue => ({
  positionUnsafe: () => 1,
  endedUnsafe: () => 0,
  flushUnsafe: () => Exit.void,
  markUnsafe: () => {},
  waitForUnsafe: (other) => {
    waits.push(other)
    return Exit.void
  }
})

describe("buffers of one allocation", () => {
  it("are copied and dispatched together unless they overlap", () =>
    fc.assert(fc.property(twoBuffers, ({ isApart, one, other }) => {
      strictEqual(BufferProblems.copyProblem("copy", one, other) === undefined, isApart)
      const bound = bind(kernel, { x: one, y: other }, 1, { info, status: new DeviceStatus("a device") })
      strictEqual(bound instanceof GpuError, !isApart)
    })))

  it("are mapped and used at the same time unless they overlap", () =>
    fc.assert(fc.property(twoBuffers, fc.boolean(), fc.boolean(), ({ isApart, one, other }, writes, reads) => {
      const mapping = { ...MemorySpan.part(one, 0, 64), writes }
      const second = { ...MemorySpan.part(other, 0, 64), writes: true }
      MappedMemory.add(mapping)
      strictEqual(MappedMemory.conflicts(second), !isApart)
      const problem = MappedMemory.problem("command", other, reads, () => "the buffer")
      strictEqual(problem === undefined, isApart || (reads && !writes))
      MappedMemory.remove(mapping)
      strictEqual(MappedMemory.conflicts(second), false)
      strictEqual(MappedMemory.problem("command", other, false, () => "the buffer"), undefined)
    })))

  it("are lost apart where a program takes the memory of one", () =>
    fc.assert(fc.property(twoBuffers, ({ isApart, one, other }) => {
      MappedMemory.take(one)
      deepStrictEqual([MappedMemory.isTaken(one), MappedMemory.isTaken(other)], [true, !isApart])
    })))

  it("wait for former owners on other queues only where they overlap", () =>
    fc.assert(fc.property(twoBuffers, ({ isApart, one, other }) => {
      const queues = new DeviceQueues()
      const waits: Array<OrderedQueue> = []
      const first = queues.add(queueOf([]), undefined)
      const second = queues.add(queueOf(waits), undefined)
      first.recorded({ buffers: [one] }, 1)
      queues.handOver(one)
      assert.isTrue(Exit.isSuccess(second.before({ buffers: [other] })))
      deepStrictEqual(waits, isApart ? [] : [first.queue])
    })))
})

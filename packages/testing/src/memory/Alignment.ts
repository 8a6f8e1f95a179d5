/**
 * Offsets and lengths that are no multiples of 4. A device refuses them unless it was opened to allow them.
 * `DeviceInfo.limits.copyAlignment` says which it is.
 *
 * @internal
 */
import { BufferPool, CommandQueue, Mapping } from "effect-gpu-pool"
import type { PooledBuffer } from "effect-gpu-pool/BufferPool"
import { DeviceContext } from "effect-gpu-pool/DeviceContext"
import type { GpuError } from "effect-gpu-pool/GpuError"
import * as Effect from "effect/Effect"
import { type ConformanceTest, inGroup, type TestServices } from "../ConformanceTest.ts"
import * as Expect from "../Expect.ts"
import { expectUsable } from "./BadRequests.ts"

const test = inGroup("alignment")

/** The number of which the device under test requires offsets and lengths to be multiples. */
export const copyAlignment: Effect.Effect<number, never, DeviceContext> = DeviceContext.useSync(({ info }) =>
  info.limits.copyAlignment
)

type Call = (x: PooledBuffer, y: PooledBuffer) => Effect.Effect<unknown, GpuError, TestServices>

/** A call on two buffers of 62 bytes, the first with its bytes counted up, and what the call leaves in them or returns. */
interface Case {
  readonly name: string
  /** The message of a device that allows only multiples of 4. */
  readonly problem: string
  readonly call: Call
  readonly leaves: (x: Uint8Array, y: Uint8Array) => Uint8Array | void
}

const cases: ReadonlyArray<Case> = [
  {
    name: "a write at byte 2",
    problem: "offset 2 is no multiple of 4 bytes",
    call: (x) => CommandQueue.write(x, Uint8Array.of(201, 202, 203, 204), { offset: 2 }),
    leaves: (x) => x.set([201, 202, 203, 204], 2)
  },
  {
    name: "a write of 3 bytes",
    problem: "the length of 3 bytes is no multiple of 4 bytes and does not end where the buffer of 62 bytes ends",
    call: (x) => CommandQueue.write(x, Uint8Array.of(201, 202, 203), { offset: 4 }),
    leaves: (x) => x.set([201, 202, 203], 4)
  },
  {
    name: "a read from byte 3",
    problem: "offset 3 is no multiple of 4 bytes",
    call: (x) => CommandQueue.read(x, Uint8Array, { offset: 3, length: 4 }),
    leaves: (x) => x.slice(3, 7)
  },
  {
    name: "a read of 5 bytes",
    problem: "the length of 5 bytes is no multiple of 4 bytes and does not end where the buffer of 62 bytes ends",
    call: (x) => CommandQueue.read(x, Uint8Array, { offset: 8, length: 5 }),
    leaves: (x) => x.slice(8, 13)
  },
  {
    name: "a read into an array from byte 1",
    problem: "offset 1 is no multiple of 4 bytes",
    call: (x) => {
      const target = new Uint8Array(7)
      return Effect.as(CommandQueue.readInto(x, target, { offset: 1 }), target)
    },
    leaves: (x) => x.slice(1, 8)
  },
  {
    name: "a copy from byte 1",
    problem: "sourceOffset 1 is no multiple of 4 bytes",
    call: (x, y) => CommandQueue.copy(x, y, { sourceOffset: 1, size: 4 }),
    leaves: (x, y) => y.set(x.subarray(1, 5))
  },
  {
    name: "a copy to byte 3",
    problem: "targetOffset 3 is no multiple of 4 bytes",
    call: (x, y) => CommandQueue.copy(x, y, { targetOffset: 3, size: 4 }),
    leaves: (x, y) => y.set(x.subarray(0, 4), 3)
  },
  {
    name: "a copy of 7 bytes",
    problem: "the length of 7 bytes is no multiple of 4 bytes and does not end where the source of 62 bytes ends",
    call: (x, y) => CommandQueue.copy(x, y, { size: 7 }),
    leaves: (x, y) => y.set(x.subarray(0, 7))
  },
  {
    name: "a copy that ends at the source's size, and not at the target's",
    problem: "the length of 2 bytes is no multiple of 4 bytes and does not end where the target of 62 bytes ends",
    call: (x, y) => CommandQueue.copy(x, y, { sourceOffset: 60 }),
    leaves: (x, y) => y.set(x.subarray(60))
  },
  {
    name: "a fill from byte 5",
    problem: "offset 5 is no multiple of 4 bytes",
    call: (x) => CommandQueue.fill(x, Uint8Array.of(99), { offset: 5, size: 9 }),
    leaves: (x) => {
      x.fill(99, 5, 14)
    }
  },
  {
    name: "a fill of 6 bytes with pairs from byte 2",
    problem: "offset 2 is no multiple of 4 bytes",
    call: (x) => CommandQueue.fill(x, Uint8Array.of(98, 99), { offset: 2, size: 6 }),
    leaves: (x) => x.set([98, 99, 98, 99, 98, 99], 2)
  },
  {
    name: "a rectangle from byte 1 to byte 2, of rows of 3 bytes",
    problem: "region's row length 3 is no multiple of 4 bytes",
    call: (x, y) =>
      CommandQueue.copyRect(x, y, {
        region: [3, 2],
        source: { origin: [1], rowPitch: 5 },
        target: { origin: [2], rowPitch: 7 }
      }),
    leaves: (x, y) => {
      y.set(x.subarray(1, 4), 2)
      y.set(x.subarray(6, 9), 9)
    }
  },
  {
    name: "a rectangle that is written from byte 1 on",
    problem: "buffer.origin's byte 1 is no multiple of 4 bytes",
    call: (x) =>
      CommandQueue.writeRect(x, new Uint8Array(8).fill(77), { region: [4, 2], buffer: { origin: [1], rowPitch: 6 } }),
    leaves: (x) => {
      x.fill(77, 1, 5)
      x.fill(77, 7, 11)
    }
  },
  {
    name: "a rectangle that is read with a row pitch of 10",
    problem: "buffer.rowPitch 10 is no multiple of 4 bytes",
    call: (x) => CommandQueue.readRect(x, Uint8Array, { region: [4, 2], buffer: { rowPitch: 10 } }),
    leaves: (x) => Uint8Array.of(...x.subarray(0, 4), ...x.subarray(10, 14))
  },
  {
    name: "a rectangle that is read into an array with a slice pitch of 9",
    problem: "region's row length 9 is no multiple of 4 bytes",
    call: (x) => {
      const target = new Uint8Array(18)
      return Effect.as(CommandQueue.readRectInto(x, target, { region: [9, 1, 2], buffer: { slicePitch: 9 } }), target)
    },
    leaves: (x) => x.slice(0, 18)
  }
]

const refusedOrDone = ({ call, leaves, name, problem }: Case) =>
  Effect.gen(function*() {
    const expected = [Uint8Array.from({ length: 62 }, (_, at) => at), new Uint8Array(62).fill(255)] as const
    const [x, y] = [yield* BufferPool.allocate(62), yield* BufferPool.allocate(62)]
    yield* CommandQueue.write(x, expected[0])
    yield* CommandQueue.write(y, expected[1])
    if ((yield* copyAlignment) === 4) {
      const reason = yield* Expect.refused(name, call(x, y))
      Expect.equal("the problem", reason.problem, problem)
      yield* expectUsable
      return
    }
    const given = yield* call(x, y)
    const read = leaves(...expected)
    if (read !== undefined) Expect.numbers(name, given as Uint8Array, read)
    Expect.numbers(`the first buffer after ${name}`, yield* CommandQueue.read(x, Uint8Array), expected[0])
    Expect.numbers(`the second buffer after ${name}`, yield* CommandQueue.read(y, Uint8Array), expected[1])
  })

const limits = Effect.gen(function*() {
  const { limits } = yield* DeviceContext.useSync(({ info }) => info)
  Expect.isTrue(`${limits.copyAlignment} is 1 or 4`, [1, 4].includes(limits.copyAlignment))
  Expect.isTrue("the alignment is not below the least one", limits.copyAlignment >= limits.leastCopyAlignment)
})

export const tests: ReadonlyArray<ConformanceTest> = [
  ...cases.map((one) => test(`${one.name} is refused, or done where a device can`, refusedOrDone(one))),
  test("the limits say which it is", { counting: true }, limits),
  /** Typed arrays over device memory need multiples of 4 on every device. */
  test("mappings keep to multiples of 4", { counting: true }, function*() {
    const x = yield* BufferPool.allocate(62)
    yield* Expect.refused("from byte 2", Mapping.map(x, Uint8Array, { offset: 2 }))
    yield* Expect.refused("of 6 bytes", Mapping.map(x, Uint8Array, { shape: [6] }))
  })
]

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
type Case = readonly [name: string, call: Call, leaves: (x: Uint8Array, y: Uint8Array) => Uint8Array | void]

const cases: ReadonlyArray<Case> = [
  [
    "a write at byte 2",
    (x) => CommandQueue.write(x, Uint8Array.of(201, 202, 203, 204), { offset: 2 }),
    (x) => x.set([201, 202, 203, 204], 2)
  ],
  [
    "a write of 3 bytes",
    (x) => CommandQueue.write(x, Uint8Array.of(201, 202, 203), { offset: 4 }),
    (x) => x.set([201, 202, 203], 4)
  ],
  [
    "a read from byte 3",
    (x) => CommandQueue.read(x, Uint8Array, { offset: 3, length: 4 }),
    (x) => x.slice(3, 7)
  ],
  [
    "a read of 5 bytes",
    (x) => CommandQueue.read(x, Uint8Array, { offset: 8, length: 5 }),
    (x) => x.slice(8, 13)
  ],
  [
    "a read into an array from byte 1",
    (x) => {
      const target = new Uint8Array(7)
      return Effect.as(CommandQueue.readInto(x, target, { offset: 1 }), target)
    },
    (x) => x.slice(1, 8)
  ],
  [
    "a copy from byte 1",
    (x, y) => CommandQueue.copy(x, y, { sourceOffset: 1, size: 4 }),
    (x, y) => y.set(x.subarray(1, 5))
  ],
  [
    "a copy to byte 3",
    (x, y) => CommandQueue.copy(x, y, { targetOffset: 3, size: 4 }),
    (x, y) => y.set(x.subarray(0, 4), 3)
  ],
  [
    "a copy of 7 bytes",
    (x, y) => CommandQueue.copy(x, y, { size: 7 }),
    (x, y) => y.set(x.subarray(0, 7))
  ],
  [
    "a copy that ends at the source's size, and not at the target's",
    (x, y) => CommandQueue.copy(x, y, { sourceOffset: 60 }),
    (x, y) => y.set(x.subarray(60))
  ],
  [
    "a fill from byte 5",
    (x) => CommandQueue.fill(x, Uint8Array.of(99), { offset: 5, size: 9 }),
    (x) => {
      x.fill(99, 5, 14)
    }
  ],
  [
    "a fill of 6 bytes with pairs from byte 2",
    (x) => CommandQueue.fill(x, Uint8Array.of(98, 99), { offset: 2, size: 6 }),
    (x) => x.set([98, 99, 98, 99, 98, 99], 2)
  ],
  [
    "a rectangle from byte 1 to byte 2, of rows of 3 bytes",
    (x, y) =>
      CommandQueue.copyRect(x, y, {
        region: [3, 2],
        source: { origin: [1], rowPitch: 5 },
        target: { origin: [2], rowPitch: 7 }
      }),
    (x, y) => {
      y.set(x.subarray(1, 4), 2)
      y.set(x.subarray(6, 9), 9)
    }
  ],
  [
    "a rectangle that is written from byte 1 on",
    (x) =>
      CommandQueue.writeRect(x, new Uint8Array(8).fill(77), { region: [4, 2], buffer: { origin: [1], rowPitch: 6 } }),
    (x) => {
      x.fill(77, 1, 5)
      x.fill(77, 7, 11)
    }
  ],
  [
    "a rectangle that is read with a row pitch of 10",
    (x) => CommandQueue.readRect(x, Uint8Array, { region: [4, 2], buffer: { rowPitch: 10 } }),
    (x) => Uint8Array.of(...x.subarray(0, 4), ...x.subarray(10, 14))
  ],
  [
    "a rectangle that is read into an array with a slice pitch of 9",
    (x) => {
      const target = new Uint8Array(18)
      return Effect.as(CommandQueue.readRectInto(x, target, { region: [9, 1, 2], buffer: { slicePitch: 9 } }), target)
    },
    (x) => x.slice(0, 18)
  ]
]

const refusedOrDone = ([name, call, leaves]: Case) =>
  Effect.gen(function*() {
    const expected = [Uint8Array.from({ length: 62 }, (_, at) => at), new Uint8Array(62).fill(255)] as const
    const [x, y] = [yield* BufferPool.allocate(62), yield* BufferPool.allocate(62)]
    yield* CommandQueue.write(x, expected[0])
    yield* CommandQueue.write(y, expected[1])
    if ((yield* copyAlignment) === 4) {
      yield* Expect.refused(name, call(x, y))
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
  ...cases.map((one) => test(`${one[0]} is refused, or done where a device can`, refusedOrDone(one))),
  test("the limits say which it is", { counting: true }, limits),
  /** Typed arrays over device memory need multiples of 4 on every device. */
  test("mappings keep to multiples of 4", { counting: true }, function*() {
    const x = yield* BufferPool.allocate(62)
    yield* Expect.refused("from byte 2", Mapping.map(x, Uint8Array, { offset: 2 }))
    yield* Expect.refused("of 6 bytes", Mapping.map(x, Uint8Array, { shape: [6] }))
  })
]

/**
 * Staged arrays in one slab: each is an ArrayBuffer of its own, so that no program sees or takes what is beside its array, and the device
 * uses one of them while the program has another. Where memory is mapped as a whole, each has a block of its own.
 *
 * @internal
 */
import { CommandQueue, Lease, StagingPool } from "effect-gpu-pool"
import { PoolStrategy } from "effect-gpu-pool/allocators"
import { DeviceContext } from "effect-gpu-pool/DeviceContext"
import * as Effect from "effect/Effect"
import { type ConformanceTest, inGroup, scaled, type TestServices } from "../ConformanceTest.ts"
import * as Expect from "../Expect.ts"
import { written } from "../pool/Leases.ts"
import { counted, staged } from "./Staging.ts"

const test = inGroup("staging memory")

/** With a pool on slabs, or on blocks where the backend splits no memory. */
const inSlabs = <A, E>(program: Effect.Effect<A, E, TestServices | StagingPool.StagingPool>) =>
  Effect.flatMap(
    DeviceContext,
    ({ partUnsafe }) => staged(program, partUnsafe === undefined ? {} : { strategy: PoolStrategy.arena() })
  )

const directions = ["upload", "download", "both"] as const

const apart = Effect.gen(function*() {
  const x = yield* written(counted(256, 3))
  const arrays: Array<StagingPool.StagedArray<Uint8Array>> = []
  for (const direction of directions) {
    for (let n = 0; n < 3; n++) arrays.push(yield* StagingPool.allocate(252, Uint8Array, { direction }))
  }
  const { info: { traits }, partUnsafe } = yield* DeviceContext
  const { driverAllocations } = yield* StagingPool.stats
  const blocks = partUnsafe !== undefined && traits.stagesBothWays ? 1 : 9
  Expect.equal("driver allocations for nine arrays", driverAllocations, blocks)
  for (const array of arrays) {
    if (array.direction === "download") yield* StagingPool.download(x, array)
    else array.data.set(counted(252, 3))
  }
  const memories = arrays.map(({ data }) => data.buffer)
  Expect.equal("ArrayBuffers", new Set(memories).size, 9)
  for (const { byteLength } of memories) Expect.equal("bytes that an ArrayBuffer shows", byteLength, 252)
  // Each is used and ended while the program has the others.
  while (arrays.length > 0) {
    const array = arrays.splice(Math.floor(arrays.length / 2), 1)[0]!
    if (array.direction !== "download") yield* StagingPool.upload(array, x)
    if (array.direction !== "upload") yield* StagingPool.download(x, array)
    const { data } = array
    yield* Lease.release(array.lease)
    Expect.equal("elements of one that ended", data.length, 0)
    for (const other of arrays) Expect.numbers("elements of another", other.data, counted(252, 3))
    Expect.numbers("what is on the device", yield* CommandQueue.read(x, Uint8Array), counted(256, 3))
  }
})

/** Owners in one slab at the same time, of all directions and many sizes. */
const owners = Effect.gen(function*() {
  const rounds = yield* scaled(12, 2)
  const owner = (number: number) =>
    Effect.gen(function*() {
      for (let round = 0; round < rounds; round++) {
        const bytes = 4 * (1 + (number * 37 + round * 11) % 120)
        yield* Effect.scoped(Effect.gen(function*() {
          const x = yield* written(new Uint8Array(bytes))
          const mine = counted(bytes, number * rounds + round)
          const sent = yield* StagingPool.allocate(bytes, Uint8Array, {
            direction: round % 2 === 0 ? "both" : "upload"
          })
          const got = yield* StagingPool.allocate(bytes, Uint8Array, {
            direction: round % 3 === 0 ? "both" : "download"
          })
          sent.data.set(mine)
          yield* StagingPool.upload(sent, x)
          yield* StagingPool.download(x, got)
          Expect.numbers(`what owner ${number} got in round ${round}`, got.data, mine)
          yield* Effect.yieldNow
          Expect.numbers(`what owner ${number} has in round ${round}`, got.data, mine)
        }))
      }
    })
  yield* Effect.forEach([1, 2, 3, 4, 5, 6, 7, 8], owner, { concurrency: "unbounded", discard: true })
})

/** The ArrayBuffer of one array is transferred away, by a way that programs have in spite of everything. */
const taken = Effect.gen(function*() {
  const x = yield* written(counted(256, 3))
  for (const direction of ["upload", "both"] as const) {
    const first = yield* StagingPool.allocate(252, Uint8Array, { direction })
    const second = yield* StagingPool.allocate(252, Uint8Array, { direction })
    first.data.fill(1)
    second.data.fill(2)
    let memory: Uint8Array | undefined
    try {
      memory = new Uint8Array(structuredClone(first.data.buffer, { transfer: [first.data.buffer] }))
    } catch {
      // This engine lets nobody transfer it.
    }
    Expect.numbers(
      `the elements beside those taken from an array for ${direction}`,
      second.data,
      new Uint8Array(252).fill(2)
    )
    if (memory !== undefined) {
      yield* Expect.refused(`an upload of what was taken, ${direction}`, StagingPool.upload(first, x))
    }
    yield* StagingPool.upload(second, x)
    Expect.numbers(
      `what the neighbour sent, ${direction}`,
      yield* CommandQueue.read(x, Uint8Array, { length: 252 }),
      new Uint8Array(252).fill(2)
    )
    const third = yield* StagingPool.allocate(252, Uint8Array, { direction })
    third.data.fill(3)
    yield* StagingPool.upload(third, x)
    memory?.fill(9)
    Expect.numbers(
      `what the next owner sent, ${direction}`,
      yield* CommandQueue.read(x, Uint8Array, { length: 252 }),
      new Uint8Array(252).fill(3)
    )
    if (memory !== undefined) Expect.numbers(`what was taken, ${direction}`, memory, new Uint8Array(252).fill(9))
  }
})

/** @internal */
export const tests: ReadonlyArray<ConformanceTest> = [
  test("arrays in one slab are apart, and each is used while the program has the others", inSlabs(apart)),
  test("no owner sees another one's bytes in a slab", inSlabs(owners)),
  test("the array beside one that was transferred away stays as it was", inSlabs(taken))
]

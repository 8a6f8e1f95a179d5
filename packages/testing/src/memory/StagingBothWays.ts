/**
 * Staged arrays that are uploaded and downloaded, as PyCUDA's page-locked arrays are: they keep their elements, and show what was
 * downloaded last.
 *
 * @internal
 */
import { BufferPool, BufferUsage, CommandQueue, Lease, Mapping, StagingPool } from "effect-gpu-pool"
import { DeviceContext } from "effect-gpu-pool/DeviceContext"
import type { GpuError } from "effect-gpu-pool/GpuError"
import * as Effect from "effect/Effect"
import { type ConformanceTest, inGroup, scaled } from "../ConformanceTest.ts"
import * as Expect from "../Expect.ts"
import { interruptedAt } from "../pool/Interruption.ts"
import { written } from "../pool/Leases.ts"
import { counted, staged } from "./Staging.ts"

const test = inGroup("staging memory")

const both = { direction: "both" } as const

const thereAndBack = Effect.gen(function*() {
  const x = yield* written(new Uint8Array(64))
  const y = yield* written(new Uint8Array(64))
  const array = yield* StagingPool.allocate([2, 4], Float32Array, { ...both, order: "F" })
  Expect.equal("its direction", array.direction, "both")
  for (let round = 1; round <= 3; round++) {
    const sent = Float32Array.from({ length: 8 }, (_, at) => round * at)
    array.data.set(sent)
    yield* StagingPool.upload(array, x, { offset: 32 })
    Expect.numbers(`the elements after upload ${round}`, array.data, sent)
    yield* StagingPool.upload(array, y)
    yield* CommandQueue.fill(x, round, { offset: 48 })
    yield* StagingPool.download(x, array, { offset: 32 })
    Expect.numbers(`the first elements of download ${round}`, array.data.subarray(0, 4), sent.subarray(0, 4))
    Expect.numbers(
      `the last ones of download ${round}`,
      new Uint32Array(array.data.slice(4).buffer),
      new Uint32Array(4).fill(round)
    )
    array.setUnsafe(-round, 1, 0)
    yield* StagingPool.upload(array, x, { offset: 32 })
    Expect.equal(
      `an element that was stored after download ${round}`,
      (yield* CommandQueue.read(x, Float32Array, { offset: 36, length: 1 }))[0],
      -round
    )
    Expect.numbers(
      `what else was uploaded in round ${round}`,
      yield* CommandQueue.read(y, Float32Array, { length: 8 }),
      sent
    )
  }
})

/** Commands that know nothing of staging memory take the staged array as a typed array. */
const asHostData = Effect.gen(function*() {
  const x = yield* written(counted(32, 1))
  const array = yield* StagingPool.allocate(32, Uint8Array, both)
  yield* CommandQueue.readInto(x, array.data)
  Expect.numbers("what was read into it", array.data, counted(32, 1))
  array.data.fill(5)
  yield* CommandQueue.write(x, array.data)
  Expect.numbers("what was written from it", yield* CommandQueue.read(x, Uint8Array), new Uint8Array(32).fill(5))
  yield* Expect.refused("a command on its memory while it is mapped", CommandQueue.copy(array.lease, x))
  yield* Expect.refused("a mapping of it", Effect.scoped(Mapping.map(array.lease, Uint8Array)))
})

/** Lengths that are no multiples of 4 end with the buffer, as with the other directions. */
const anyLength = Effect.gen(function*() {
  for (const length of [0, 1, 6, 13]) {
    const x = yield* written(counted(8 + length, 1))
    const array = yield* StagingPool.allocate(length, Uint8Array, both)
    yield* StagingPool.download(x, array, { offset: 8 })
    Expect.numbers(`${length} bytes`, array.data, counted(length, 9))
    array.data.fill(7)
    yield* StagingPool.upload(array, x, { offset: 8 })
    Expect.numbers(`after ${length} bytes`, yield* CommandQueue.read(x, Uint8Array), [
      ...counted(8, 1),
      ...new Uint8Array(length).fill(7)
    ])
  }
})

/** What only the program may not read can be downloaded in each direction that downloads. */
const hidden = Effect.gen(function*() {
  const x = yield* BufferPool.allocate(16, { usage: BufferUsage.defaultUsage | BufferUsage.hostNoAccess })
  yield* CommandQueue.fill(x, 6)
  for (const direction of ["download", "both"] as const) {
    const array = yield* StagingPool.allocate(4, Uint32Array, { direction })
    yield* StagingPool.download(x, array)
    Expect.numbers(`of an array for ${direction}`, array.data, [6, 6, 6, 6])
  }
})

const refusals = Effect.gen(function*() {
  const x = yield* written(counted(64, 0))
  const array = yield* StagingPool.allocate(16, Uint32Array, both)
  array.data.fill(3)
  yield* Expect.refused("a download from past the end", StagingPool.download(x, array, { offset: 4 }))
  yield* Expect.refused("an upload past the end", StagingPool.upload(array, x, { offset: 4 }))
  yield* Expect.refused("a download from half a number", StagingPool.download(x, array, { offset: 2.5 }))
  Expect.numbers("the elements after what was refused", array.data, new Uint32Array(16).fill(3))
  yield* Lease.release(x)
  yield* Expect.failsWith("a download of a released buffer", StagingPool.download(x, array), "Released")
  Expect.numbers("the elements after that", array.data, new Uint32Array(16).fill(3))
  const y = yield* written(counted(64, 0))
  const { data } = array
  yield* Lease.release(array.lease)
  Expect.equal("elements after its release", data.length, 0)
  yield* Expect.failsWith("a download to a released array", StagingPool.download(y, array), "Released")
  yield* Expect.failsWith("an upload of it", StagingPool.upload(array, y), "Released")
})

/** A download uses nothing of a full pool, so it waits for nobody: not even for the array's own owner. */
const inFullPool = Effect.gen(function*() {
  const x = yield* written(counted(1024, 2))
  const array = yield* StagingPool.allocate(1024, Uint8Array, both)
  yield* StagingPool.download(x, array)
  Expect.numbers("what was downloaded", array.data, counted(1024, 2))
  const { activeBytes, waiters } = yield* StagingPool.stats
  Expect.same("leased and waiting", [activeBytes, waiters], [1024, 0])
})

/** Where a download goes through other memory of the pool, that is used again. */
const reused = Effect.gen(function*() {
  const { info: { traits } } = yield* DeviceContext
  const x = yield* written(counted(64, 2))
  const array = yield* StagingPool.allocate(64, Uint8Array, both)
  for (let round = 0; round < 4; round++) yield* StagingPool.download(x, array)
  const { hits, misses } = yield* StagingPool.stats
  Expect.same("hits and misses", [hits, misses], traits.stagesBothWays ? [0, 1] : [3, 2])
})

/** An interrupted transfer may leave no elements. A later download brings them back, and then all goes on. */
const afterInterruption = Effect.gen(function*() {
  const x = yield* written(counted(64, 4))
  const most = yield* scaled(60, 12)
  const transfers: Readonly<
    Record<
      string,
      (array: StagingPool.StagedArray<Uint8Array>) => Effect.Effect<void, GpuError, CommandQueue.CommandQueue>
    >
  > = {
    upload: (array) => StagingPool.upload(array, x),
    download: (array) => StagingPool.download(x, array)
  }
  for (let step = 0; step < most; step++) {
    for (const [direction, names] of [["both", ["upload", "download"]], ["download", ["download"]]] as const) {
      for (const name of names) {
        yield* Effect.scoped(Effect.gen(function*() {
          const array = yield* StagingPool.allocate(64, Uint8Array, { direction })
          if (direction === "both") array.data.set(counted(64, 4))
          for (const times of [1, 2]) {
            yield* interruptedAt(transfers[name]!(array), step)
            yield* StagingPool.download(x, array)
            const what = `${direction}, after ${times} times an ${name} that ended at step ${step}`
            Expect.numbers(what, array.data, counted(64, 4))
          }
          if (direction === "both") yield* StagingPool.upload(array, x)
        }))
      }
    }
  }
})

/** @internal */
export const tests: ReadonlyArray<ConformanceTest> = [
  test("an array goes both ways: what is uploaded stays, and what is downloaded arrives", staged(thereAndBack)),
  test("commands take the elements", staged(asHostData)),
  test("any number of bytes goes there and back", staged(anyLength)),
  test("buffers that the program cannot read can be downloaded", staged(hidden)),
  test("a refused transfer leaves the elements of an array that goes both ways", staged(refusals)),
  test(
    "a download to an array that goes both ways in a full pool waits for no memory",
    staged(inFullPool, { maxBytes: 1024, onExhausted: "wait", deadlockTimeout: Infinity })
  ),
  test("downloads to an array that goes both ways use the same memory again", { counting: true }, staged(reused)),
  test("after an interrupted transfer the next download brings the elements", staged(afterInterruption))
]

/**
 * Arrays over lent memory that a program transfers away: the program never sees another owner's bytes, and no other
 * owner sees the program's, whatever the mapping and however it ends.
 *
 * @internal
 */
import { BufferPool, BufferUsage, CommandQueue, Lease, Mapping, StagingPool } from "effect-gpu-pool"
import type { PooledBuffer } from "effect-gpu-pool/BufferPool"
import { DeviceContext } from "effect-gpu-pool/DeviceContext"
import type { GpuError } from "effect-gpu-pool/GpuError"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Scope from "effect/Scope"
import { type ConformanceTest, type Device, inGroup } from "../ConformanceTest.ts"
import * as Expect from "../Expect.ts"
import { filled, written } from "../pool/Leases.ts"

const test = inGroup("taken memory")
const counting = inGroup("taken memory", { counting: true })

type Pools = Device | BufferPool.BufferPool | StagingPool.StagingPool

const bytes = 256

/** A pattern of `bytes` equal bytes. */
const same = (value: number): Uint8Array<ArrayBuffer> => new Uint8Array(bytes).fill(value)

/** Moves the memory of an array elsewhere, unless the engine lacks or forbids this way. */
type Take = (array: ArrayBufferView) => void

/** Lends memory in some way, passes the array to `take`, and ends the loan. Fails with the error of that end. */
type Lending = (take: Take) => Effect.Effect<unknown, GpuError, Pools>

const mapped = (
  make: Effect.Effect<PooledBuffer, GpuError, Pools | Scope.Scope>,
  access: Mapping.MapAccess
): Lending =>
(take) =>
  Effect.scoped(Effect.gen(function*() {
    const mapped = yield* Mapping.map(yield* make, Uint8Array, { access })
    take(mapped.data)
    yield* Mapping.unmap(mapped)
  }))

const ordinary = filled(bytes, 0x01010101)

const staging = (usage: BufferUsage.BufferUsage) => BufferPool.allocate(bytes, { usage })

const viewed: Lending = (take) =>
  Effect.scoped(
    Effect.flatMap(ordinary, (x) => CommandQueue.readView(x, Uint8Array, (view) => Effect.sync(() => take(view))))
  )

const uploaded: Lending = (take) =>
  Effect.scoped(Effect.flatMap(ordinary, (x) =>
    StagingPool.use(bytes, Uint8Array, (array) => {
      array.data.fill(1)
      take(array.data)
      return StagingPool.upload(array, x)
    })))

/** The second download must first end the mapping of the one before. */
const downloaded: Lending = (take) =>
  Effect.scoped(Effect.flatMap(ordinary, (x) =>
    StagingPool.use(bytes, Uint8Array, (array) =>
      Effect.gen(function*() {
        yield* StagingPool.download(x, array)
        take(array.data)
        yield* StagingPool.download(x, array)
      }), { direction: "download" })))

const read = mapped(ordinary, "read")
const downloadedMapping = mapped(staging(BufferUsage.download), "read")

/** Loans that store nothing. */
const reads: ReadonlySet<Lending> = new Set([read, downloadedMapping, viewed, downloaded])

const lendings: Readonly<Record<string, Lending>> = {
  "a mapping to read": read,
  "a mapping to write": mapped(ordinary, "write"),
  "a mapping to read and write": mapped(ordinary, "readwrite"),
  "a mapping of memory to upload": mapped(staging(BufferUsage.upload), "write"),
  "a mapping of memory to download": downloadedMapping,
  "a view of a read": viewed,
  "a staged array to upload": uploaded,
  "a staged array to download": downloaded
}

/** The same, ended by the buffer or pool under it, which may log a failure that no caller can get. */
const ended =
  (usage: BufferUsage.BufferUsage, end: (lease: PooledBuffer) => Effect.Effect<unknown>): Lending => (take) =>
    Effect.scoped(Effect.gen(function*() {
      const lease = yield* BufferPool.allocate(bytes, { usage })
      const scope = yield* Scope.make()
      const mapped = yield* Scope.provide(Mapping.map(lease, Uint8Array), scope)
      take(mapped.data)
      yield* end(lease)
      yield* Scope.close(scope, Exit.void)
    }))

const usages = { ordinary: BufferUsage.defaultUsage, upload: BufferUsage.upload, download: BufferUsage.download }

const endings: Readonly<Record<string, (lease: PooledBuffer) => Effect.Effect<unknown>>> = {
  "the release of the lease": (lease) => Effect.exit(Lease.release(lease)),
  "the close of the scope": () => Effect.void
}

const transfers = ArrayBuffer.prototype as {
  readonly transfer?: (this: ArrayBuffer) => ArrayBuffer
  readonly transferToFixedLength?: (this: ArrayBuffer) => ArrayBuffer
}

const byTransfer: Way = (memory) => transfers.transfer?.call(memory)

const ways: Readonly<Record<string, Way>> = {
  transfer: byTransfer,
  transferToFixedLength: (memory) => transfers.transferToFixedLength?.call(memory),
  "a clone that transfers": (memory) => structuredClone(memory, { transfer: [memory] })
}

type Way = (memory: ArrayBuffer) => ArrayBuffer | undefined

/** Moves the memory of an array; `undefined` if the engine lacks this way or refuses. */
const moved = ({ buffer }: ArrayBufferView, way: Way = byTransfer): Uint8Array | undefined => {
  try {
    const memory = way(buffer as ArrayBuffer)
    return memory === undefined ? undefined : new Uint8Array(memory)
  } catch {
    Expect.equal("bytes of an array that cannot be taken", buffer.byteLength, bytes)
    return undefined
  }
}

/** The arrays that a program has moved, and their content. */
interface Taken {
  readonly all: Uint8Array
  readonly found: Uint8Array
}

/**
 * Lends, takes in one way, and expects the end to fail: driver memory is lost to the pool, and changes of a copy are
 * not written back. A copy that was only read is the program's own. `undefined` if the engine refuses to move the
 * memory.
 */
const taken = (what: string, lending: Lending, way: Way, says: boolean) =>
  Effect.gen(function*() {
    const { driverObjects } = yield* DeviceContext
    const before = driverObjects.taken
    let taken: Taken | undefined
    const exit = yield* Effect.exit(lending((array) => {
      const all = moved(array, way)
      taken = all === undefined ? undefined : { all, found: all.slice() }
    }))
    const isRead = reads.has(lending) && driverObjects.taken === before
    if (taken === undefined || !says || isRead) Expect.isTrue(`the end of ${what}`, Exit.isSuccess(exit))
    else yield* Expect.refused(`the end of ${what}`, exit)
    return taken
  })

/** The content that the next owners of such memory find, after each has written its own number. */
const nextOwners = (value: number): Effect.Effect<ReadonlyArray<Uint8Array>, GpuError, Pools> =>
  Effect.scoped(Effect.gen(function*() {
    const mine = yield* written(same(value))
    const sent = yield* BufferPool.allocate(bytes)
    yield* CommandQueue.fill(sent, 0)
    const up = yield* staging(BufferUsage.upload)
    yield* Effect.scoped(Effect.map(Mapping.map(up, Uint8Array), ({ data }) => data.fill(value)))
    yield* CommandQueue.copy(up, sent)
    const down = yield* staging(BufferUsage.download)
    yield* CommandQueue.copy(mine, down)
    const got = yield* Effect.scoped(Effect.map(Mapping.map(down, Uint8Array), ({ data }) => data.slice()))
    const through = yield* StagingPool.use(
      bytes,
      Uint8Array,
      (array) => Effect.map(StagingPool.download(sent, array), () => array.data.slice()),
      { direction: "download" }
    )
    return [yield* CommandQueue.read(mine, Uint8Array), yield* CommandQueue.read(sent, Uint8Array), got, through]
  }))

/**
 * Checks that the next owners' memory and the taken memory never show each other's bytes, even after the pools have
 * freed theirs.
 */
const expectApart = (what: string, { all, found }: Taken) =>
  Effect.gen(function*() {
    for (const owner of [2, 3]) {
      for (const seen of yield* nextOwners(owner)) Expect.numbers(`the next owner's after ${what}`, seen, same(owner))
      Expect.numbers(`what was taken from ${what}`, all, found)
    }
    all.fill(9)
    for (const seen of yield* nextOwners(4)) Expect.numbers(`the next owner's after a store, ${what}`, seen, same(4))
    Expect.numbers(`what was stored there, ${what}`, all, same(9))
    yield* BufferPool.freeHeld
    yield* StagingPool.freeHeld
    all.fill(10)
    for (const seen of yield* nextOwners(5)) Expect.numbers(`the next owner's of new memory, ${what}`, seen, same(5))
    Expect.numbers(`what was stored at last, ${what}`, all, same(10))
  })

/** Runs a program on pools of its own, whose ends may fail and log. */
const onPools = <A, E>(program: Effect.Effect<A, E, Pools>): Effect.Effect<A, E | GpuError, Device> =>
  Effect.scoped(Effect.gen(function*() {
    const pools = Layer.mergeAll(BufferPool.layer(), StagingPool.layer())
    return yield* Effect.provide(program, yield* Layer.build(Layer.fresh(pools)))
  })).pipe(Effect.provide(Logger.layer([])))

const neverShows = (lendings: Readonly<Record<string, Lending>>, says: boolean) =>
  Effect.gen(function*() {
    for (const [what, lending] of Object.entries(lendings)) {
      for (const [name, way] of Object.entries(ways)) {
        yield* onPools(Effect.gen(function*() {
          const memory = yield* taken(`${what}, by ${name}`, lending, way, says)
          if (memory !== undefined) yield* expectApart(`${what}, by ${name}`, memory)
        }))
      }
    }
  })

const endedLendings: Readonly<Record<string, Lending>> = Object.fromEntries(
  Object.entries(endings).flatMap(([ending, end]) =>
    Object.entries(usages).map(([kind, usage]) => [`${kind} memory ended by ${ending}`, ended(usage, end)])
  )
)

/** The pool closes under a mapping, and frees its blocks. */
const closedPools = Effect.gen(function*() {
  for (const usage of Object.values(usages)) {
    const scope = yield* Scope.make()
    const { all, found } = yield* onPools(Effect.gen(function*() {
      const lease = yield* Scope.provide(BufferPool.allocate(bytes, { usage }), scope)
      const { data } = yield* Scope.provide(Mapping.map(lease, Uint8Array), scope)
      const all = moved(data) ?? data.slice()
      return { all, found: all.slice() }
    }))
    yield* Scope.close(scope, Exit.void)
    yield* onPools(expectApart(`a closed pool of ${BufferUsage.format(usage)}`, { all, found }))
  }
})

/** Memory that can never be used again is counted as taken, and the driver's counters have each object once. */
const accounts = Effect.gen(function*() {
  const { driverObjects } = yield* DeviceContext
  for (const usage of [BufferUsage.upload, BufferUsage.download]) {
    yield* onPools(Effect.gen(function*() {
      const before = driverObjects.taken
      const all = yield* Effect.scoped(Effect.gen(function*() {
        const lease = yield* BufferPool.allocate(bytes, { usage })
        const mapped = yield* Mapping.map(lease, Uint8Array)
        const all = moved(mapped.data)
        const exit = yield* Effect.exit(Mapping.unmap(mapped))
        // A backend that lends copies still has its memory.
        if (all === undefined || lease.block!.value.recyclable) return all
        yield* Expect.refused("the end", exit)
        yield* Expect.refused("a second mapping", Mapping.map(lease, Uint8Array))
        const x = yield* BufferPool.allocate(bytes)
        const copy = usage === BufferUsage.upload ? CommandQueue.copy(lease, x) : CommandQueue.copy(x, lease)
        yield* Expect.refused("a copy", copy)
        return all
      }))
      yield* Effect.scoped(Effect.gen(function*() {
        const { data } = yield* Mapping.map(yield* BufferPool.allocate(bytes, { usage }), Uint8Array)
        const found = data.slice()
        for (const value of [8, 9]) all?.fill(value)
        Expect.numbers("the next owner's array after a store to what was taken", data, found)
        if (usage === BufferUsage.upload) data.fill(2)
        Expect.isTrue(
          "what was taken shows none of the next owner's",
          all === undefined || all.every((byte) => byte === 9)
        )
      }))
      const { heldBlocks } = yield* Effect.tap(BufferPool.stats, () => BufferPool.freeHeld)
      const isHeld = heldBlocks > 0 && driverObjects.taken === before
      Expect.isTrue(
        `the block is held (${heldBlocks}) or taken (${driverObjects.taken - before})`,
        isHeld || driverObjects.taken > before
      )
      const { created, live, released, taken } = driverObjects
      Expect.equal("objects that were created", created, released + live + taken)
    }))
  }
})

/** The array's own `transfer` method throws at once, and says to copy. */
const refusals = onPools(Effect.scoped(Effect.gen(function*() {
  for (const usage of Object.values(usages)) {
    const { data } = yield* Mapping.map(yield* BufferPool.allocate(bytes, { usage }), Uint8Array)
    for (const name of ["transfer", "transferToFixedLength"]) {
      const own = Reflect.get(data.buffer, name) as (this: unknown) => ArrayBuffer
      Expect.isTrue(`${name} is refused`, moved(data, (memory) => own.call(memory)) === undefined)
      Expect.equal("the elements that stay", data.length, bytes)
    }
  }
})))

export const tests: ReadonlyArray<ConformanceTest> = [
  test("the end of what a program took says so, and neither side sees the other's bytes", neverShows(lendings, true)),
  test("what a program took never shows another owner's bytes, whatever ends it", neverShows(endedLendings, false)),
  counting("what a program took is never used again, and counts as taken where it is the driver's", accounts),
  counting("a lent array's own methods refuse to transfer it", refusals),
  test("what a program took never shows another owner's bytes when the pool closes under it", closedPools)
]

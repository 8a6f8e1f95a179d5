/** What a fiber does with the buffers that it owns, by every command there is. */
import { ElementwiseKernel, Expr } from "@effect-gpu-pool/arrays"
import { Effect, Stream } from "effect"
import {
  CommandQueue,
  DeviceContext,
  KernelArgument,
  Mapping,
  MemoryObjects,
  QueueEvent,
  StagingPool,
  SubRegion,
  Transfers
} from "effect-gpu-pool"
import * as Random from "../Random.ts"
import type { Watch } from "../soak/Watch.ts"
import { type Bytes, changing, checkBuffer, compare, type OwnedBuffer, withBytes } from "./Owned.ts"
import type { Action } from "./World.ts"

/** An action on one buffer, whose size is a multiple of 4 and at least 4. */
type OnBuffer = (owned: OwnedBuffer, watch: Watch, next: () => number) => Action

export const randomBytes = (next: () => number, length: number): Bytes => {
  const bytes = new Uint8Array(length)
  const words = new Uint32Array(bytes.buffer)
  for (let index = 0; index < words.length; index++) words[index] = 2 ** 32 * next()
  return bytes
}

/** A part of a buffer that a command may name: multiples of 4. */
const rangeIn = (next: () => number, size: number): { readonly offset: number; readonly length: number } => {
  const offset = 4 * Random.integer(next, 0, size / 4 - 1)
  return { offset, length: 4 * Random.integer(next, 1, (size - offset) / 4) }
}

const write: OnBuffer = (owned, _, next) => {
  const { offset, length } = rangeIn(next, owned.lease.size)
  const data = randomBytes(next, length)
  const after = withBytes(owned, offset, data)
  return changing(owned, CommandQueue.write(owned.lease, data, { offset }), () => after)
}

/** From now on the model knows all bytes. */
export const writeAll: OnBuffer = (owned, _, next) => {
  const data = randomBytes(next, owned.lease.size)
  return changing(owned, CommandQueue.write(owned.lease, data), () => data)
}

const fill: OnBuffer = (owned, _, next) => {
  const { offset, length } = rangeIn(next, owned.lease.size)
  const byte = Random.integer(next, 0, 255)
  const after = withBytes(owned, offset, new Uint8Array(length).fill(byte))
  return changing(
    owned,
    CommandQueue.fill(owned.lease, Uint8Array.of(byte, byte, byte, byte), { offset, size: length }),
    () => after
  )
}

const check: OnBuffer = (owned, watch) => checkBuffer(watch, "read", owned)

const readInto: OnBuffer = (owned, watch) => {
  const target = new Uint8Array(owned.lease.size)
  return Effect.map(
    CommandQueue.readInto(owned.lease, target),
    () => compare(watch, "readInto", target, owned.bytes)
  )
}

const readView: OnBuffer = (owned, watch) =>
  CommandQueue.readView(owned.lease, Uint8Array, (view) =>
    Effect.andThen(
      Effect.yieldNow,
      // The view ends with the lease: compare only while it has bytes.
      Effect.sync(() => view.length > 0 && compare(watch, "readView", view, owned.bytes))
    )).pipe(Effect.asVoid)

const rectangle: OnBuffer = (owned, watch, next) => {
  const width = 4 * Random.integer(next, 1, owned.lease.size / 4)
  const height = Math.floor(owned.lease.size / width)
  const data = randomBytes(next, width * height)
  const region = [width, height] as const
  const after = withBytes(owned, 0, data)
  return Effect.andThen(
    changing(owned, CommandQueue.writeRect(owned.lease, data, { region, buffer: { rowPitch: width } }), () => after),
    Effect.map(
      CommandQueue.readRect(owned.lease, Uint8Array, { region, buffer: { rowPitch: width } }),
      (found) => compare(watch, "readRect", found, data)
    )
  )
}

const mapped: OnBuffer = (owned, watch, next) => {
  const { lease } = owned
  const value = Random.integer(next, 0, 255)
  const before = owned.bytes
  return changing(
    owned,
    Effect.scoped(Effect.gen(function*() {
      const array = yield* Mapping.map(lease, Uint8Array)
      yield* Effect.yieldNow
      if (array.data.length > 0) {
        compare(watch, "mapping", array.data, before)
        array.data[0] = value
      }
    })),
    () => before === undefined ? undefined : Uint8Array.from(before, (byte, index) => index === 0 ? value : byte)
  )
}

/** A part that ends with its scope. Where a device wants parts at larger offsets, the whole is one. */
const region: OnBuffer = (owned, watch, next) =>
  Effect.scoped(Effect.gen(function*() {
    const { lease } = owned
    const { regionAlignment } = (yield* DeviceContext.DeviceContext).info.limits
    const offset = regionAlignment * Random.integer(next, 0, Math.floor((lease.size - 4) / regionAlignment))
    const part = yield* SubRegion.make(lease, { offset })
    const data = randomBytes(next, part.size)
    const after = withBytes(owned, offset, data)
    yield* changing(owned, CommandQueue.write(part, data), () => after)
    compare(watch, "region", yield* CommandQueue.read(part, Uint8Array), data)
  }))

const increment = ElementwiseKernel.make({
  name: "increment",
  args: [KernelArgument.VectorArg("u32", "x")],
  outputs: ({ x }) => ({ x: Expr.add(x, 1) })
})

const dispatch: OnBuffer = (owned) => {
  const { lease } = owned
  const before = owned.bytes
  return changing(owned, CommandQueue.dispatch(increment, { x: lease }, lease.size / 4), () => {
    if (before === undefined) return undefined
    const words = new Uint32Array(before.slice().buffer)
    return new Uint8Array(words.map((word) => word + 1).buffer)
  })
}

const event: OnBuffer = (owned, _, next) => {
  const data = randomBytes(next, owned.lease.size)
  return changing(
    owned,
    Effect.flatMap(
      CommandQueue.withEvent(CommandQueue.write(owned.lease, data)),
      ([done]) => Effect.andThen(QueueEvent.wait(done), QueueEvent.isDone(done))
    ),
    () => data
  )
}

/** Migrates the memory, where the driver does not move it by itself. */
const migrate: OnBuffer = ({ lease }) =>
  MemoryObjects.migrate([lease]).pipe(Effect.catchReason("GpuError", "Unsupported", () => Effect.void))

const pieces = (data: Bytes, next: () => number) => {
  const length = 4 * Random.integer(next, 1, Math.max(1, data.length / 4))
  const starts = Array.from({ length: Math.ceil(data.length / length) }, (_, index) => index * length)
  return Stream.map(Stream.fromIterable(starts), (at) => data.slice(at, at + length))
}

const chunks = (next: () => number) => ({
  chunkSize: 4 * Random.integer(next, 64, 4096),
  inFlight: Random.integer(next, 1, 3)
})

const upload: OnBuffer = (owned, _, next) => {
  const data = randomBytes(next, owned.lease.size)
  return changing(owned, Transfers.upload(pieces(data, next), owned.lease, chunks(next)), () => data)
}

const sink: OnBuffer = (owned, _, next) => {
  const data = randomBytes(next, owned.lease.size)
  return changing(owned, Stream.run(pieces(data, next), Transfers.sink(owned.lease, chunks(next))), () => data)
}

const download: OnBuffer = (owned, watch, next) =>
  Effect.map(Stream.runCollect(Transfers.download(owned.lease, chunks(next))), (parts) => {
    const found = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0))
    let at = 0
    for (const part of parts) {
      found.set(part, at)
      at += part.length
    }
    compare(watch, "download", found, owned.bytes)
  })

const staged: OnBuffer = (owned, watch, next) =>
  StagingPool.use(owned.lease.size, Uint8Array, (array) => {
    if (array.data.length === 0) return Effect.void
    const data = randomBytes(next, owned.lease.size)
    array.data.set(data)
    return changing(owned, StagingPool.upload(array, owned.lease), () => data)
  }).pipe(Effect.andThen(
    StagingPool.use(owned.lease.size, Uint8Array, (array) =>
      Effect.map(StagingPool.download(owned.lease, array), () => {
        if (array.data.length > 0) compare(watch, "staged", array.data, owned.bytes)
      }), { direction: "download" })
  ))

export const onOne: Readonly<Record<string, OnBuffer>> = {
  write,
  writeAll,
  fill,
  check,
  readInto,
  readView,
  rectangle,
  mapped,
  region,
  dispatch,
  event,
  migrate,
  upload,
  sink,
  download,
  staged
}

/** An action on two buffers of the same fiber. */
type OnTwo = (from: OwnedBuffer, to: OwnedBuffer, next: () => number) => Action

const copy: OnTwo = (from, to, next) => {
  const size = 4 * Random.integer(next, 1, Math.min(from.lease.size, to.lease.size) / 4)
  const sourceOffset = 4 * Random.integer(next, 0, (from.lease.size - size) / 4)
  const targetOffset = 4 * Random.integer(next, 0, (to.lease.size - size) / 4)
  const part = from.bytes?.slice(sourceOffset, sourceOffset + size)
  const after = part === undefined ? undefined : withBytes(to, targetOffset, part)
  return changing(to, CommandQueue.copy(from.lease, to.lease, { sourceOffset, targetOffset, size }), () => after)
}

const copyRect: OnTwo = (from, to, next) => {
  const size = Math.min(from.lease.size, to.lease.size)
  const width = 4 * Random.integer(next, 1, size / 4)
  const height = Math.floor(size / width)
  const part = from.bytes?.slice(0, width * height)
  const after = part === undefined ? undefined : withBytes(to, 0, part)
  return changing(
    to,
    CommandQueue.copyRect(from.lease, to.lease, {
      region: [width, height],
      source: { rowPitch: width },
      target: { rowPitch: width }
    }),
    () => after
  )
}

const streamed: OnTwo = (from, to, next) => {
  const size = Math.min(from.lease.size, to.lease.size)
  const part = from.bytes?.slice(0, size)
  const after = part === undefined ? undefined : withBytes(to, 0, part)
  return changing(
    to,
    Transfers.upload(Transfers.download(from.lease, { ...chunks(next), size }), to.lease, chunks(next)),
    () => after
  )
}

export const onTwo: Readonly<Record<string, OnTwo>> = { copy, copyRect, streamed }

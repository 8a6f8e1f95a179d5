/**
 * Commands that every backend must refuse: on wrong buffers, outside their range, or with data that no driver accepts.
 *
 * @internal
 */
import { BufferPool, BufferUsage, CommandQueue, Lease, Mapping } from "effect-gpu-pool"
import type { BufferLike } from "effect-gpu-pool/BufferLike"
import type { HostData } from "effect-gpu-pool/CommandQueue"
import { DeviceContext } from "effect-gpu-pool/DeviceContext"
import type { GpuError, Reason } from "effect-gpu-pool/GpuError"
import { layer as hostLayer } from "effect-gpu-pool/Host"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { ConformanceTest, TestServices } from "../ConformanceTest.ts"
import { closedPool, failing, invalid, type Mistake, mistakeTests, onLeases } from "../memory/BadRequests.ts"
import * as Kernels from "./Kernels.ts"

type Call = (buffer: BufferLike, other: BufferLike) => Effect.Effect<unknown, GpuError, TestServices>

/** Each operation, with the buffer under test as each of its buffer arguments. */
const places: Readonly<Record<string, readonly [usage: number, call: Call]>> = {
  "write to": [BufferUsage.copyDst, (buffer) => CommandQueue.write(buffer, new Uint8Array(64))],
  "read": [BufferUsage.copySrc, (buffer) => CommandQueue.read(buffer, Uint8Array)],
  "readInto from": [BufferUsage.copySrc, (buffer) => CommandQueue.readInto(buffer, new Uint8Array(64))],
  "copy from": [BufferUsage.copySrc, (buffer, other) => CommandQueue.copy(buffer, other)],
  "copy to": [BufferUsage.copyDst, (buffer, other) => CommandQueue.copy(other, buffer)],
  "fill": [BufferUsage.copyDst, (buffer) => CommandQueue.fill(buffer, 0)],
  "copy a rectangle from": [
    BufferUsage.copySrc,
    (buffer, other) => CommandQueue.copyRect(buffer, other, { region: [4] })
  ],
  "copy a rectangle to": [
    BufferUsage.copyDst,
    (buffer, other) => CommandQueue.copyRect(other, buffer, { region: [4] })
  ],
  "write a rectangle to": [
    BufferUsage.copyDst,
    (buffer) => CommandQueue.writeRect(buffer, new Uint8Array(4), { region: [4] })
  ],
  "read a rectangle of": [BufferUsage.copySrc, (buffer) => CommandQueue.readRect(buffer, Uint8Array, { region: [4] })],
  "read a rectangle into an array from": [
    BufferUsage.copySrc,
    (buffer) => CommandQueue.readRectInto(buffer, new Uint8Array(4), { region: [4] })
  ],
  "map for reading": [BufferUsage.copySrc, (buffer) => Mapping.map(buffer, Uint8Array, { access: "read" })],
  "map for writing": [BufferUsage.copyDst, (buffer) => Mapping.map(buffer, Uint8Array, { access: "write" })],
  "dispatch on": [BufferUsage.storage, (buffer) => CommandQueue.dispatch(Kernels.iota, { y: buffer, start: 0 }, 1)]
}

/** A lease on a second, open device, which is foreign to every backend under test. */
const foreignLease = Effect.gen(function*() {
  const context = yield* Layer.build(Layer.provide(BufferPool.layer(), hostLayer()))
  return yield* Context.get(context, BufferPool.BufferPool).allocate(64, { label: "foreign" })
})

const releasedLease = Effect.tap(BufferPool.allocate(64), Lease.release)

const destroyedBuffer = Effect.gen(function*() {
  const device = yield* DeviceContext
  const buffer = yield* device.createBuffer(64, BufferUsage.defaultUsage)
  yield* device.destroyBufferUnsafe(buffer)
  return buffer
})

const wrongBuffers: ReadonlyArray<Mistake> = Object.entries(places).flatMap(
  ([name, [usage, call]]): ReadonlyArray<Mistake> => {
    const without = BufferUsage.defaultUsage & ~usage
    const mistake = (what: string, reason: Reason["_tag"], buffer: Effect.Effect<BufferLike, unknown, TestServices>) =>
      [`${name} a ${what}`, reason, Effect.flatMap(buffer, (wrong) => onLeases((other) => call(wrong, other)))] as const
    return [
      mistake("released lease", "Released", releasedLease),
      mistake("lease of a closed scope", "Released", Effect.scoped(BufferPool.allocate(64))),
      mistake("lease of a closed pool", "Released", Effect.map(closedPool, ({ lease }) => lease)),
      mistake("destroyed device buffer", "Released", destroyedBuffer),
      mistake("foreign lease", "ForeignDevice", foreignLease),
      mistake(
        `lease without ${BufferUsage.format(usage)}`,
        "InvalidRequest",
        BufferPool.allocate(64, { usage: without })
      )
    ]
  }
)

/** Ranges that are invalid for a buffer of 62 bytes. */
const ranges: ReadonlyArray<readonly [name: string, offset: number, bytes: number]> = [
  ["past the end", 0, 64],
  ["from past the end", 64, 0],
  ["across the end", 60, 4],
  ["at a negative offset", -4, 4],
  ["at a fractional offset", 0.5, 4],
  ["at NaN", NaN, 4],
  ["at 2^53", 2 ** 53, 4]
]

const onShort = (call: Call) =>
  Effect.flatMap(BufferPool.allocate(62), (short) => onLeases((other) => call(short, other)))

const wrongRanges: ReadonlyArray<Mistake> = ranges.flatMap(([name, offset, size]): ReadonlyArray<Mistake> => {
  const mistake = (operation: string, call: Call) => invalid(`${operation} ${name}`, onShort(call))
  return [
    mistake("write", (lease) => CommandQueue.write(lease, new Uint8Array(size), { offset })),
    mistake("read", (lease) => CommandQueue.read(lease, Uint8Array, { offset, length: size })),
    mistake("readInto", (lease) => CommandQueue.readInto(lease, new Uint8Array(size), { offset })),
    mistake("fill", (lease) => CommandQueue.fill(lease, 0, { offset, size })),
    mistake(
      "copy from",
      (lease, target) => CommandQueue.copy(lease, target, { sourceOffset: offset, size })
    ),
    mistake(
      "copy to",
      (lease) =>
        Effect.flatMap(
          BufferPool.allocate(128),
          (source) => CommandQueue.copy(source, lease, { targetOffset: offset, size })
        )
    )
  ]
})

const wrongLengths = failing("InvalidRequest", {
  "a fill of a negative length": (lease) => CommandQueue.fill(lease, 0, { size: -4 }),
  "a fill of NaN bytes": (lease) => CommandQueue.fill(lease, 0, { size: NaN }),
  "a copy of a negative length": (from, to) => CommandQueue.copy(from, to, { size: -4 }),
  "a copy of a fractional length": (from, to) => CommandQueue.copy(from, to, { size: 1.5 }),
  "a read of a negative length": (lease) => CommandQueue.read(lease, Float32Array, { length: -1 }),
  "a read of a fractional length": (lease) => CommandQueue.read(lease, Float32Array, { length: 1.5 }),
  "a read of NaN elements": (lease) => CommandQueue.read(lease, Float32Array, { length: NaN }),
  "a read that ends within an element": onShort((lease) => CommandQueue.read(lease, Float32Array)),
  "a read of wide elements that starts at a multiple of 4 and ends within one": (lease) =>
    CommandQueue.read(lease, Float64Array, { offset: 4 })
})

const aliases = failing("InvalidRequest", {
  "a copy within one lease": (lease) => CommandQueue.copy(lease, lease),
  "a copy between two parts of one lease": (lease) => CommandQueue.copy(lease, lease, { targetOffset: 32, size: 32 })
})

const detached = (): ArrayBuffer => {
  const memory = new ArrayBuffer(64)
  structuredClone(memory, { transfer: [memory] })
  return memory
}

const detachedView = (): Uint8Array => {
  const view = new Uint8Array(64)
  structuredClone(view.buffer, { transfer: [view.buffer] })
  return view
}

/** A page has `SharedArrayBuffer` only if it is cross-origin isolated. */
const shared: ReadonlyArray<readonly [string, () => unknown]> = typeof SharedArrayBuffer === "undefined" ? [] : [
  ["a SharedArrayBuffer", () => new SharedArrayBuffer(64)],
  ["a view of a SharedArrayBuffer", () => new Uint8Array(new SharedArrayBuffer(64))],
  ["a DataView of a SharedArrayBuffer", () => new DataView(new SharedArrayBuffer(64))]
]

const notData: ReadonlyArray<readonly [string, () => unknown]> = [
  ...shared,
  ["a detached ArrayBuffer", detached],
  ["a view of a detached ArrayBuffer", detachedView]
]

const wrongData: ReadonlyArray<Mistake> = notData.flatMap(([name, make]): ReadonlyArray<Mistake> => [
  invalid(`a write of ${name}`, (lease) => CommandQueue.write(lease, make() as HostData)),
  invalid(`a fill with ${name}`, (lease) => CommandQueue.fill(lease, make() as HostData)),
  invalid(`a read into ${name}`, (lease) => CommandQueue.readInto(lease, make() as HostData))
])

export const tests: ReadonlyArray<ConformanceTest> = [
  ...mistakeTests("wrong buffers", wrongBuffers),
  ...mistakeTests("wrong ranges", [...wrongRanges, ...wrongLengths, ...aliases]),
  ...mistakeTests("wrong data", wrongData)
]

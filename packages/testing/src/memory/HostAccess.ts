/**
 * Buffers that the host may not read, or may not write. Checks before every driver call enforce it.
 *
 * @internal
 */
import { BufferPool, BufferUsage, CommandQueue, Mapping, MemoryObjects, SubRegion } from "effect-gpu-pool"
import { PoolStrategy } from "effect-gpu-pool/allocators"
import * as BufferLike from "effect-gpu-pool/BufferLike"
import { DeviceContext } from "effect-gpu-pool/DeviceContext"
import type { DeviceImage } from "effect-gpu-pool/DeviceImage"
import type { GpuError } from "effect-gpu-pool/GpuError"
import { ImageFormat, Images } from "effect-gpu-pool/images"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Kernels from "../commands/Kernels.ts"
import { type ConformanceTest, inGroup, type TestServices } from "../ConformanceTest.ts"
import * as Expect from "../Expect.ts"
import { expectUsable } from "./BadRequests.ts"

const test = inGroup("host access")

const { defaultUsage, hostNoAccess, hostReadOnly, hostWriteOnly } = BufferUsage

const flags = [
  ["hostReadOnly", hostReadOnly, ["read"]],
  ["hostWriteOnly", hostWriteOnly, ["write"]],
  ["hostNoAccess", hostNoAccess, []]
] as const

type Call = (buffer: BufferLike.BufferLike) => Effect.Effect<unknown, GpuError, TestServices>

/** Every way in which the host reads or writes the bytes of a buffer. */
const accesses: Readonly<Record<string, readonly [needs: ReadonlyArray<"read" | "write">, call: Call]>> = {
  "write": [["write"], (buffer) => CommandQueue.write(buffer, new Uint8Array(64))],
  "write of nothing": [["write"], (buffer) => CommandQueue.write(buffer, new Uint8Array(0))],
  "read": [["read"], (buffer) => CommandQueue.read(buffer, Uint8Array)],
  "readInto": [["read"], (buffer) => CommandQueue.readInto(buffer, new Uint8Array(64))],
  "write of a rectangle": [
    ["write"],
    (buffer) => CommandQueue.writeRect(buffer, new Uint8Array(8), { region: [4, 2] })
  ],
  "read of a rectangle": [["read"], (buffer) => CommandQueue.readRect(buffer, Uint8Array, { region: [4, 2] })],
  "read of a rectangle into an array": [
    ["read"],
    (buffer) => CommandQueue.readRectInto(buffer, new Uint8Array(8), { region: [4, 2] })
  ],
  "mapping to read": [["read"], (buffer) => Effect.scoped(Mapping.map(buffer, Uint8Array, { access: "read" }))],
  "mapping to write": [["write"], (buffer) => Effect.scoped(Mapping.map(buffer, Uint8Array, { access: "write" }))],
  "mapping": [["read", "write"], (buffer) => Effect.scoped(Mapping.map(buffer, Uint8Array))],
  "mapping to write every second byte, which keeps the others": [
    ["read", "write"],
    (buffer) => Effect.scoped(Mapping.map(buffer, Uint8Array, { access: "write", shape: [32], strides: [2] }))
  ]
}

const bytes = ImageFormat.make("r", "uint8")

/** The same ways for an image over a buffer. */
const imageAccesses: Readonly<
  Record<
    string,
    readonly [
      needs: ReadonlyArray<"read" | "write">,
      call: (image: DeviceImage) => Effect.Effect<unknown, GpuError, TestServices>
    ]
  >
> = {
  "write": [["write"], (image) => Images.write(image, new Uint8Array(64))],
  "write of nothing": [["write"], (image) => Images.write(image, new Uint8Array(0), { extent: [0] })],
  "read": [["read"], (image) => Images.read(image)],
  "read of a part as a class": [["read"], (image) => Images.read(image, Uint32Array, { extent: [8] })],
  "readInto": [["read"], (image) => Images.readInto(image, new Uint8Array(64))],
  "mapping to read": [["read"], (image) => Effect.scoped(Images.map(image, { access: "read" }))],
  "mapping to write": [["write"], (image) => Effect.scoped(Images.map(image, { access: "write" }))],
  "mapping": [["read", "write"], (image) => Effect.scoped(Images.map(image))],
  "mapping of nothing": [["read", "write"], (image) => Effect.scoped(Images.map(image, { extent: [0] }))],
  "mapping to write every second element, which keeps the others": [
    ["read", "write"],
    (image) => Effect.scoped(Images.map(image, Uint8Array, { access: "write", shape: [32], strides: [2] }))
  ]
}

const isAllowed = (needs: ReadonlyArray<"read" | "write">, allowed: ReadonlyArray<"read" | "write">): boolean =>
  needs.every((one) => allowed.includes(one))

/** An image over the buffer. A device without such images must answer Unsupported. */
const over = Effect.fnUntraced(function*(buffer: BufferLike.BufferLike) {
  const made = Images.overBuffer(buffer, bytes)
  const exit = yield* Effect.exit(made)
  if (Exit.isSuccess(exit)) return exit.value
  yield* Expect.failsWith("a device without such images", made, "Unsupported")
  return undefined
})

/** Commands on the device use such memory as any other. */
const onDevice = Effect.gen(function*() {
  const x = yield* BufferPool.allocate(64)
  const y = yield* BufferPool.allocate(64)
  for (const [flag, bit] of flags) {
    const hidden = yield* BufferPool.allocate(64, { usage: defaultUsage | bit })
    yield* CommandQueue.write(x, Uint32Array.from({ length: 16 }, (_, at) => at))
    yield* CommandQueue.fill(hidden, 7)
    yield* CommandQueue.fill(hidden, Uint8Array.of(1), { offset: 60, size: 4 })
    yield* CommandQueue.copy(hidden, y)
    const filled = new Uint32Array(16).fill(7)
    filled[15] = 0x01010101
    Expect.numbers(`what filled a ${flag} buffer`, yield* CommandQueue.read(y, Uint32Array), filled)
    yield* CommandQueue.copy(x, hidden)
    yield* CommandQueue.dispatch(Kernels.addTo, { x: hidden, y, a: 100 }, 16)
    const sums = Uint32Array.from({ length: 16 }, (_, at) => at + 100)
    Expect.numbers(`sums of a ${flag} buffer`, yield* CommandQueue.read(y, Uint32Array), sums)
    yield* CommandQueue.dispatch(Kernels.iota, { y: hidden, start: 5 }, 16)
    yield* CommandQueue.copyRect(hidden, y, { region: [8, 2], source: { rowPitch: 32 }, target: { rowPitch: 8 } })
    const rows = yield* CommandQueue.read(y, Uint32Array, { length: 4 })
    Expect.numbers(`rows of a ${flag} buffer`, rows, [5, 6, 13, 14])
    const part = yield* SubRegion.make(hidden, {}, { usage: defaultUsage | hostNoAccess })
    yield* CommandQueue.copy(part, y)
    Expect.numbers("a part", yield* CommandQueue.read(y, Uint32Array, { length: 2 }), [5, 6])
  }
})

export const tests: ReadonlyArray<ConformanceTest> = [
  test("only the accesses that the flag forbids are refused", { counting: true }, function*() {
    for (const [flag, bit, allowed] of flags) {
      const buffer = yield* BufferPool.allocate(64, { usage: defaultUsage | bit })
      const region = yield* SubRegion.make(buffer, { size: 32 })
      for (const [name, [needs, call]] of Object.entries(accesses)) {
        if (isAllowed(needs, allowed)) {
          yield* call(buffer)
          continue
        }
        const { problem } = yield* Expect.refused(`a ${name} of a ${flag} buffer`, call(buffer))
        Expect.isTrue(`the flag is named: ${problem}`, problem.includes(flag))
        yield* Expect.refused(`a ${name} of a part of one`, call(region))
      }
    }
    yield* expectUsable
  }),
  /** An image over such a buffer must not evade the buffer's rules. The device uses it as any other image. */
  test("an image over such a buffer has the buffer's rules", { counting: true }, function*() {
    const y = yield* BufferPool.allocate(64)
    for (const [flag, bit, allowed] of flags) {
      const image = yield* over(yield* BufferPool.allocate(64, { usage: defaultUsage | bit }))
      if (image === undefined) continue
      for (const [name, [needs, call]] of Object.entries(imageAccesses)) {
        if (isAllowed(needs, allowed)) {
          yield* call(image)
          continue
        }
        const what = `a ${name} of an image over a ${flag} buffer`
        const { problem } = yield* Expect.refused(what, call(image))
        Expect.isTrue(`the flag is named: ${problem}`, problem.includes(flag))
      }
      yield* CommandQueue.fill(y, Uint8Array.of(3))
      yield* Images.fill(image, 7)
      yield* Images.fromBuffer(y, image, { origin: [4], extent: [4] })
      yield* Images.copy(image, image, { sourceOrigin: [4], targetOrigin: [60], extent: [4] })
      yield* Images.toBuffer(image, y)
      const expected = new Uint8Array(64).fill(7).fill(3, 4, 8).fill(3, 60)
      Expect.numbers(`an image over a ${flag} buffer`, yield* CommandQueue.read(y, Uint8Array), expected)
    }
    const part = yield* SubRegion.make(y, {}, { usage: defaultUsage | hostNoAccess })
    const image = yield* over(part)
    if (image !== undefined) {
      yield* Expect.refused("a read of an image over a part", Images.read(image))
    }
    yield* expectUsable
  }),
  test("the device uses such buffers as any other", onDevice),
  /** Sizes with every remainder modulo 4: the device fills the last bytes too. */
  test("the device fills every byte of such buffers", function*() {
    for (const size of [1, 2, 3, 5, 6, 7, 4099]) {
      const hidden = yield* BufferPool.allocate(size, { usage: defaultUsage | hostNoAccess })
      const shown = yield* BufferPool.allocate(size)
      yield* CommandQueue.fill(hidden, Uint8Array.of(9))
      yield* CommandQueue.copy(hidden, shown)
      Expect.numbers(`${size} bytes`, yield* CommandQueue.read(shown, Uint8Array), new Uint8Array(size).fill(9))
    }
  }),
  test("such a buffer begins with data", function*() {
    const { usesHostMemory } = yield* DeviceContext.useSync(({ info }) => info.traits)
    const data = Uint8Array.from({ length: 64 }, (_, at) => at)
    const y = yield* BufferPool.allocate(64)
    const table = yield* MemoryObjects.fromHost(data, { usage: defaultUsage | hostNoAccess })
    yield* CommandQueue.copy(table, y)
    Expect.numbers("the data", yield* CommandQueue.read(y, Uint8Array), data)
    if (!usesHostMemory) return
    const used = yield* MemoryObjects.fromHost(data, { mode: "use", usage: defaultUsage | hostWriteOnly })
    yield* Expect.refused("the data in use", MemoryObjects.hostArray(used, Uint8Array))
    yield* CommandQueue.write(used, new Uint8Array(64).fill(3))
    yield* CommandQueue.copy(used, y)
    Expect.numbers("what was written", yield* CommandQueue.read(y, Uint8Array), new Uint8Array(64).fill(3))
  }),
  test("a pool that clears clears such blocks", { pool: { clear: "acquire" } }, onDevice),
  /** A held block serves only requests of its own usage, because the driver keeps the flags of a block. */
  test("a held block serves only its own usage", {
    counting: true,
    pool: { strategy: PoolStrategy.blocks }
  }, function*() {
    const usages = [defaultUsage, ...flags.map(([, bit]) => defaultUsage | bit)]
    const blocks = yield* Effect.forEach(
      usages,
      (usage) => Effect.scoped(Effect.map(BufferPool.allocate(64, { usage }), BufferLike.deviceBuffer))
    )
    Expect.equal("blocks", new Set(blocks).size, usages.length)
    for (const [at, usage] of usages.entries()) {
      const lease = yield* BufferPool.allocate(64, { usage })
      Expect.isTrue(`${BufferUsage.format(usage)} has its own block`, BufferLike.deviceBuffer(lease) === blocks[at])
      Expect.equal("its usage", lease.usage, usage)
    }
  }),
  /** A sub-region may allow less than its buffer, never more. */
  test("a sub-region allows no more than its buffer", { counting: true }, function*() {
    const usages = [0, hostReadOnly, hostWriteOnly, hostNoAccess]
    for (const whole of usages) {
      const buffer = yield* BufferPool.allocate(64, { usage: defaultUsage | whole })
      for (const part of usages) {
        const made = yield* Effect.exit(SubRegion.make(buffer, {}, { usage: defaultUsage | part }))
        const allowed = whole === 0 || part === whole || part === hostNoAccess
        const what = `a part of ${BufferUsage.format(defaultUsage | whole)} with ${
          BufferUsage.format(defaultUsage | part)
        }`
        Expect.equal(what, Exit.isSuccess(made), allowed)
      }
    }
  }),
  test("the flags exclude each other", { counting: true }, function*() {
    for (const both of [hostReadOnly | hostWriteOnly, hostReadOnly | hostNoAccess, hostWriteOnly | hostNoAccess]) {
      const usage = defaultUsage | both
      yield* Expect.refused(BufferUsage.format(usage), BufferPool.allocate(64, { usage }))
    }
    yield* Expect.refused("no allowed use", BufferPool.allocate(64, { usage: hostReadOnly }))
  })
]

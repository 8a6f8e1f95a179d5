/**
 * Kernels that are written for workgroups: where their items are, what they share, and what is refused.
 *
 * @internal
 */
import { BufferPool, CommandQueue } from "effect-gpu-pool"
import { DeviceContext } from "effect-gpu-pool/DeviceContext"
import type { GroupLimits } from "effect-gpu-pool/DeviceInfo"
import * as DType from "effect-gpu-pool/DType"
import type { Reason } from "effect-gpu-pool/GpuError"
import * as GroupKernel from "effect-gpu-pool/GroupKernel"
import * as Kernel from "effect-gpu-pool/Kernel"
import { type KernelArgument, LocalArg, VectorArg } from "effect-gpu-pool/KernelArgument"
import { KernelCache } from "effect-gpu-pool/KernelCache"
import * as Workgroup from "effect-gpu-pool/Workgroup"
import * as Effect from "effect/Effect"
import { type ConformanceTest, type Device, inGroup, scaled, type TestServices } from "../ConformanceTest.ts"
import * as Expect from "../Expect.ts"
import { expectUsable } from "../memory/BadRequests.ts"
import { filled, written } from "../pool/Leases.ts"
import { forSeeds, type Random, seeds } from "../Random.ts"
import * as Groups from "./GroupKernels.ts"
import * as Kernels from "./Kernels.ts"

const inWorkgroups = inGroup("workgroups")

const groupLimits: Effect.Effect<GroupLimits | undefined, never, Device> = DeviceContext.useSync(({ info }) =>
  info.limits.groups
)

/** A kernel of 4 x 4 items with further arguments, which does nothing. */
const idle = (args: ReadonlyArray<KernelArgument> = [], workgroupSize: Workgroup.Size = [4, 4]) =>
  GroupKernel.make({
    name: "idle",
    args: [VectorArg("u32", "y"), ...args],
    workgroupSize,
    body: { wgsl: "", opencl: "", host: () => {} }
  })

const dispatchIdle = (range: Workgroup.Range) =>
  Effect.flatMap(BufferPool.allocate(64), (y) => CommandQueue.dispatch(idle(), { y }, range))

/** Runs a test where the device runs such kernels. Another device must say that it does not. */
const withGroups = (
  body: Effect.Effect<unknown, unknown, TestServices>
): Effect.Effect<void, unknown, TestServices> =>
  Effect.gen(function*() {
    if ((yield* groupLimits) !== undefined) yield* body
    else yield* Expect.failsWith("a device without workgroups", dispatchIdle(1), "Unsupported")
  })

const shown = (extents: Workgroup.Size): string => Workgroup.format(Workgroup.extentsOf(extents))

/** Runs each item of a range, and compares what it writes with where it must be. */
const checkPlaces = Effect.fnUntraced(function*(size: Workgroup.Size, range: Workgroup.Range) {
  const [columns, rows, layers] = Workgroup.extentsOf(range)
  const of = Workgroup.extentsOf(size)
  const counts = Workgroup.countOf([columns, rows, layers], of)
  const expected = new Uint32Array(Groups.placeWords * columns * rows * layers + 8)
  let at = 0
  for (let z = 0; z < layers; z++) {
    for (let y = 0; y < rows; y++) {
      for (let x = 0; x < columns; x++) {
        const local = [x % of[0], y % of[1], z % of[2]] as const
        const index = (local[2] * of[1] + local[1]) * of[0] + local[0]
        const group = [Math.floor(x / of[0]), Math.floor(y / of[1]), Math.floor(z / of[2])] as const
        expected[at++] = index + 1000 * (local[0] + 1000 * (local[1] + 10 * local[2]))
        expected[at++] = group[0] + 1000 * (group[1] + 1000 * group[2])
        expected[at++] = counts[0] + of[0] + 1000 * (counts[1] + of[1] + 1000 * (counts[2] + of[2]))
        expected[at++] = 1
      }
    }
  }
  const y = yield* filled(expected.byteLength, 0)
  yield* CommandQueue.dispatch(Groups.places(size), { y }, range)
  const what = `${shown(range)} items in workgroups of ${shown(size)}`
  Expect.numbers(what, yield* CommandQueue.read(y, Uint32Array), expected)
}, Effect.scoped)

const sizes: ReadonlyArray<Workgroup.Size> = [1, 32, [5], [8, 4], [3, 5], [4, 2, 3], [1, 1, 7], [16, 16]]

const ranges: ReadonlyArray<Workgroup.Range> = [1, 31, [33], [8, 4], [9, 5], [1, 17], [3, 4, 5], [17, 1, 2]]

const anyRange = (random: Random): Workgroup.Range => {
  const [x, y, z] = [random.integer(1, 40), random.integer(1, 20), random.integer(1, 6)]
  return random.pick<Workgroup.Range>([x, [x], [x, y], [x, y, z]])
}

const checkTranspose = (random: Random) =>
  Effect.scoped(Effect.gen(function*() {
    const [columns, rows] = [random.integer(1, 50), random.integer(1, 50)]
    const data = Uint32Array.from({ length: columns * rows }, () => random.integer(0, 0xffffffff))
    const [x, y] = [yield* written(data), yield* filled(data.byteLength, 0)]
    yield* CommandQueue.dispatch(Groups.transpose, { x, y }, [columns, rows])
    const expected = Uint32Array.from(data, (_, at) => data[at % rows * columns + Math.floor(at / rows)]!)
    Expect.numbers(`the transpose of ${rows} x ${columns}`, yield* CommandQueue.read(y, Uint32Array), expected)
  }))

/** Types that WGSL has as they are in memory, or as pairs of words. */
const unpacked: ReadonlyArray<DType.DType> = ["f32", "i32", "u32", "f16", "f64", "i64", "u64"]

/** Compares bytes, which are random where every bit pattern is a number, and small numbers of floats otherwise. */
const checkReverse = (random: Random) =>
  Effect.gen(function*() {
    const { dtypes } = yield* DeviceContext.useSync(({ info }) => info)
    for (const dtype of unpacked.filter((dtype) => dtypes.has(dtype))) {
      const size = DType.byteSize(dtype)
      const data = new Uint8Array(16 * size)
      if (dtype === "f32" || dtype === "f16" || dtype === "f64") {
        const numbers = DType.viewUnsafe(dtype, data.buffer, 0, 16)
        for (let at = 0; at < 16; at++) numbers[at] = random.integer(-99, 99)
      } else data.set(random.bytes(data.length))
      const x = yield* written(data)
      yield* CommandQueue.dispatch(Groups.reverse(dtype), { x }, 16)
      const expected = data.map((_, at) => {
        const element = Math.floor(at / size)
        return data[(8 * Math.floor(element / 8) + 7 - element % 8) * size + at % size]!
      })
      Expect.numbers(`local memory of ${dtype}`, yield* CommandQueue.read(x, Uint8Array), expected)
    }
  })

const checkSums = (random: Random, items: number) =>
  Effect.scoped(Effect.gen(function*() {
    const data = Uint32Array.from({ length: items }, () => random.integer(0, 1 << 20))
    const expected = new Uint32Array(Math.ceil(items / 32))
    data.forEach((value, at) => expected[Math.floor(at / 32)]! += value)
    const [x, sums] = [yield* written(data), yield* filled(expected.byteLength, 0)]
    yield* CommandQueue.dispatch(Groups.groupSums, { x, sums }, items)
    Expect.numbers(`sums of ${items} items`, yield* CommandQueue.read(sums, Uint32Array), expected)
  }))

const checkHistogram = (random: Random, items: number) =>
  Effect.scoped(Effect.gen(function*() {
    const data = Uint32Array.from({ length: items }, () => random.integer(0, 0xffffffff))
    const expected = new Uint32Array(Groups.bins)
    for (const value of data) expected[value % Groups.bins]! += 1
    const [x, counts] = [yield* written(data), yield* filled(expected.byteLength, 0)]
    yield* CommandQueue.dispatch(Groups.histogram, { x, counts }, items)
    Expect.numbers(`a histogram of ${items} items`, yield* CommandQueue.read(counts, Uint32Array), expected)
  }))

/** Whole numbers small enough that every order of adding is exact. */
const checkProduct = (random: Random) =>
  Effect.scoped(Effect.gen(function*() {
    const [rows, inner, columns] = [random.integer(1, 20), random.integer(1, 20), random.integer(1, 20)]
    const matrix = (length: number) => Float32Array.from({ length }, () => random.integer(-9, 9))
    const [left, right] = [matrix(rows * inner), matrix(inner * columns)]
    const expected = Float32Array.from({ length: rows * columns }, (_, at) => {
      const [row, column] = [Math.floor(at / columns), at % columns]
      let sum = 0
      for (let k = 0; k < inner; k++) sum += left[row * inner + k]! * right[k * columns + column]!
      return sum
    })
    const [a, b, c] = [yield* written(left), yield* written(right), yield* filled(expected.byteLength, 0)]
    yield* CommandQueue.dispatch(Groups.product, { a, b, c, inner }, [columns, rows])
    // The sum of an empty product is 0, whatever its sign: no element of these is empty.
    const found = (yield* CommandQueue.read(c, Float32Array)).map((value) => value + 0)
    Expect.numbers(`${rows} x ${inner} by ${inner} x ${columns}`, found, expected)
  }))

const compile = (kernel: Kernel.Kernel) => KernelCache.use((cache) => cache.get(kernel))

type Refusal = readonly [
  name: string,
  reason: Reason["_tag"],
  call: (groups: GroupLimits) => Effect.Effect<unknown, unknown, TestServices>
]

/** What the library refuses on every device that runs such kernels. */
const refusals: ReadonlyArray<Refusal> = [
  ...([-1, 0.5, 2 ** 32, [], [1, -1], [1.5], [1, 1, 1, 1], ["2"], "2", null, {}] as ReadonlyArray<unknown>).map(
    (range): Refusal => [
      `a range of ${JSON.stringify(range)}`,
      "InvalidRequest",
      () => dispatchIdle(range as Workgroup.Range)
    ]
  ),
  ["a range of NaN", "InvalidRequest", () => dispatchIdle([1, NaN])],
  ["a workgroup too wide", "LimitExceeded", ({ maxWorkgroupExtents: [x] }) => compile(idle([], [x + 1]))],
  ["a workgroup too high", "LimitExceeded", ({ maxWorkgroupExtents: [, y] }) => compile(idle([], [1, y + 1]))],
  ["a workgroup too deep", "LimitExceeded", ({ maxWorkgroupExtents: [, , z] }) => compile(idle([], [1, 1, z + 1]))],
  ["a workgroup of too many items", "LimitExceeded", ({ maxWorkgroupExtents: [x, y] }) => compile(idle([], [x, y]))],
  [
    "local memory over the device's",
    "LimitExceeded",
    ({ maxLocalBytes }) => compile(idle([LocalArg("u32", "local_words", Math.floor(maxLocalBytes / 4) + 1)]))
  ],
  [
    "local memory over the device's, in two parts",
    "LimitExceeded",
    ({ maxLocalBytes }) => {
      const length = Math.floor(maxLocalBytes / 8) + 4
      return compile(idle([LocalArg("u32", "first", length), LocalArg("f32", "second", length)]))
    }
  ],
  [
    "an argument too small for its range",
    "InvalidRequest",
    () =>
      Effect.flatMap(
        Effect.all([BufferPool.allocate(64), BufferPool.allocate(64), BufferPool.allocate(64)]),
        ([a, b, c]) => CommandQueue.dispatch(Groups.product, { a, b, c, inner: 1 }, [4, 5])
      )
  ]
]

/** Definitions that are wrong on every device. */
const wrong: { readonly [what: string]: Kernel.Kernel } = {
  "a workgroup without items": idle([], [0]),
  "a workgroup of four dimensions": idle([], [1, 1, 1, 1] as unknown as Workgroup.Size),
  "a workgroup of half an item": idle([], [1, 0.5]),
  "local memory without elements": idle([LocalArg("f32", "tile", 0)]),
  "local memory of no type": idle([LocalArg("bf16" as "f32", "tile", 4)]),
  "atomic floats": idle([LocalArg("f32", "tile", 4, { atomic: true })]),
  "atomic elements that are only read": idle([VectorArg("u32", "x", { access: "read", atomic: true })]),
  "an argument with a name that bodies have": idle([VectorArg("u32", "range")]),
  "local memory of single items": Kernel.make({
    name: "single",
    args: [VectorArg("u32", "y"), LocalArg("u32", "tile", 4)],
    body: { wgsl: "", opencl: "", host: () => {} }
  })
}

export const tests: ReadonlyArray<ConformanceTest> = [
  inWorkgroups(
    "items know where they are in ranges of one, two and three dimensions",
    withGroups(Effect.forEach(sizes, (size) => Effect.forEach(ranges, (range) => checkPlaces(size, range))))
  ),
  inWorkgroups(
    "items know where they are in random ranges",
    { heavy: true },
    withGroups(
      Effect.flatMap(
        scaled(30, 5),
        (count) => forSeeds(seeds(count), (random) => checkPlaces(random.pick(sizes), anyRange(random)))
      )
    )
  ),
  inWorkgroups(
    "a workgroup shares its memory: transposes of random matrices",
    { heavy: true },
    withGroups(Effect.flatMap(scaled(20, 4), (count) => forSeeds(seeds(count), checkTranspose)))
  ),
  inWorkgroups(
    "a workgroup's memory has elements of every type",
    withGroups(forSeeds(seeds(1), checkReverse))
  ),
  inWorkgroups(
    "items wait at barriers in loops: sums of workgroups",
    { heavy: true },
    withGroups(
      Effect.flatMap(
        scaled(20, 4),
        (count) => forSeeds(seeds(count), (random) => checkSums(random, random.integer(1, 3000)))
      )
    )
  ),
  inWorkgroups(
    "atomic functions lose no count: histograms",
    { heavy: true },
    withGroups(
      Effect.flatMap(
        scaled(20, 4),
        (count) => forSeeds(seeds(count), (random) => checkHistogram(random, random.integer(1, 3000)))
      )
    )
  ),
  inWorkgroups(
    "products of random matrices in tiles are exact",
    { heavy: true },
    withGroups(Effect.flatMap(scaled(20, 4), (count) => forSeeds(seeds(count), checkProduct)))
  ),
  inWorkgroups(
    "more than 65,535 workgroups in one dimension run each item once",
    { heavy: true },
    withGroups(
      Effect.flatMap(
        scaled(140_001, 65_537),
        (items) => Effect.andThen(checkPlaces(1, items), checkPlaces([1, 2], [items]))
      )
    )
  ),
  inWorkgroups(
    "no item of an empty range runs",
    withGroups(Effect.gen(function*() {
      const y = yield* filled(64, 7)
      for (const range of [0, [0], [0, 5], [5, 0], [3, 3, 0]] as const) {
        yield* CommandQueue.dispatch(Groups.places([4, 2]), { y }, range)
      }
      Expect.numbers("what was there", yield* CommandQueue.read(y, Uint32Array), new Uint32Array(16).fill(7))
    }))
  ),
  inWorkgroups("a kernel of single items runs all items of a range", function*() {
    const y = yield* filled(64, 7)
    yield* CommandQueue.dispatch(Kernels.iota, { y, start: 100 }, [3, 2, 2])
    const expected = Uint32Array.from({ length: 16 }, (_, at) => at < 12 ? 100 + at : 7)
    Expect.numbers("3 x 2 x 2 items", yield* CommandQueue.read(y, Uint32Array), expected)
  }),
  inWorkgroups(
    "too many workgroups are refused",
    { counting: true },
    withGroups(Effect.gen(function*() {
      const { maxWorkgroups = 0 } = (yield* groupLimits) ?? {}
      const items = 4 * maxWorkgroups + 1
      const reason = items <= 0xffffffff ? "LimitExceeded" : "InvalidRequest"
      for (const range of [[1, items], [items, 2]] as const) {
        yield* Expect.failsWith(`${shown(range)} items`, dispatchIdle(range), reason)
      }
      yield* expectUsable
    }))
  ),
  ...refusals.map(([name, reason, call]) =>
    inWorkgroups(
      `${name}: ${reason}`,
      { counting: true },
      Effect.gen(function*() {
        const groups = yield* groupLimits
        if (groups === undefined) return
        yield* Expect.failsWith(name, call(groups), reason)
        yield* expectUsable
      })
    )
  ),
  ...Object.entries(wrong).map(([name, kernel]) =>
    inWorkgroups(
      `${name}: InvalidRequest`,
      { counting: true },
      Effect.andThen(Expect.failsWith(name, compile(kernel), "InvalidRequest"), expectUsable)
    )
  )
]

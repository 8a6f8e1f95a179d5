/**
 * 64-bit integers in WGSL against BigInt: all functions on pairs of notable and of random numbers, in one kernel.
 */
import { assert, layer } from "@effect/vitest"
import { BufferPool, CommandQueue, Kernel, KernelArgument } from "effect-gpu-pool"
import { GroupKernel, SourceKernel } from "effect-gpu-pool/kernels"
import { WebGpu } from "effect-gpu-pool/webgpu"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as fc from "fast-check"
import { runs } from "../support/explore.ts"
import { describeWith } from "../support/required.ts"

type LongType = "i64" | "u64"

const wrap = (type: LongType, value: bigint): bigint =>
  type === "i64" ? BigInt.asIntN(64, value) : BigInt.asUintN(64, value)

const magnitude = (a: bigint): bigint => a < 0n ? -a : a

/** The binary digits, all 64 of them. */
const digits = (a: bigint): string => BigInt.asUintN(64, a).toString(2).padStart(64, "0")

/** The f32 that is nearest to a whole number, or of two such the even one, with its bits: found by trying neighbours. */
const nearestSingle = (a: bigint): number => {
  const word = new DataView(new ArrayBuffer(4))
  word.setFloat32(0, Number(a))
  const bits = word.getUint32(0)
  const candidates = [bits - 1, bits, bits + 1].filter((candidate) => candidate >= 0).map((candidate) => {
    word.setUint32(0, candidate)
    return { candidate, value: word.getFloat32(0) }
  }).filter(({ value }) => Number.isInteger(value))
  const distance = ({ value }: { readonly value: number }): bigint => magnitude(BigInt(value) - a)
  candidates.sort((x, y) =>
    distance(x) < distance(y) ? -1 : distance(x) > distance(y) ? 1 : x.candidate % 2 - y.candidate % 2
  )
  return candidates[0]!.candidate
}

/** Of the number whose bits are the low half of a number. */
const ofSingle = (type: LongType, a: bigint): bigint => {
  const word = new DataView(new ArrayBuffer(4))
  word.setUint32(0, Number(BigInt.asUintN(32, a)))
  const value = word.getFloat32(0)
  const [least, most] = type === "i64" ? [-(2n ** 63n), 2n ** 63n - 1n] : [0n, 2n ** 64n - 1n]
  if (Number.isNaN(value)) return 0n
  if (!Number.isFinite(value)) return value < 0 ? least : most
  const whole = BigInt(Math.trunc(value))
  return whole < least ? least : whole > most ? most : whole
}

interface Case {
  /** A `vec2<u32>` of `a`, `b` and `c`. */
  readonly wgsl: string
  readonly exact: (a: bigint, b: bigint, c: bigint) => bigint
}

const truth = (text: string): string => `vec2<u32>(select(0u, 1u, ${text}), 0u)`

const casesOf = (type: LongType): { readonly [name: string]: Case } => ({
  add: { wgsl: `add__${type}(a, b)`, exact: (a, b) => a + b },
  subtract: { wgsl: `subtract__${type}(a, b)`, exact: (a, b) => a - b },
  multiply: { wgsl: `multiply__${type}(a, b)`, exact: (a, b) => a * b },
  truncDivide: { wgsl: `truncDivide__${type}(a, b)`, exact: (a, b) => b === 0n ? 0n : a / b },
  fmod: { wgsl: `fmod__${type}(a, b)`, exact: (a, b) => b === 0n ? 0n : a % b },
  negative: { wgsl: `negative__${type}(a)`, exact: (a) => -a },
  sign: { wgsl: `sign__${type}(a)`, exact: (a) => a === 0n ? 0n : a < 0n ? -1n : 1n },
  ...(type === "i64" ? { abs: { wgsl: "abs__i64(a)", exact: magnitude } } : {}),
  minimum: { wgsl: `minimum__${type}(a, b)`, exact: (a, b) => a < b ? a : b },
  maximum: { wgsl: `maximum__${type}(a, b)`, exact: (a, b) => a > b ? a : b },
  clip: {
    wgsl: `clip__${type}(a, b, c)`,
    exact: (a, b, c) => {
      const raised = a > b ? a : b
      return raised < c ? raised : c
    }
  },
  countOneBits: { wgsl: `countOneBits__${type}(a)`, exact: (a) => BigInt(digits(a).replaceAll("0", "").length) },
  countLeadingZeros: {
    wgsl: `countLeadingZeros__${type}(a)`,
    exact: (a) => BigInt(`${digits(a)}1`.indexOf("1"))
  },
  leftShift: { wgsl: `leftShift__${type}(a, b.x)`, exact: (a, b) => a << BigInt.asUintN(6, b) },
  rightShift: { wgsl: `rightShift__${type}(a, b.x)`, exact: (a, b) => a >> BigInt.asUintN(6, b) },
  less: { wgsl: truth(`less__${type}(a, b)`), exact: (a, b) => a < b ? 1n : 0n },
  toSingle: { wgsl: `vec2<u32>(bitcast<u32>(f32__${type}(a)), 0u)`, exact: (a) => BigInt(nearestSingle(a)) },
  ofSingle: { wgsl: `${type}__f32(bitcast<f32>(a.x))`, exact: (a) => ofSingle(type, a) }
})

const kernelOf = (type: LongType) => {
  const texts = Object.values(casesOf(type)).map(({ wgsl }) => wgsl)
  return Kernel.make({
    name: `longs_${type}`,
    args: [
      KernelArgument.VectorArg(type, "numbers", { access: "read" }),
      KernelArgument.VectorArg(type, "results", { access: "write" })
    ],
    body: {
      wgsl: [
        "let a = numbers[3u * i];",
        "let b = numbers[3u * i + 1u];",
        "let c = numbers[3u * i + 2u];",
        ...texts.map((text, at) => `results[${texts.length}u * i + ${at}u] = ${text};`)
      ].join("\n")
    }
  })
}

const kernels = { i64: kernelOf("i64"), u64: kernelOf("u64") }

type Gpu = BufferPool.BufferPool | CommandQueue.CommandQueue

type Triple = readonly [a: bigint, b: bigint, c: bigint]

/** All results that differ from BigInt's, in words. */
const wrongOf = Effect.fnUntraced(function*(type: LongType, triples: ReadonlyArray<Triple>) {
  const cases = Object.entries(casesOf(type))
  const words = BigUint64Array.from(triples.flat(), (number) => BigInt.asUintN(64, number))
  const numbers = yield* BufferPool.allocate(words.byteLength)
  const results = yield* BufferPool.allocate(triples.length * cases.length * 8)
  yield* CommandQueue.write(numbers, words)
  yield* CommandQueue.dispatch(kernels[type], { numbers, results }, triples.length)
  const bytes = yield* CommandQueue.read(results, Uint8Array)
  const found = new BigUint64Array(bytes.buffer, bytes.byteOffset, triples.length * cases.length)
  return triples.flatMap((triple, row) => {
    const [a, b, c] = [wrap(type, triple[0]), wrap(type, triple[1]), wrap(type, triple[2])]
    return cases.flatMap(([name, { exact }], column) => {
      const [got, wanted] = [wrap(type, found[row * cases.length + column]!), wrap(type, exact(a, b, c))]
      return got === wanted ? [] : [`${name} of ${type} ${a}, ${b}, ${c}: ${got}, not ${wanted}`]
    })
  })
}, Effect.scoped)

/** Powers of two and their neighbours, of both signs. */
const notable = [
  ...new Set(
    [0, 1, 2, 3, 7, 15, 16, 17, 23, 24, 25, 31, 32, 33, 47, 48, 52, 53, 62, 63, 64].flatMap((power) =>
      [-1n, 0n, 1n].flatMap((step) => [2n ** BigInt(power) + step, -(2n ** BigInt(power)) + step])
    ).concat(0x5f00_0000n, 0x5eff_ffffn, 0x5f7f_ffffn, 0x5f80_0000n, 0x7f80_0000n, 0x7f80_0001n, 0xff80_0001n)
      .map((number) => BigInt.asUintN(64, number))
  )
]

const pairs: ReadonlyArray<Triple> = notable.flatMap((a, row) =>
  notable.map((b, column): Triple => [a, b, notable[(row * 7 + column * 3) % notable.length]!])
)

/** Numbers of any length in bits, or near a notable one, or with few digits of 16 bits that are not all zeros or ones. */
const anyLong: fc.Arbitrary<bigint> = fc.oneof(
  fc.tuple(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), fc.nat(63)).map(([number, places]) => number >> BigInt(places)),
  fc.tuple(fc.constantFrom(...notable), fc.integer({ min: -3, max: 3 })).map(([number, step]) => number + BigInt(step)),
  fc.array(fc.constantFrom(0n, 1n, 0x7fffn, 0x8000n, 0xfffen, 0xffffn), { minLength: 4, maxLength: 4 }).map((parts) =>
    parts.reduce<bigint>((number, part) => (number << 16n) | part, 0n)
  )
)

/** As many as a device computes at a time. */
const triples = fc.array(fc.tuple(anyLong, anyLong, anyLong), { minLength: 1, maxLength: 2000, size: "max" })

/** Each workgroup adds its elements up in local memory, in pairs. */
const groupSums = GroupKernel.make({
  name: "group_sums",
  args: [
    KernelArgument.VectorArg("i64", "x", { access: "read", withOffset: true }),
    KernelArgument.VectorArg("i64", "sums", { access: "write", withOffset: true }),
    KernelArgument.LocalArg("i64", "part", 64)
  ],
  workgroupSize: 64,
  body: {
    wgsl: `
      part[local_index] = select(vec2<u32>(0u, 0u), x[x_offset + global_id.x], global_id.x < range.x);
      for (var half = 32u; half > 0u; half >>= 1u) {
        workgroupBarrier();
        if (local_index < half) { part[local_index] = add__i64(part[local_index], part[local_index + half]); }
      }
      if (local_index == 0u) { sums[sums_offset + group_id.x] = part[0]; }`
  }
})

/** A source with a signature of its own: values at their places in its block. */
const passed = SourceKernel.make({
  name: "passed",
  args: [
    KernelArgument.ScalarArg("u32", "first"),
    KernelArgument.ScalarArg("i64", "a"),
    KernelArgument.ScalarArg("vec3<u64>", "b"),
    KernelArgument.ScalarArg("u8", "last"),
    KernelArgument.VectorArg("i64", "y", { access: "write" })
  ],
  workgroupSize: 1,
  source: {
    wgsl: `
      struct Values { first: u32, a: vec2<u32>, b: array<vec4<u32>, 2>, last: u32 }
      @group(0) @binding(0) var<uniform> values: Values;
      @group(0) @binding(1) var<storage, read_write> y: array<vec2<u32>>;
      @compute @workgroup_size(1)
      fn passed() {
        y[0] = vec2<u32>(values.first, values.last);
        y[1] = values.a;
        y[2] = values.b[0].xy;
        y[3] = values.b[0].zw;
        y[4] = values.b[1].xy;
      }`
  }
})

describeWith(["webgpu"], "64-bit integers in WGSL", () => {
  layer(BufferPool.layer().pipe(Layer.provideMerge(WebGpu.layer())))((it) => {
    it.effect("are passed by value to sources with signatures of their own", () =>
      Effect.gen(function*() {
        const y = yield* BufferPool.allocate(5 * 8)
        const b = [2n ** 64n - 1n, 2n ** 32n, 5n]
        yield* CommandQueue.dispatch(passed, { first: 7, a: -(2n ** 63n) + 1n, b, last: 255, y }, 1)
        const expected = [7n + (255n << 32n), -(2n ** 63n) + 1n, -1n, 2n ** 32n, 5n]
        assert.deepStrictEqual([...yield* CommandQueue.read(y, BigInt64Array)], expected)
      }))

    it.effect("are elements of local memory and of views", () =>
      Effect.gen(function*() {
        const data = BigInt64Array.from(
          { length: 203 },
          (_, k) => BigInt.asIntN(64, BigInt(k + 1) * 0x9e3779b97f4a7c15n)
        )
        const x = yield* BufferPool.allocate(data.byteLength)
        const sums = yield* BufferPool.allocate(5 * 8)
        yield* CommandQueue.write(x, data)
        yield* CommandQueue.write(sums, BigInt64Array.of(7n, 7n, 7n, 7n, 7n))
        const views = { x: { buffer: x, offset: 3 }, sums: { buffer: sums, offset: 1 } }
        yield* CommandQueue.dispatch(groupSums, views, 200)
        const sumOf = (from: number, to: number) =>
          BigInt.asIntN(64, data.subarray(3 + from, 3 + to).reduce((sum, value) => sum + value, 0n))
        const expected = [7n, sumOf(0, 64), sumOf(64, 128), sumOf(128, 192), sumOf(192, 200)]
        assert.deepStrictEqual([...yield* CommandQueue.read(sums, BigInt64Array)], expected)
      }))

    for (const type of ["i64", "u64"] as const) {
      it.effect(`are exact: ${type}, pairs of notable numbers`, () =>
        Effect.gen(function*() {
          assert.deepStrictEqual((yield* wrongOf(type, pairs)).slice(0, 10), [])
        }))

      it.effect(`are exact: ${type}, random numbers`, () =>
        Effect.flatMap(Effect.context<Gpu>(), (context) =>
          Effect.promise(() =>
            fc.assert(
              fc.asyncProperty(triples, async (some) => {
                const wrong = await Effect.runPromiseWith(context)(wrongOf(type, some))
                assert.deepStrictEqual(wrong.slice(0, 10), [])
              }),
              { numRuns: runs(200) }
            )
          )))
    }
  })
})

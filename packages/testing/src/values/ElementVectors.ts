/**
 * Vectors of every element type, in kernels written by hand and in kernels made of expressions: elements that share a word
 * are written by different items, at any offset and in vectors of any length, and all others stay as they were.
 *
 * @internal
 */
import * as ElementwiseKernel from "@effect-gpu-pool/arrays/ElementwiseKernel"
import * as Expr from "@effect-gpu-pool/arrays/Expr"
import { BufferPool, CommandQueue, DType, SubRegion } from "effect-gpu-pool"
import { DeviceContext } from "effect-gpu-pool/DeviceContext"
import * as Kernel from "effect-gpu-pool/Kernel"
import { LocalArg, type NumericArgument, ScalarArg, VectorArg } from "effect-gpu-pool/KernelArgument"
import { GroupKernel } from "effect-gpu-pool/kernels"
import { elementBytes, type VectorLength } from "effect-gpu-pool/ValueType"
import * as Effect from "effect/Effect"
import { type ConformanceTest, inGroup, scaled } from "../ConformanceTest.ts"
import * as Expect from "../Expect.ts"
import { forSeeds, Random, seeds } from "../Random.ts"

const test = inGroup("values")

/** Whether WGSL bodies use functions for the elements of a vector. */
const isPacked = (dtype: DType.DType): boolean => DType.byteSize(dtype) < 4 && dtype !== "f16"

/** How many numbers of a typed array an element has. */
const numbersOf = (dtype: DType.DType): number => dtype === "c64" ? 2 : 1

/** Copies an element of so many numbers. */
const copyElement = (count: number, to: Uint8Array, at: number, from: Uint8Array, index: number): void => {
  for (let part = 0; part < count; part++) to[count * at + part] = from[count * index + part]!
}

/**
 * Scatters elements: item `i` reads element `i` and writes one of every `gap`, in an order that `stride` gives, which has no
 * common divisor with the count.
 */
const scatterOf = (dtype: DType.DType) => {
  const load = "x_offset + i"
  const place = "y_offset + (i * stride) % items * gap"
  return Kernel.make({
    name: `scatter_${dtype}`,
    args: [
      VectorArg(dtype, "x", { access: "read", withOffset: true }),
      VectorArg(dtype, "y", { withOffset: true }),
      ScalarArg("u32", "stride"),
      ScalarArg("u32", "gap"),
      ScalarArg("u32", "items")
    ],
    body: {
      wgsl: isPacked(dtype) ? `y_store(${place}, x_load(${load}));` : `y[${place}] = x[${load}];`,
      opencl: `y[${place}] = x[${load}];`,
      host: Kernel.hostFunction(
        { copyElement, count: numbersOf(dtype) },
        ({ copyElement, count }) => (from: number, to: number, given: Readonly<Record<string, unknown>>) => {
          const { x, y } = given as Readonly<Record<"x" | "y", Uint8Array>>
          const { gap, items, stride, x_offset, y_offset } = given as Readonly<Record<string, number>>
          for (let i = from; i < to; i++) {
            copyElement(count, y, y_offset! + (i * stride!) % items! * gap!, x, x_offset! + i)
          }
        }
      )
    }
  })
}

/** Any bytes that are elements of the type; of floats none that is NaN, since those do not keep their bits. */
const anyElements = (random: Random, dtype: DType.DType, length: number): Uint8Array<ArrayBuffer> => {
  const bytes = random.bytes(length * DType.byteSize(dtype))
  if (dtype === "bool") return bytes.map((byte) => byte & 1)
  if (!dtype.startsWith("f") && dtype !== "c64") return bytes
  DType.viewUnsafe<"f32" | "f16" | "f64">(dtype as "f32", bytes.buffer, 0, length).set(
    Array.from({ length: length * numbersOf(dtype) }, () => random.integer(-2000, 2000) / 4)
  )
  return bytes
}

const one = (random: Random, dtype: DType.DType, count: number) =>
  Effect.gen(function*() {
    const itemSize = DType.byteSize(dtype)
    const gap = random.integer(1, 3)
    const [xOffset, yOffset] = [random.integer(0, 5), random.integer(0, 5)]
    const stride = [7, 5, 3, 1].find((stride) => count % stride !== 0 || stride === 1)!
    const from = anyElements(random, dtype, xOffset + count)
    // The vector ends in the middle of a word and of the buffer's last one, or at a word that belongs to others.
    const isLast = random.integer(0, 1) === 0
    const least = yOffset + (count - 1) * gap + 1
    const before = anyElements(random, dtype, isLast ? least : Math.ceil(least / 4) * 4)
    const after = before.slice()
    for (let i = 0; i < count; i++) {
      const at = (yOffset + (i * stride) % count * gap) * itemSize
      after.set(from.subarray((xOffset + i) * itemSize, (xOffset + i + 1) * itemSize), at)
    }
    const { limits } = yield* DeviceContext.useSync((device) => device.info)
    const start = Math.max(8, limits.regionAlignment)
    const behind = random.bytes(isLast ? 0 : 9)
    const whole = yield* BufferPool.allocate(start + before.length + behind.length)
    yield* CommandQueue.write(whole, Uint8Array.of(...new Uint8Array(start), ...before, ...behind))
    const y = yield* SubRegion.make(whole, { offset: start, size: before.length })
    const x = yield* BufferPool.allocate(from.length)
    yield* CommandQueue.write(x, from)
    const args = { x: { buffer: x, offset: xOffset }, y: { buffer: y, offset: yOffset }, stride, gap, items: count }
    yield* CommandQueue.dispatch(scatterOf(dtype), args, count)
    const what = `${count} elements of ${dtype} from ${xOffset} to ${yOffset}, ${gap} apart`
    const found = yield* CommandQueue.read(whole, Uint8Array)
    Expect.numbers(what, found.subarray(start), [...after, ...behind])
  }).pipe(Effect.scoped)

const overTypes = <E, R>(body: (dtype: DType.DType) => Effect.Effect<void, E, R>) =>
  Effect.flatMap(
    DeviceContext.useSync((device) => device.info),
    ({ dtypes }) => Effect.forEach(dtypes, body, { discard: true })
  )

const neighbours = overTypes((dtype) =>
  forSeeds(
    seeds(4),
    (random) => Effect.forEach([1, 2, 3, 5, 64, 67, 1001], (count) => one(random, dtype, count), { discard: true })
  )
)

/** Every element where it is, twice as many items as words. */
const inExpressions = overTypes((dtype) => {
  const args = [
    VectorArg(dtype, "x", { access: "read", withOffset: true }),
    VectorArg(dtype, "y", { access: "write", withOffset: true }),
    VectorArg("bool", "same", { access: "write" })
  ] as const
  const kernel = ElementwiseKernel.make({
    name: `elementwise_${dtype}`,
    args,
    outputs: ({ x }: { readonly x: Expr.Expr }) => ({
      y: Expr.at(x, Expr.subtract(Expr.index, 1)),
      same: Expr.equal(x, Expr.at(x, Expr.subtract(Expr.index, 1)))
    })
  })
  return forSeeds(seeds(2), (random) =>
    Effect.forEach([1, 2, 3, 6, 65, 259], (count) =>
      Effect.gen(function*() {
        const itemSize = DType.byteSize(dtype)
        const [xOffset, yOffset] = [random.integer(1, 4), random.integer(0, 4)]
        const from = anyElements(random, dtype, xOffset + count)
        const before = anyElements(random, dtype, yOffset + count + 2)
        const [x, y, same] = [
          yield* BufferPool.allocate(from.length),
          yield* BufferPool.allocate(before.length),
          yield* BufferPool.allocate(count)
        ]
        yield* CommandQueue.write(x, from)
        yield* CommandQueue.write(y, before)
        const values = { x: { buffer: x, offset: xOffset }, y: { buffer: y, offset: yOffset }, same }
        yield* CommandQueue.dispatch(kernel, values as never, count)
        // The index before the first one is beyond the last.
        const elementAt = (item: number) => {
          const at = item === 0 ? xOffset + count - 1 : xOffset + item - 1
          return from.subarray(at * itemSize, (at + 1) * itemSize)
        }
        const after = before.slice()
        for (let item = 0; item < count; item++) after.set(elementAt(item), (yOffset + item) * itemSize)
        const what = `${count} elements of ${dtype} from ${xOffset} to ${yOffset}`
        Expect.numbers(what, yield* CommandQueue.read(y, Uint8Array), after)
        const equal = Array.from({ length: count }, (_, item) => {
          const own = from.subarray((xOffset + item) * itemSize, (xOffset + item + 1) * itemSize)
          return own.join() === elementAt(item).join() ? 1 : 0
        })
        Expect.numbers(`which are equal, of ${what}`, yield* CommandQueue.read(same, Uint8Array), equal)
      }).pipe(Effect.scoped), { discard: true }))
})

/** The elements of each workgroup in the other order, by way of local memory. */
const reverseOf = (dtype: DType.DType) => {
  const [load, store] = isPacked(dtype)
    ? ["x_load(global_id.x)", "x_store(global_id.x, part[63u - local_index]);"]
    : ["x[global_id.x]", "x[global_id.x] = part[63u - local_index];"]
  return GroupKernel.make({
    name: `reverse_${dtype}`,
    args: [VectorArg(dtype, "x"), LocalArg(dtype, "part", 64)] as const,
    workgroupSize: 64,
    body: {
      wgsl: `part[local_index] = ${load};
workgroupBarrier();
${store}`,
      opencl: `part[local_index] = x[global_id.x];
barrier(CLK_LOCAL_MEM_FENCE);
x[global_id.x] = part[63 - local_index];`,
      host: (group, given) => {
        const { part, x } = given as unknown as { readonly part: Uint8Array; readonly x: Uint8Array }
        const count = part.length / 64
        group.items(({ globalId, localIndex }) => {
          for (let at = 0; at < count; at++) part[count * localIndex + at] = x[count * globalId.x + at]!
        })
        group.items(({ globalId, localIndex }) => {
          for (let at = 0; at < count; at++) x[count * globalId.x + at] = part[count * (63 - localIndex) + at]!
        })
      }
    }
  })
}

const inGroups = overTypes((dtype) =>
  Effect.gen(function*() {
    const { limits } = yield* DeviceContext.useSync((device) => device.info)
    if (limits.groups === undefined) return
    const itemSize = DType.byteSize(dtype)
    const elements = anyElements(new Random(1), dtype, 128)
    const x = yield* BufferPool.allocate(elements.length)
    yield* CommandQueue.write(x, elements)
    yield* CommandQueue.dispatch(reverseOf(dtype), { x }, [128])
    const expected = Array.from({ length: 128 }, (_, item) => {
      const from = (item < 64 ? 63 - item : 191 - item) * itemSize
      return [...elements.subarray(from, from + itemSize)]
    })
    Expect.numbers(`${dtype} in workgroups`, yield* CommandQueue.read(x, Uint8Array), expected.flat())
  }).pipe(Effect.scoped)
)

/** Many items write an element each of a few, 0x55... or 0xaa..., of which no bits may be mixed. */
const contended = overTypes((dtype) => {
  // No language promises that a complex number is written whole.
  if (dtype === "bool" || dtype === "c64" || dtype.startsWith("f")) return Effect.void
  const bytes = DType.byteSize(dtype)
  const [one, other] = [0x55, 0xaa].map((byte) => new Uint8Array(bytes).fill(byte))
  const place = "y_offset + i % 3"
  const [load, store] = isPacked(dtype)
    ? ["x_load((i / 3u) % 2u)", (value: string) => `y_store(${place}u, ${value});`] as const
    : ["x[(i / 3u) % 2u]", (value: string) => `y[${place}u] = ${value};`] as const
  const kernel = Kernel.make({
    name: `contended_${dtype}`,
    args: [VectorArg(dtype, "x", { access: "read" }), VectorArg(dtype, "y", { access: "write", withOffset: true })],
    body: {
      wgsl: store(load),
      opencl: `y[${place}] = x[(i / 3) % 2];`,
      host: (from: number, to: number, given: Readonly<Record<string, unknown>>) => {
        const { x, y, y_offset } = given as {
          readonly x: Uint8Array
          readonly y: Uint8Array
          readonly y_offset: number
        }
        for (let i = from; i < to; i++) y[y_offset + i % 3] = x[Math.floor(i / 3) % 2]!
      }
    }
  })
  return Effect.gen(function*() {
    const x = yield* BufferPool.allocate(2 * bytes)
    yield* CommandQueue.write(x, Uint8Array.of(...one!, ...other!))
    const y = yield* BufferPool.allocate(5 * bytes)
    yield* CommandQueue.fill(y, Uint8Array.of(7))
    const rounds = yield* scaled(30, 5)
    for (let round = 0; round < rounds; round++) {
      yield* CommandQueue.dispatch(kernel, { x, y: { buffer: y, offset: 1 } } as never, 30_000)
      const found = yield* CommandQueue.read(y, Uint8Array)
      const what = `${dtype}, round ${round}`
      const beside = Uint8Array.of(...found.subarray(0, bytes), ...found.subarray(4 * bytes))
      Expect.numbers(`beside, ${what}`, beside, new Uint8Array(2 * bytes).fill(7))
      for (const at of [1, 2, 3]) {
        const element = found.subarray(at * bytes, (at + 1) * bytes)
        Expect.isTrue(
          `${what}: [${element.join(", ")}] is one of those stored`,
          [one!, other!].some((stored) => stored.join() === element.join())
        )
      }
    }
  }).pipe(Effect.scoped)
})

const missing = Effect.gen(function*() {
  const { dtypes } = yield* DeviceContext.useSync((device) => device.info)
  for (const dtype of DType.all.filter((dtype) => !dtypes.has(dtype))) {
    const kernel = Kernel.make({ name: "missing", args: [VectorArg(dtype, "x")], body: { wgsl: "", opencl: "" } })
    const x = yield* BufferPool.allocate(8)
    const error = yield* Expect.failsWith(dtype, CommandQueue.dispatch(kernel, { x }, 1), "Unsupported")
    Expect.isTrue(`it names the argument: ${error.message}`, error.message.includes(`${dtype} (argument "x")`))
  }
}).pipe(Effect.scoped)

const truths = Effect.gen(function*() {
  const kernel = Kernel.make({
    name: "truths",
    args: [ScalarArg("bool", "a"), ScalarArg("u8", "b"), ScalarArg("bool", "c"), VectorArg("u32", "y")],
    body: {
      wgsl: "y[0] = select(0u, 1u, a) + select(0u, 2u, !a && c) + b;",
      opencl: "y[0] = (a ? 1 : 0) + (!a && c ? 2 : 0) + b;",
      host: (_from, _to, { a, b, c, y }) => {
        y[0] = (a === true ? 1 : 0) + (a === false && c === true ? 2 : 0) + b
      }
    }
  })
  for (const [a, c, sum] of [[false, false, 40], [true, false, 41], [true, true, 41], [false, true, 42]] as const) {
    const y = yield* BufferPool.allocate(4)
    yield* CommandQueue.dispatch(kernel, { a, b: 40, c, y }, 1)
    Expect.numbers(`${a} and ${c}`, yield* CommandQueue.read(y, Uint32Array), [sum])
  }
  const y = yield* BufferPool.allocate(4)
  const wrong = CommandQueue.dispatch(kernel, { a: 1 as never, b: 0, c: true, y }, 1)
  const { message } = yield* Expect.failsWith("a number for a bool", wrong, "InvalidRequest")
  Expect.isTrue(message, message.includes(`argument "a" is 1, no bool`))
}).pipe(Effect.scoped)

/** Each lane of each vector, doubled, into a vector of as many lanes. */
const doubleOf = (element: "f32" | "i32" | "u32" | "f16" | "u8" | "i64" | "f64", length: VectorLength) => {
  const dtype = `vec${length}<${element}>` as const
  const stride = length === 3 ? 4 : length
  return {
    dtype,
    stride,
    kernel: Kernel.make({
      name: `double_${element}_${length}`,
      args: [
        VectorArg(dtype, "x", { access: "read", withOffset: true }),
        VectorArg(dtype, "y"),
        VectorArg("u32", "facts", { access: "write" })
      ],
      body: {
        wgsl: "y[i] = x[x_offset + i] + x[x_offset + i]; if (i == 0u) { facts[0] = x_length; facts[1] = y_length; }",
        opencl: "y[i] = x[x_offset + i] + x[x_offset + i]; if (i == 0) { facts[0] = x_length; facts[1] = y_length; }",
        host: Kernel.hostFunction(
          { length, stride },
          ({ length, stride }) => (from: number, to: number, given: Readonly<Record<string, unknown>>) => {
            const { facts, x, y } = given as Readonly<Record<"facts" | "x" | "y", Uint32Array>>
            const offset = given["x_offset"] as number
            for (let i = from; i < to; i++) {
              for (let lane = 0; lane < length; lane++) {
                const value = x[(offset + i) * stride + lane]!
                y[i * stride + lane] = value + value
              }
            }
            facts[0] = x.length / stride
            facts[1] = y.length / stride
          }
        )
      }
    })
  }
}

const doubled = Effect.fnUntraced(function*(
  element: Parameters<typeof doubleOf>[0],
  length: VectorLength
) {
  const { dtype, kernel, stride } = doubleOf(element, length)
  const itemSize = stride * DType.byteSize(element)
  Expect.equal(`bytes of ${dtype}`, elementBytes(dtype), itemSize)
  const asElement = (value: number) => element === "i64" ? BigInt(value) : value
  const [offset, count] = [2, 7]
  const input = DType.viewUnsafe<DType.DType>(
    element,
    new ArrayBuffer((offset + count) * itemSize),
    0,
    (offset + count) * stride
  )
  for (let at = 0; at < input.length; at++) input[at] = asElement(at % 60 + 1)
  const expected = DType.viewUnsafe<DType.DType>(element, new ArrayBuffer(count * itemSize), 0, count * stride)
  for (let at = 0; at < expected.length; at++) {
    if (at % stride < length) expected[at] = asElement(2 * Number(input[at + offset * stride]!))
  }
  // Some bytes more than whole vectors do not count.
  const x = yield* BufferPool.allocate(input.byteLength + (itemSize > 4 ? 4 : 0))
  const y = yield* BufferPool.allocate(expected.byteLength)
  const facts = yield* BufferPool.allocate(8)
  yield* CommandQueue.write(x, input as Uint8Array<ArrayBuffer>)
  yield* CommandQueue.fill(y, 0)
  yield* CommandQueue.dispatch(kernel, { x: { buffer: x, offset }, y, facts }, count)
  const bytes = yield* CommandQueue.read(y, Uint8Array)
  const found = DType.viewUnsafe<DType.DType>(element, bytes.slice().buffer, 0, expected.length)
  // What is between vectors of three is nobody's.
  const lanes = (numbers: ArrayLike<number | bigint>) =>
    Array.from(numbers, Number).filter((_, at) => at % stride < length)
  Expect.same(`twice ${dtype}`, lanes(found), lanes(expected))
  Expect.numbers(`lengths of ${dtype}`, yield* CommandQueue.read(facts, Uint32Array), [offset + count, count])
}, Effect.scoped)

const shortVectors = Effect.gen(function*() {
  const { dtypes } = yield* DeviceContext.useSync((device) => device.info)
  for (const element of ["f32", "i32", "u32", "f16"] as const) {
    if (!dtypes.has(element)) continue
    for (const length of [2, 3, 4] as const) yield* doubled(element, length)
  }
})

/** What only some languages have is right there, and refused elsewhere, with the reason. */
const otherVectors = Effect.gen(function*() {
  const { dtypes } = yield* DeviceContext.useSync((device) => device.info)
  for (const [element, length] of [["f32", 8], ["u32", 16], ["u8", 4], ["u8", 16], ["i64", 2], ["f64", 3]] as const) {
    if (!dtypes.has(element)) continue
    yield* Effect.matchEffect(doubled(element, length), {
      onSuccess: () => Effect.void,
      onFailure: (error) =>
        Effect.sync(() => {
          const { message } = Expect.reasonOf(`vec${length}<${element}>`, error, "Unsupported")
          const named = `vec${length}<${element}> (argument "x")`
          Expect.isTrue(`it names the argument and its type: ${message}`, message.includes(named))
        })
    })
  }
})

const vectorsInExpressions = Effect.gen(function*() {
  const x = yield* BufferPool.allocate(64)
  const wide = VectorArg("vec4<f32>", "x") as unknown as NumericArgument
  const kernel = ElementwiseKernel.make({ name: "wide", args: [wide], outputs: () => ({}) })
  const { message } = yield* Expect.failsWith(
    "vec4",
    CommandQueue.dispatch(kernel, { x } as never, 1),
    "InvalidRequest"
  )
  Expect.isTrue(message, message.includes(`"x" is a vector of vec4<f32>`))
}).pipe(Effect.scoped)

export const tests: ReadonlyArray<ConformanceTest> = [
  test("elements of every type are written beside others by other items", neighbours),
  test("elements of every type are stored by expressions, at any offset", inExpressions),
  test("an element that many items write has the value of one", contended),
  test("elements of every type pass through local memory of a workgroup", inGroups),
  test("a type that the device lacks is Unsupported in vectors, with the argument's name", missing),
  test("short vectors of two, three and four numbers are elements", shortVectors),
  test("other short vectors are elements, or Unsupported with the argument's name", otherVectors),
  test("short vectors are no elements of expressions", vectorsInExpressions),
  test("truth values are passed by value", truths)
]

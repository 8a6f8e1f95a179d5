/** Complex numbers on every backend: against a plain implementation in doubles, with numbers whose results are exact. */
import { ElementwiseKernel, Expr, ReductionKernel, ScanKernel } from "@effect-gpu-pool/arrays"
import { assert, describe, expectTypeOf, layer } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as BufferPool from "effect-gpu-pool/BufferPool"
import * as CommandQueue from "effect-gpu-pool/CommandQueue"
import * as DType from "effect-gpu-pool/DType"
import * as KernelArgument from "effect-gpu-pool/KernelArgument"
import * as Effect from "effect/Effect"
import * as fc from "fast-check"
import { runs } from "../../../../../test/support/explore.ts"
import * as DeviceArray from "../../../src/array/DeviceArray.ts"
import { costOf, type GpuLayer, onEveryBackend, property, refuses } from "../ArrayBackends.ts"

type Pair = readonly [real: number, imaginary: number]

type Complex = DeviceArray.DeviceArray<"c64">

const add = ([a, b]: Pair, [c, d]: Pair): Pair => [a + c, b + d]

const multiply = ([a, b]: Pair, [c, d]: Pair): Pair => [a * c - b * d, a * d + b * c]

const sumOf = (terms: ReadonlyArray<Pair>): Pair => terms.reduce(add, [0, 0])

const part = fc.integer({ min: -8, max: 8 }).map((quarters) => quarters / 4)

const number: fc.Arbitrary<Pair> = fc.tuple(part, part)

const numbers = (length: number): fc.Arbitrary<ReadonlyArray<Pair>> =>
  fc.array(number, { minLength: length, maxLength: length })

const upload = (pairs: ReadonlyArray<Pair>, shape: ReadonlyArray<number> = [pairs.length]) =>
  DeviceArray.fromHost(Float32Array.from(pairs.flat()), { dtype: "c64", shape })

/** The elements; a sum of -0 and 0 is 0 in some orders only. */
const read = (array: DeviceArray.DeviceArray) =>
  Effect.gen(function*() {
    strictEqual(array.dtype, "c64")
    const flat = (yield* DeviceArray.toHost(array)) as Float32Array
    return Array.from({ length: flat.length / 2 }, (_, at): Pair => [flat[2 * at]! + 0, flat[2 * at + 1]! + 0])
  })

const plain = (pairs: ReadonlyArray<Pair>): ReadonlyArray<Pair> => pairs.map(([x, y]) => [x + 0, y + 0])

/** Whether it is the same in one kernel, too. */
const agree = Effect.fnUntraced(function*(made: DeviceArray.Computed, expected: ReadonlyArray<Pair>) {
  deepStrictEqual(yield* read(yield* made), plain(expected))
  deepStrictEqual(yield* read(yield* DeviceArray.lazy(made)), plain(expected))
})

const products = fc.tuple(fc.nat(4), fc.nat(4), fc.nat(4), fc.boolean(), fc.constantFrom("both", "left", "right"))
  .chain(([rows, depth, columns, transposed, complex]) =>
    fc.record({
      rows: fc.constant(rows),
      depth: fc.constant(depth),
      columns: fc.constant(columns),
      transposed: fc.constant(transposed),
      complex: fc.constant(complex),
      a: numbers(rows * depth),
      b: numbers(depth * columns)
    })
  )

const reals = (pairs: ReadonlyArray<Pair>): ReadonlyArray<Pair> => pairs.map(([x]) => [x, 0])

const laws = (gpu: GpuLayer): void => {
  layer(gpu)((it) => {
    it.effect("have sums, products and parts", () =>
      property(
        fc.nat(9).chain((length) => fc.tuple(numbers(length), numbers(length), part)),
        ([a, b, factor]) =>
          Effect.gen(function*() {
            const [x, y] = [yield* upload(a), yield* upload(b)]
            yield* agree(DeviceArray.add(x, y), a.map((z, at) => add(z, b[at]!)))
            yield* agree(DeviceArray.subtract(x, y), a.map(([p, q], at) => [p - b[at]![0], q - b[at]![1]]))
            yield* agree(DeviceArray.multiply(x, y), a.map((z, at) => multiply(z, b[at]!)))
            yield* agree(DeviceArray.multiply(x, factor), a.map(([p, q]) => [p * factor, q * factor]))
            yield* agree(DeviceArray.subtract(factor, x), a.map(([p, q]) => [factor - p, -q]))
            yield* agree(DeviceArray.square(x), a.map((z) => multiply(z, z)))
            yield* agree(DeviceArray.conj(x), a.map(([p, q]) => [p, -q]))
            const [real, imag] = [yield* DeviceArray.real(x), yield* DeviceArray.imag(x)]
            expectTypeOf(real).toEqualTypeOf<DeviceArray.DeviceArray<"f32">>()
            deepStrictEqual(yield* DeviceArray.toHost(real), Float32Array.from(a, ([p]) => p))
            deepStrictEqual(yield* DeviceArray.toHost(imag), Float32Array.from(a, ([, q]) => q))
            yield* agree(DeviceArray.complex(real, imag), a)
            yield* agree(DeviceArray.complex(real, factor), a.map(([p]) => [p, factor]))
            const alike = Uint8Array.from(a, (z, at) => z[0] === b[at]![0] && z[1] === b[at]![1] ? 1 : 0)
            deepStrictEqual(yield* DeviceArray.toHost(yield* DeviceArray.equal(x, y)), alike)
            deepStrictEqual(yield* DeviceArray.toHost(yield* DeviceArray.notEqual(x, y)), alike.map((bit) => 1 - bit))
          }),
        { numRuns: runs(30) }
      ))

    it.effect("have totals, running totals and matrix products", () =>
      property(products, ({ a, b, columns, complex, depth, rows, transposed }) =>
        Effect.gen(function*() {
          const [left, right] = [complex === "right" ? reals(a) : a, complex === "left" ? reals(b) : b]
          const whole = yield* upload(left, transposed ? [depth, rows] : [rows, depth])
          const x = transposed ? yield* DeviceArray.transpose(whole) : whole
          const y = yield* upload(right, [depth, columns])
          const [m, n] = [
            complex === "right" ? yield* DeviceArray.real(x) : x,
            complex === "left" ? yield* DeviceArray.real(y) : y
          ]
          const at = (row: number, k: number): Pair => left[transposed ? k * rows + row : row * depth + k]!
          const expected = Array.from({ length: rows * columns }, (_, index) =>
            sumOf(Array.from({ length: depth }, (_, k) =>
              multiply(at(Math.floor(index / columns), k), right[k * columns + index % columns]!))))
          deepStrictEqual(yield* read(yield* DeviceArray.matmul(m, n)), plain(expected))
          const further = yield* DeviceArray.slice(m, [{ start: 1 }])
          deepStrictEqual(yield* read(yield* DeviceArray.matmul(further, n)), plain(expected.slice(columns)))
          deepStrictEqual(yield* read(yield* DeviceArray.sum(x)), plain([sumOf(left)]))
          const byRows = Array.from({ length: rows }, (_, row) =>
            sumOf(Array.from({ length: depth }, (_, k) =>
              at(row, k))))
          deepStrictEqual(yield* read(yield* DeviceArray.sum(x, { axis: 1 })), plain(byRows))
          const running = left.map((_, last) =>
            sumOf(left.slice(0, last + 1))
          )
          deepStrictEqual(yield* read(yield* DeviceArray.cumsum(whole)), plain(running))
          const flat = yield* upload(left)
          const total = sumOf(left.map((z) =>
            multiply(z, z)
          ))
          deepStrictEqual(yield* read(yield* DeviceArray.dot(flat, flat)), plain([total]))
        }), { numRuns: runs(40) }))

    it.effect("move like elements of any type", () =>
      Effect.gen(function*() {
        const pairs: ReadonlyArray<Pair> = [[1, -1], [2, -2], [3, -3], [4, -4], [5, -5], [6, -6]]
        const x = yield* upload(pairs, [2, 3])
        const rows = yield* DeviceArray.transpose(x)
        yield* agree(DeviceArray.copy(rows), [0, 3, 1, 4, 2, 5].map((at) => pairs[at]!))
        yield* agree(DeviceArray.slice(x, [1, { start: 1 }]), [pairs[4]!, pairs[5]!])
        const indices = yield* DeviceArray.fromHost(Int32Array.of(2, 0))
        yield* agree(DeviceArray.take(x, indices, { axis: 1 }), [2, 0, 5, 3].map((at) => pairs[at]!))
        yield* agree(DeviceArray.concatenate([x, x]), [...pairs, ...pairs])
        yield* agree(DeviceArray.flip(x), [5, 4, 3, 2, 1, 0].map((at) => pairs[at]!))
        yield* agree(DeviceArray.roll(x, 1), [pairs[5]!, ...pairs.slice(0, 5)])
        yield* agree(DeviceArray.pad(yield* DeviceArray.reshape(x, [6]), 1), [[0, 0], ...pairs, [0, 0]])
        yield* agree(DeviceArray.where(yield* DeviceArray.notEqual(x, 0), x, 0), pairs)
        yield* agree(DeviceArray.full([2], 7, { dtype: "c64" }), [[7, 0], [7, 0]])
        yield* agree(DeviceArray.arange(3, { dtype: "c64" }), [[0, 0], [1, 0], [2, 0]])
        const target = yield* DeviceArray.zeros([4], { dtype: "c64" })
        yield* DeviceArray.setSlice(target, [{ start: 2 }], yield* upload(pairs.slice(0, 2)))
        yield* DeviceArray.put(target, yield* DeviceArray.fromHost(Int32Array.of(0)), yield* upload([[9, 8]]))
        deepStrictEqual(yield* read(target), [[9, 8], [0, 0], [1, -1], [2, -2]])
        yield* DeviceArray.fill(target, 3)
        deepStrictEqual(yield* read(target), [[3, 0], [3, 0], [3, 0], [3, 0]])
        yield* DeviceArray.assign(target, yield* DeviceArray.fromHost([1, 2, 3, 4]))
        deepStrictEqual(yield* DeviceArray.toNested(target), [[1, 0], [2, 0], [3, 0], [4, 0]])
        deepStrictEqual(yield* DeviceArray.toNumber(yield* DeviceArray.sum(target)), [10, 0])
        const { kernels, value } = yield* costOf(DeviceArray.view(x, "f32"))
        strictEqual(kernels, 0)
        deepStrictEqual(value.shape, [2, 6])
        deepStrictEqual(yield* DeviceArray.toHost(value), Float32Array.from(pairs.flat()))
        yield* agree(DeviceArray.view(value, "c64"), pairs)
      }))

    it.effect("become truth values, real numbers and back", () =>
      Effect.gen(function*() {
        const x = yield* upload([[0, 0], [0, 2], [NaN, 0], [-3, 4]])
        deepStrictEqual(yield* DeviceArray.toHost(yield* DeviceArray.astype(x, "bool")), Uint8Array.of(0, 1, 1, 1))
        deepStrictEqual(yield* DeviceArray.toHost(yield* DeviceArray.astype(x, "i32")), Int32Array.of(0, 0, 0, -3))
        deepStrictEqual(yield* DeviceArray.toHost(yield* DeviceArray.isNaN(x)), Uint8Array.of(0, 0, 1, 0))
        deepStrictEqual(yield* DeviceArray.toHost(yield* DeviceArray.isFinite(x)), Uint8Array.of(1, 1, 0, 1))
        yield* agree(DeviceArray.astype(yield* DeviceArray.fromHost(Int8Array.of(-1, 2)), "c64"), [[-1, 0], [2, 0]])
        strictEqual(yield* DeviceArray.toNumber(yield* DeviceArray.abs(yield* upload([[-3, 4]]))), 5)
        deepStrictEqual(
          yield* DeviceArray.toHost(yield* DeviceArray.isInf(yield* upload([[0, -Infinity], [Infinity, NaN], [1, 1]]))),
          Uint8Array.of(1, 1, 0)
        )
      }))

    it.effect("are vectors of kernels made of expressions", () =>
      Effect.gen(function*() {
        const rotate = ElementwiseKernel.make({
          name: "rotate",
          args: [
            KernelArgument.VectorArg("c64", "z", { access: "read", withOffset: true }),
            KernelArgument.VectorArg("c64", "y", { access: "write", withOffset: true }),
            KernelArgument.ScalarArg("c64", "turn")
          ],
          // The neighbour of the last element is the last one itself.
          outputs: ({ turn, z }) => ({
            y: Expr.multiply(turn, Expr.add(z, Expr.at(z, Expr.add(Expr.index, 1))))
          })
        })
        const z = yield* BufferPool.allocate(24)
        const y = yield* BufferPool.allocate(32)
        yield* CommandQueue.write(z, Float32Array.of(1, 2, 3, 4, 5, 6))
        yield* CommandQueue.fill(y, 0)
        const further = yield* BufferPool.allocate(32)
        yield* CommandQueue.write(further, Float32Array.of(9, 9, 1, 2, 3, 4, 5, 6))
        const views = { z: { buffer: further, offset: 1 }, y: { buffer: y, offset: 1 } }
        yield* CommandQueue.dispatch(rotate, { ...views, turn: [0, 1] }, 3)
        const turned = yield* CommandQueue.read(y, Float32Array)
        deepStrictEqual([...turned], [0, 0, -6, 4, -10, 8, -12, 10])
        const product = ReductionKernel.make({
          name: "product",
          args: [KernelArgument.VectorArg("c64", "z", { access: "read" })],
          map: ({ z }) => z,
          combine: (a, b) => Expr.multiply(a, b),
          neutral: 1
        })
        const found = yield* ReductionKernel.run(product, { z }, 3)
        deepStrictEqual([...(yield* CommandQueue.read(found, Float32Array))], [-85, 20])
        const running = ScanKernel.make({
          name: "running",
          args: [KernelArgument.VectorArg("c64", "z", { access: "read" })],
          map: ({ z }) => z,
          combine: (a, b) => Expr.add(a, b),
          neutral: 0,
          output: (sum) => Expr.conj(sum)
        })
        const scanned = yield* ScanKernel.run(running, { z }, 3)
        deepStrictEqual([...(yield* CommandQueue.read(scanned, Float32Array))], [1, -2, 4, -6, 9, -12])
      }))

    it.effect("have no order, and data of pairs", () =>
      Effect.gen(function*() {
        const x: Complex = yield* upload([[1, 2]])
        yield* refuses("InvalidRequest", DeviceArray.min(x), "complex numbers have no order", "DeviceArray.abs(x)")
        yield* refuses("InvalidRequest", DeviceArray.argmax(x), "complex numbers have no order")
        yield* refuses("InvalidRequest", DeviceArray.cummax(x), "complex numbers have no order")
        yield* refuses("InvalidRequest", DeviceArray.less(x, x), "c64")
        yield* refuses("InvalidRequest", DeviceArray.floor(x), "c64", "DeviceArray.abs(x)")
        yield* refuses("InvalidRequest", DeviceArray.clip(x, 0, 1), "DeviceArray.clip", "c64", "DeviceArray.real(x)")
        yield* refuses(
          "InvalidRequest",
          // @ts-expect-error: parts are f32
          DeviceArray.fromHost(Float64Array.of(1, 2), { dtype: "c64" }),
          "Float32Array of the real and the imaginary parts"
        )
        yield* refuses("InvalidRequest", DeviceArray.atan2(x, 1), "c64")
        yield* refuses("InvalidRequest", DeviceArray.complex(x, 1), "c64")
        yield* refuses("InvalidRequest", DeviceArray.fromHost(Float32Array.of(1, 2, 3), { dtype: "c64" }), "3 numbers")
        yield* refuses("InvalidRequest", DeviceArray.fromHost([1, 2, 3], { dtype: "c64" }), "have 3 numbers")
        yield* refuses("InvalidRequest", DeviceArray.fromHost(1, { dtype: "c64" }), "a number alone")
        const lists: ReadonlyArray<ReadonlyArray<DeviceArray.NestedNumbers>> = [[], [[], []]]
        for (const empty of lists) {
          const none = yield* DeviceArray.fromHost(empty, { dtype: "c64" })
          deepStrictEqual(none.shape, empty.length === 0 ? [0] : [2, 0])
          deepStrictEqual(yield* DeviceArray.toNested(none), empty)
        }
        const real = yield* DeviceArray.zeros([1])
        yield* refuses("InvalidRequest", DeviceArray.assign(real, x), "the value is c64", "DeviceArray.real(value)")
        const wrong = ElementwiseKernel.make({
          name: "wrong",
          args: [KernelArgument.VectorArg("c64", "z")],
          outputs: ({ z }) => ({ z: Expr.floor(z as unknown as Expr.Expr<"f32">) as unknown as typeof z })
        })
        yield* refuses(
          "InvalidRequest",
          CommandQueue.dispatch(wrong, { z: x.lease! }, 1),
          "one operand of one float type"
        )
        assert.strictEqual(DType.byteSize("c64"), 8)
      }))
  })
}

describe("Complex numbers", () => {
  onEveryBackend(laws)
})

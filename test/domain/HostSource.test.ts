/** Host bodies as text: a body made from its text does the same as the original. */
import { ElementwiseKernel, Expr } from "@effect-gpu-pool/arrays"
import { assert, describe, it } from "@effect/vitest"
import { Kernel, KernelArgument } from "effect-gpu-pool"
import { JavaScript } from "effect-gpu-pool/host"
import { inJavaScript } from "../support/writtenSource.ts"

const { VectorArg } = KernelArgument

const args = [VectorArg("u32", "x")] as const

type Body = (from: number, to: number, args: Readonly<Record<string, unknown>>) => void

/** The body as another thread has it: from its text alone. */
const moved = (kernel: Kernel.Kernel): Body =>
  new Function(`"use strict"; return ${JavaScript.textOf(inJavaScript(kernel))}`)() as Body

const runMoved = (kernel: Kernel.Kernel, length: number): ReadonlyArray<number> => {
  const x = Uint32Array.from({ length }, (_, i) => i)
  moved(kernel)(0, length, { x })
  return [...x]
}

function named(from: number, to: number, { x }: { readonly x: Uint32Array }): void {
  x.fill(3, from, to)
}

const kernelOf = (host: Kernel.HostBody<typeof args>) => Kernel.make({ name: "tried", args, body: { host } })

describe("JavaScript.textOf", () => {
  it("gives a function's own text, however it is written", () => {
    const bodies: ReadonlyArray<Kernel.HostBody<typeof args>> = [
      (from, to, { x }) => void x.fill(3, from, to),
      function(from, to, { x }) {
        x.fill(3, from, to)
      },
      named,
      {
        host(from: number, to: number, { x }: { x: Uint32Array }) {
          x.fill(3, from, to)
        }
      }.host
    ]
    for (const body of bodies) assert.deepStrictEqual(runMoved(kernelOf(body), 2), [3, 3])
  })

  it("gives generated bodies with the functions that they call", () => {
    const kernel = ElementwiseKernel.make({
      name: "odd",
      args: [VectorArg("f32", "a", { access: "read" }), VectorArg("f32", "y", { access: "write" })],
      outputs: ({ a }) => ({ y: Expr.add(Expr.round(a), Expr.power(Expr.exp2(a), 2)) })
    })
    const values = [-2.5, -0.5, 0.5, 1.5, 2.5, NaN, Infinity]
    const inPlace = new Float32Array(values.length)
    const elsewhere = new Float32Array(values.length)
    const a = Float32Array.from(values)
    inJavaScript(kernel)(0, values.length, { a, y: inPlace })
    moved(kernel)(0, values.length, { a, y: elsewhere })
    assert.deepStrictEqual(elsewhere, inPlace)
    assert.strictEqual(elsewhere[3], 2 + 8)
  })
})

describe("Kernel.hostFunction", () => {
  it("writes what the body uses", () => {
    const values = {
      zero: -0,
      none: NaN,
      long: 2n ** 60n,
      text: "a \"b\" \n ${c}",
      yes: true,
      nothing: null,
      missing: undefined,
      list: [1, [2, 3]],
      record: { "not a name": 4, ["__proto__"]: 5 },
      twice: (value: number) => 2 * value
    }
    const body = Kernel.hostFunction(values, (uses) => (_from: number, _to: number, { x }: { x: Uint32Array }) => {
      const right = [
        Object.is(uses.zero, -0),
        Number.isNaN(uses.none),
        uses.long === 1_152_921_504_606_846_976n,
        uses.text === "a \"b\" \n ${c}",
        uses.yes,
        uses.nothing === null,
        uses.missing === undefined,
        JSON.stringify(uses.list) === "[1,[2,3]]",
        uses.record["not a name"] === 4,
        Object.entries(uses.record).some(([name, value]) => name === "__proto__" && value === 5),
        uses.twice(4) === 8
      ]
      x.set(right.map(Number))
    })
    assert.deepStrictEqual(runMoved(kernelOf(body), 11), Array.from({ length: 11 }, () => 1))
    const x = new Uint32Array(11)
    body(0, 11, { x })
    assert.deepStrictEqual([...x], Array.from({ length: 11 }, () => 1))
  })

  it("lets a function that is made so be used by another", () => {
    const add = Kernel.hostFunction({ by: 5 }, ({ by }) => (value: number) => value + by)
    const body = Kernel.hostFunction({ add }, ({ add }) => (from: number, to: number, { x }: { x: Uint32Array }) => {
      for (let i = from; i < to; i++) x[i] = add(x[i]!)
    })
    assert.deepStrictEqual(runMoved(kernelOf(body), 3), [5, 6, 7])
  })

  it("takes the values as they are when it is called", () => {
    const values = { by: 1 }
    const body = Kernel.hostFunction(values, ({ by }) => (from: number, to: number, { x }: { x: Uint32Array }) => {
      x.fill(by, from, to)
    })
    values.by = 2
    assert.deepStrictEqual(runMoved(kernelOf(body), 2), [1, 1])
  })

  it.each([[new Float32Array(2)], [new Map()], [Symbol("odd")]])("refuses %s, which has no text", (value) => {
    const untyped = Kernel.hostFunction as unknown as (values: object, make: () => () => void) => unknown
    assert.throws(() => untyped({ value }, () => () => {}), TypeError, "Kernel.hostFunction")
  })
})

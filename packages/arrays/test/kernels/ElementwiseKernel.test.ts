/** Definitions of elementwise kernels, good and bad; what they compute is in {@link ElementwiseLaws}. */
import { ElementwiseKernel, Expr } from "@effect-gpu-pool/arrays"
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import { BufferPool, CommandQueue, GpuError, type Kernel, KernelArgument } from "effect-gpu-pool"
import { Host } from "effect-gpu-pool/host"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { execFileSync } from "node:child_process"
import { makeBody } from "../../../../src/layers/Host/language/JavaScriptBody.ts"
import { inOpenClC, inWgsl } from "../../../../test/support/writtenSource.ts"

const { ScalarArg, VectorArg } = KernelArgument

const args = [
  VectorArg("f32", "x", { access: "read" }),
  VectorArg("f32", "y", { access: "write" }),
  ScalarArg("f32", "a")
] as const

const outputs = ({ x }: { readonly x: Expr.Expr<"f32"> }) => ({ y: x })

/** `make` with any options, also ones whose types do not match. */
const untyped = ElementwiseKernel.make as (options: unknown) => Kernel.Kernel

const host = BufferPool.layer().pipe(Layer.provideMerge(Host.layer()))

/** The result of a kernel's first use. */
const firstUse = (kernel: Kernel.Kernel) =>
  Effect.gen(function*() {
    const x = yield* BufferPool.allocate(4)
    const y = yield* BufferPool.allocate(4)
    const error = yield* Effect.flip(CommandQueue.dispatch(kernel, { x, y, a: 1 } as never, 1))
    assert.instanceOf(error.reason, GpuError.InvalidRequest)
    return error.message
  }).pipe(Effect.scoped, Effect.provide(host))

const balanced = (x: Expr.Expr<"f32">, leaves: number): Expr.Expr<"f32"> =>
  leaves === 1 ? Expr.multiply(x, 2) : Expr.add(balanced(x, leaves >> 1), balanced(x, leaves - (leaves >> 1)))

const stolen = (): Expr.Expr<"f32"> => {
  let found: Expr.Expr<"f32"> | undefined
  ElementwiseKernel.make({
    name: "other",
    args: [VectorArg("f32", "elsewhere")],
    outputs: ({ elsewhere }) => {
      found = elsewhere
      return {}
    }
  })
  return found!
}

const bad: ReadonlyArray<readonly [title: string, options: unknown, message: RegExp]> = [
  ["an output of another type", {
    name: "k",
    args,
    outputs: () => ({ y: Expr.index })
  }, /elements of type f32, and its expression is u32/],
  ["an output that is an input", { name: "k", args, outputs: ({ x }: never) => ({ x, y: x }) }, /"x" is no vector/],
  ["an output that is a scalar", { name: "k", args, outputs: ({ x }: never) => ({ a: x, y: x }) }, /"a" is no vector/],
  ["an output of no argument", { name: "k", args, outputs: ({ x }: never) => ({ q: x, y: x }) }, /"q" is no vector/],
  ["no output at all", { name: "k", args: [VectorArg("f32", "x")], outputs: () => ({}) }, /has no output/],
  ["a wrong expression", {
    name: "k",
    args,
    outputs: ({ x }: never) => ({ y: Expr.add(x, Expr.index as never) })
  }, /Expr.add: the operands are f32, u32/],
  [
    "another kernel's inputs",
    { name: "k", args, outputs: () => ({ y: stolen() }) },
    /uses the argument "elsewhere" \(f32\), which it does not get/
  ],
  ["too much", {
    name: "k",
    args,
    outputs: ({ x }: never) => ({ y: balanced(x, 50_000) })
  }, /expressions, which is more than 4096/],
  ["an argument that hides a function", {
    name: "k",
    args: [VectorArg("f32", "max")],
    outputs: ({ max }: never) => ({ max })
  }, /"max" hides/],
  ["other elements of an output", {
    name: "k",
    args: [VectorArg("f32", "x")],
    outputs: ({ x }: never) => ({ x: Expr.at(x, 0) })
  }, /other items may have written/],
  ["a name that is none", { name: "k; process.exit(1)", args, outputs }, /no name that every language accepts/],
  ["an argument's name that is none", {
    name: "k",
    args: [VectorArg("f32", "x = process.exit(1), y")],
    outputs: (inputs: Readonly<Record<string, Expr.Expr>>) => inputs
  }, /no name that every language accepts/],
  ["a name of an argument twice", {
    name: "k",
    args: [VectorArg("f32", "x"), VectorArg("f32", "x")],
    outputs: ({ x }: never) => ({ x })
  }, /taken/]
]

describe("a definition with", () => {
  it.effect.each(bad)(
    "%s does not throw, and is InvalidRequest when it is used",
    ([, options, message]) => Effect.map(firstUse(untyped(options)), (found) => assert.match(found, message))
  )
})

describe("ElementwiseKernel", () => {
  it("knows its types", () => {
    const wrong = ElementwiseKernel.make({
      name: "k",
      args,
      // @ts-expect-error -- the output is f32
      outputs: () => ({ y: Expr.index })
    })
    // @ts-expect-error -- there is no expression for y
    ElementwiseKernel.make({ name: "k", args, outputs: () => ({}) })
    ElementwiseKernel.make({
      name: "k",
      args,
      // @ts-expect-error -- a vector that is only written is no input
      outputs: ({ x, y }) => ({ y: Expr.add(x, y) })
    })
    ElementwiseKernel.make({ name: "k", args: [VectorArg("f32", "x")], outputs: () => ({}) })
    assert.instanceOf(wrong.problem, GpuError.GpuError)
  })

  it("says which vectors are itemwise, and which types it uses", () => {
    const kernel = ElementwiseKernel.make({
      name: "k",
      args: [
        VectorArg("f32", "x", { access: "read" }),
        VectorArg("f32", "table", { access: "read" }),
        VectorArg("f32", "y", { access: "write" })
      ],
      outputs: ({ table, x }) => ({ y: Expr.at(table, Expr.astype(Expr.astype(x, "f64"), "u32")) })
    })
    deepStrictEqual(kernel.itemwise, ["x", "y"])
    deepStrictEqual([...kernel.dtypes].sort(), ["f32", "f64", "u32"])
    strictEqual(kernel.problem, undefined)
  })

  it("computes what several expressions share once", () => {
    const kernel = ElementwiseKernel.make({
      name: "k",
      args: [VectorArg("f32", "x"), VectorArg("f32", "y")],
      outputs: ({ x }) => {
        const sine = Expr.sin(x)
        return { x: sine, y: Expr.add(sine, sine) }
      }
    })
    strictEqual(inWgsl(kernel).body.split("sin(").length, 2)
    strictEqual(inOpenClC(kernel).body.split("sin(").length, 2)
  })

  it("doubles a thousand times with a thousand statements", () => {
    const kernel = ElementwiseKernel.make({
      name: "k",
      args: [VectorArg("f32", "x")],
      outputs: ({ x }) => {
        let sum = x
        for (let step = 0; step < 900; step++) sum = Expr.add(sum, sum)
        return { x: sum }
      }
    })
    strictEqual(kernel.problem, undefined)
    strictEqual(inWgsl(kernel).body.split("\n").length, 902)
  })
})

const write = ["v__x[0] = 1"]

describe("bodies for the host", () => {
  it.each(["x; evil()", "", "1x", "x\n//", "\u2028"])("have no name %j in their code", (name) => {
    const x = new Float32Array(1)
    assert.throws(() => makeBody(name, [], write)(0, 1, {}), /is no name/)
    assert.throws(
      () => makeBody("k", [], ["let it be wrong"])(0, 1, {}),
      SyntaxError,
      /in this source:\n +1 \| "use strict"\n[^]*\n +\d+ \| let it be wrong\n/
    )
    assert.throws(() => makeBody("k", [VectorArg("f32", name)], write)(0, 1, { [name]: x } as never), /is no name/)
    strictEqual(x[0], 0)
  })

  it("say what to do where code from strings is forbidden", () => {
    const program = `
      import { makeBody } from ${
      JSON.stringify(new URL("../../../../src/layers/Host/language/JavaScriptBody.ts", import.meta.url))
    }
      try { makeBody("k", [], [])(0, 1, {}) } catch (error) { process.stdout.write(error.message) }`
    const options = ["--disallow-code-generation-from-strings", "--input-type=module", "--eval", program]
    const message = execFileSync(process.execPath, options, { encoding: "utf8" })
    assert.match(message, /Allow code from strings \('unsafe-eval'.*or use another backend/)
  })
})

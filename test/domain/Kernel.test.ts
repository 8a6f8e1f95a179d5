import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { formatted, line } from "../../src/domain/arguments/Format.ts"
import { invalidRequest } from "../../src/domain/GpuError.ts"
import * as Kernel from "../../src/domain/kernel/Kernel.ts"
import { ImageArg, type KernelArgument, ScalarArg, VectorArg } from "../../src/domain/kernel/KernelArgument.ts"
import { isReserved } from "../../src/domain/kernel/ReservedWords.ts"
import { here } from "../support/callSites.ts"
import { runs } from "../support/explore.ts"

const kernel = (args: ReadonlyArray<KernelArgument>, name = "kernelName"): Kernel.Kernel =>
  Kernel.make({ name, args, body: {} })

/** The message of a refusal. */
const refusal = (bad: Kernel.Kernel): string => {
  const error = Kernel.check(bad)
  assert.strictEqual(error?.reason._tag, "InvalidRequest")
  return error?.message ?? ""
}

const refuses = (bad: Kernel.Kernel, ...shown: ReadonlyArray<string>): void => {
  const message = refusal(bad)
  for (const part of shown) assert.include(message, part)
}

const host = (): void => {}

const places: ReadonlyArray<readonly [string, (name: string) => Kernel.Kernel]> = [
  ["a vector", (name) => kernel([VectorArg("f32", name)])],
  ["a vector with an offset", (name) => kernel([VectorArg("u32", name, { withOffset: true })])],
  ["a scalar", (name) => kernel([ScalarArg("i32", name)])],
  ["a later argument", (name) => kernel([ScalarArg("f32", "a"), VectorArg("f32", name)])]
]

const good = fc.stringMatching(/^[A-Za-z]([A-Za-z0-9]|_[A-Za-z0-9]){0,12}$/).filter((name) =>
  !isReserved(name) && !["i", "count", "a", "kernelName"].includes(name)
)
const bad = fc.oneof(
  fc.string().filter((text) => !/^[A-Za-z][A-Za-z0-9_]*$/.test(text)),
  fc.tuple(good, good).map((halves) => halves.join("__")),
  fc.tuple(fc.constantFrom("_", "9", " ", "é", "-", "$"), good).map((parts) => parts.join("")),
  fc.constantFrom("", "x y", "x;", "x\n", "float*", "naïve", "__x", "x__")
)

/** The names that an argument declares in a body. */
const names = (argument: KernelArgument): ReadonlyArray<string> => [
  argument.name,
  ...(argument._tag === "VectorArg" ? [`${argument.name}_length`] : []),
  ...(argument._tag === "VectorArg" && argument.withOffset ? [`${argument.name}_offset`] : [])
]

// Few names, so that arguments often collide.
const someName = fc.constantFrom("x", "y", "x_length", "x_offset", "y_offset", "x_length_length", "i", "count", "k")
const someArgument: fc.Arbitrary<KernelArgument> = fc.oneof(
  someName.map((name) => ScalarArg("f32", name)),
  fc.tuple(someName, fc.boolean()).map(([name, withOffset]): KernelArgument => VectorArg("f32", name, { withOffset }))
)

describe("Kernel.check", () => {
  it.each(places)("takes a good name for %s", (_, make) => {
    fc.assert(fc.property(good, (name) => assert.isUndefined(Kernel.check(make(name)))))
  })

  it.each(places)("refuses a name that is none in some language for %s", (_, make) => {
    fc.assert(fc.property(bad, (name) => refuses(make(name), `"${line(name)}"`, `"kernelName"`)))
  })

  it.each(places)("refuses reserved words for %s", (_, make) => {
    for (const word of ["kernel", "fn", "float", "struct", "target", "global", "NULL", "yield"]) {
      if (isReserved(word)) refuses(make(word), `"${word}"`)
      else assert.isUndefined(Kernel.check(make(word)))
    }
    refuses(make("struct"), `"struct"`)
    refuses(make("kernel"), `"kernel"`)
  })

  it.each(["target", "half", "while", "array"])("says that %s is reserved, on every backend", (word) => {
    const message = refusal(kernel([VectorArg("f32", word)]))
    assert.include(message, `"${word}" in kernel "kernelName" is a word that a language of kernels reserves.`)
    assert.include(message, "kernels are portable")
  })

  it("refuses a bad name of the kernel, but lets it be a word of a language, since it stays on this side", () => {
    fc.assert(fc.property(bad, (name) => refuses(kernel([], name), `"${line(name)}"`)))
    assert.isUndefined(Kernel.check(kernel([], "distance")))
    assert.isUndefined(Kernel.check(kernel([], "kernel")))
  })

  it("refuses a name of the kernel that a driver would end the process over", () => {
    const [longest, tooLong] = [128, 129].map((length) =>
      Kernel.make({ name: "k".repeat(length), args: [], body: { wgsl: "" } })
    )
    assert.isUndefined(Kernel.check(longest!))
    assert.match(Kernel.check(tooLong!)!.message, /129 characters/)
  })

  it("refuses exactly the kernels in which two things have one name, derived names included", () => {
    fc.assert(
      fc.property(fc.array(someArgument, { maxLength: 4 }), (args) => {
        const all = ["i", "count", "k", ...args.flatMap(names)]
        const twice = all.find((name, index) => all.indexOf(name) < index)
        const built = kernel(args, "k")
        if (twice === undefined) assert.isUndefined(Kernel.check(built))
        else refuses(built, `"${twice}"`, `taken in kernel "k"`)
      }),
      { numRuns: runs(500) }
    )
  })

  it("takes a positive whole number of items per workgroup", () => {
    fc.assert(fc.property(fc.oneof(fc.integer(), fc.double()), (workgroupSize) => {
      const built = Kernel.make({ name: "k", args: [], body: {}, workgroupSize })
      if (Number.isInteger(workgroupSize) && workgroupSize >= 1) assert.isUndefined(Kernel.check(built))
      else refuses(built, `workgroupSize ${workgroupSize}`)
    }))
  })

  it("takes every element type and access", () => {
    for (const dtype of ["f32", "i32", "u32", "f16", "f64"] as const) {
      assert.isUndefined(Kernel.check(kernel([ScalarArg(dtype, "a")])))
      for (const access of ["read", "write", "readwrite"] as const) {
        assert.isUndefined(Kernel.check(kernel([VectorArg(dtype, "x", { access })])))
      }
    }
  })

  it("takes numbers of every size and short vectors by value", () => {
    assert.isUndefined(Kernel.check(kernel([ScalarArg("u64", "a"), ScalarArg("vec3<i8>", "b")])))
  })

  it("takes element types of bodies", () => {
    assert.isUndefined(Kernel.check(Kernel.make({ name: "k", args: [], body: {}, dtypes: ["f16", "f64", "i32"] })))
  })

  it("takes its vectors for itemwise ones, and nothing else", () => {
    const args = [VectorArg("f32", "x"), ScalarArg("f32", "a")] as const
    assert.isUndefined(Kernel.check(Kernel.make({ name: "k", args, body: {}, itemwise: ["x"] })))
    for (const name of ["a", "z", "x_length", undefined]) {
      refuses(Kernel.make({ name: "k", args, body: {}, itemwise: ["x", name as never] }), formatted(name), "itemwise")
    }
  })

  it("takes a scalar of its own for the work of an item, and nothing else", () => {
    const args = [VectorArg("f32", "x"), ScalarArg("u32", "span"), ScalarArg("vec2<u32>", "spans")] as const
    assert.isUndefined(Kernel.check(Kernel.make({ name: "k", args, body: {}, workPerItem: "span" })))
    for (const name of ["x", "z", "spans", 7, null]) {
      refuses(Kernel.make({ name: "k", args, body: {}, workPerItem: name as never }), formatted(name), "workPerItem")
    }
  })

  it("reports first what the maker found", () => {
    const problem = invalidRequest("ElementwiseKernel.make", "f32 and i32 do not add", "Cast one of them.")
    const args = [VectorArg("bf16" as "f32", "1st")] as const
    assert.strictEqual(Kernel.check(Kernel.make({ name: "k", args, body: {}, problem })), problem)
  })
})

describe("Kernel.make", () => {
  it("fills in what is left out", () => {
    const made = Kernel.make({ name: "k", args: [], body: { wgsl: "x" } })
    assert.deepStrictEqual(made, {
      name: "k",
      args: [],
      body: { wgsl: "x" },
      preamble: {},
      workgroupSize: 64,
      buildOptions: "",
      dtypes: [],
      itemwise: [],
      workPerItem: undefined,
      problem: undefined
    })
  })

  it("keeps what is given", () => {
    const args = [VectorArg("f32", "x", { access: "read", withOffset: true }), ScalarArg("u32", "n")] as const
    const options: Parameters<typeof Kernel.make<typeof args>>[0] = {
      name: "k",
      args,
      body: { wgsl: "w", opencl: "o", host },
      preamble: { wgsl: "pw", opencl: "po" },
      workgroupSize: 32,
      buildOptions: "-cl-mad-enable",
      dtypes: ["f16", "f64"],
      itemwise: ["x"],
      workPerItem: "n",
      problem: invalidRequest("maker", "it is wrong", "Mend it.")
    }
    assert.deepStrictEqual<object>(Kernel.make(options), options)
    assert.deepStrictEqual<object>(args[0], {
      _tag: "VectorArg",
      dtype: "f32",
      name: "x",
      access: "read",
      withOffset: true
    })
  })

  it.each(["target", "half", "while", "array", "rgba8unorm", "i", "count"])(
    "finds the mistake of an argument named %s at once, and shows where the kernel is defined",
    (word) => {
      const [made, place] = [kernel([VectorArg("f32", word)]), here()]
      assert.strictEqual(made.problem?.reason._tag, "InvalidRequest")
      assert.include(made.problem?.message, `"${word}"`)
      assert.strictEqual(Kernel.check(made), made.problem)
      const definition = (made.problem?.stack ?? "").split("\n").filter((line) => line.includes("Kernel.test.ts"))
      // the helper above, and this line
      assert.include(definition[1], place)
    }
  )

  it("is refused by TypeScript with an argument of a name that is taken, and of no other", () => {
    const body = {}
    // @ts-expect-error: WGSL reserves it
    Kernel.make({ name: "k", args: [VectorArg("f32", "x"), VectorArg("f32", "target")], body })
    // @ts-expect-error: OpenCL C reserves it
    Kernel.make({ name: "k", args: [ScalarArg("f32", "half")], body })
    // @ts-expect-error: the generated WGSL uses it
    Kernel.make({ name: "k", args: [ImageArg("rgba8unorm")], body })
    // @ts-expect-error: a body has it
    Kernel.make({ name: "k", args: [ScalarArg("u32", "count")], body })
    const unknown: string = "x"
    const args: ReadonlyArray<KernelArgument> = [VectorArg("f32", "x")]
    for (
      const good of [
        Kernel.make({ name: "target", args: [], body }),
        Kernel.make({ name: "k", args: [VectorArg("f32", "targets"), ScalarArg("u32", "x")], body }),
        Kernel.make({ name: "k", args: [VectorArg("f32", unknown)], body }),
        Kernel.make({ name: "k", args, body })
      ]
    ) assert.isUndefined(good.problem)
  })

  it("stays what it is, whatever its program does to what it gave", () => {
    const args: Array<KernelArgument> = [VectorArg("f32", "x"), ScalarArg("f32", "a")]
    const itemwise = ["x"]
    const made = Kernel.make({ name: "k", args, body: { host }, itemwise })
    const before = structuredClone({ args: made.args, itemwise: made.itemwise })
    args.push(VectorArg("f32", "y"))
    args[0] = ScalarArg("u32", "x")
    itemwise.pop()
    assert.deepStrictEqual<object>({ args: made.args, itemwise: made.itemwise }, before)
    assert.strictEqual(Kernel.fixed(made), made)
    assert.throws(() => Reflect.apply(Array.prototype.push, made.args, [args[0]]), TypeError)
  })

  it("of a program's own object stays what it was at first", () => {
    const copy = { ...kernel([VectorArg("f32", "x")]), args: [VectorArg("f32", "x")] }
    const fixed = Kernel.fixed(copy)
    copy.args.pop()
    assert.strictEqual(Kernel.fixed(copy), fixed)
    assert.strictEqual(fixed.args.length, 1)
  })

  it("reads and writes a vector without an offset by default", () => {
    const { access, withOffset } = VectorArg("f32", "x")
    assert.deepStrictEqual([access, withOffset], ["readwrite", false])
  })
})

/** Definitions of kernels for workgroups, and of whole sources. */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as fc from "fast-check"
import type { GpuError } from "../../src/domain/GpuError.ts"
import * as GroupKernel from "../../src/domain/kernel/GroupKernel.ts"
import * as Kernel from "../../src/domain/kernel/Kernel.ts"
import { LocalArg, ScalarArg, VectorArg } from "../../src/domain/kernel/KernelArgument.ts"
import { keyOf } from "../../src/domain/kernel/KernelSource.ts"
import * as SourceKernel from "../../src/domain/kernel/SourceKernel.ts"
import * as Workgroup from "../../src/domain/kernel/Workgroup.ts"
import { runs } from "../support/explore.ts"

const sized = (workgroupSize: Workgroup.Size) =>
  GroupKernel.make({ name: "k", args: [], workgroupSize, body: { wgsl: "" } })

const tiled = (length: number) =>
  GroupKernel.make({ name: "k", args: [LocalArg("f32", "tile", length)], workgroupSize: 1, body: {} })

const messageOf = (problem: GpuError | undefined): string => {
  strictEqual(problem?.reason._tag, "InvalidRequest")
  return problem?.message ?? ""
}

describe("GroupKernel.make", () => {
  it("keeps what is given, and copies the size", () => {
    const size: [number, number] = [8, 4]
    const made = GroupKernel.make({
      name: "k",
      args: [LocalArg("f32", "tile", 4)],
      workgroupSize: size,
      body: { wgsl: "w" }
    })
    size[0] = 9
    deepStrictEqual(made.workgroupSize, [8, 4])
    strictEqual(made.form, "groups")
    deepStrictEqual<object>(made.args, [{ _tag: "LocalArg", dtype: "f32", name: "tile", length: 4 }])
    strictEqual(made.problem, undefined)
    assert.include(String(made), "local f32 tile[4]")
  })

  it("takes one to three positive integers", () => {
    const extent = fc.oneof(fc.integer({ min: -2, max: 300 }), fc.double(), fc.constant(1))
    fc.assert(
      fc.property(fc.array(extent, { maxLength: 4 }), (extents) => {
        const made = sized(extents as unknown as Workgroup.Size)
        const isGood = extents.length >= 1 && extents.length <= 3 && extents.every((n) => Number.isInteger(n) && n >= 1)
        strictEqual(made.problem === undefined, isGood)
        if (!isGood) assert.include(messageOf(made.problem), "workgroupSize")
      }),
      { numRuns: runs(200) }
    )
  })

  it("finds mistakes of its memory at once", () => {
    assert.include(messageOf(tiled(0).problem), `local memory "tile"`)
    assert.include(messageOf(tiled(1.5).problem), "1.5 elements")
    strictEqual(tiled(1).problem, undefined)
  })

  it("is refused by TypeScript with a name that bodies have, and with a reserved one", () => {
    const common = { name: "k", workgroupSize: 1, body: {} }
    // @ts-expect-error: every body has the range under that name
    GroupKernel.make({ ...common, args: [VectorArg("f32", "range")] })
    // @ts-expect-error: every body has its place in its workgroup under that name
    GroupKernel.make({ ...common, args: [LocalArg("f32", "local_id", 1)] })
    // @ts-expect-error: WGSL reserves the word "target"
    GroupKernel.make({ ...common, args: [ScalarArg("f32", "target")] })
    const made = GroupKernel.make({ ...common, args: [VectorArg("f32", "i"), ScalarArg("f32", "count")] })
    strictEqual(made.problem, undefined)
  })

  it("is another kernel with another size, form, or atomic elements", () => {
    const body = { body: "", preamble: "" }
    const kernels = [
      sized(8),
      sized([8, 1]),
      sized([4, 2]),
      SourceKernel.make({ name: "k", args: [], workgroupSize: 8, source: { wgsl: "" } }),
      Kernel.make({ name: "k", args: [], workgroupSize: 8, body: { wgsl: "" } }),
      Kernel.make({ name: "k", args: [VectorArg("u32", "x")], body: { wgsl: "" } }),
      Kernel.make({ name: "k", args: [VectorArg("u32", "x", { atomic: true })], body: { wgsl: "" } })
    ]
    const keys = kernels.map((kernel) => keyOf(kernel, body))
    strictEqual(new Set(keys).size, keys.length)
  })
})

describe("SourceKernel.make", () => {
  it("takes any names that stand apart", () => {
    const made = SourceKernel.make({
      name: "sourced",
      args: [VectorArg("f32", "x"), ScalarArg("u32", "x_length"), ScalarArg("u32", "target"), ScalarArg("u32", "i")],
      workgroupSize: 64,
      source: { wgsl: "" }
    })
    strictEqual(made.problem, undefined)
    strictEqual(made.form, "source")
    deepStrictEqual(made.body, { wgsl: "" })
  })
})

describe("Workgroup", () => {
  it("counts whole workgroups that cover the range", () => {
    const extents = fc.tuple(
      fc.integer({ min: 1, max: 5000 }),
      fc.integer({ min: 1, max: 99 }),
      fc.integer({ min: 1, max: 9 })
    )
    fc.assert(
      fc.property(extents, extents, (range, size) => {
        const count = Workgroup.countOf(range, size)
        for (const dimension of [0, 1, 2] as const) {
          assert.isAtLeast(count[dimension] * size[dimension], range[dimension])
          assert.isBelow((count[dimension] - 1) * size[dimension], range[dimension])
        }
      }),
      { numRuns: runs(200) }
    )
  })

  it("names extents by their dimensions", () => {
    deepStrictEqual([[5, 1, 1], [5, 2, 1], [5, 1, 2]].map((extents) => Workgroup.format(extents as never)), [
      "5",
      "5 x 2",
      "5 x 1 x 2"
    ])
  })
})

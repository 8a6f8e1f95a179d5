import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as fc from "fast-check"
import type { ValueType } from "../../src/domain/data/ValueType.ts"
import { GpuError } from "../../src/domain/GpuError.ts"
import * as Kernel from "../../src/domain/kernel/Kernel.ts"
import { ImageArg, SamplerArg, ScalarArg, VectorArg } from "../../src/domain/kernel/KernelArgument.ts"
import {
  generate,
  groupsInTurns,
  maxDispatchItems,
  workgroups,
  writeScalars
} from "../../src/layers/WebGpu/kernels/WgslSource.ts"
import { inWgsl } from "../support/writtenSource.ts"

const axpy = Kernel.make({
  name: "axpy",
  args: [
    VectorArg("f32", "x", { access: "read", withOffset: true }),
    ScalarArg("f32", "a"),
    VectorArg("i32", "y", { access: "write" }),
    ScalarArg("i32", "b"),
    VectorArg("u32", "z")
  ],
  body: { wgsl: "  y[i] = i32(twice(a * x[x_offset + i])) + b;" },
  preamble: { wgsl: "fn twice(v: f32) -> f32 { return 2.0 * v; }" },
  workgroupSize: 32
})

const source = (kernel: Kernel.Kernel) => {
  const generated = generate(kernel, inWgsl(kernel), false)
  if (generated instanceof GpuError) throw generated
  return generated
}

const failure = (kernel: Kernel.Kernel) => {
  const generated = generate(kernel, inWgsl(kernel), false)
  if (!(generated instanceof GpuError)) throw new Error("generated")
  return generated
}

/** The functions that a kernel's source declares, in their order. */
const declaredIn = (preamble: string, wgsl: string) => {
  const kernel = Kernel.make({
    name: "k",
    args: [VectorArg("u32", "x")],
    body: { wgsl },
    preamble: { wgsl: preamble }
  })
  return [...source(kernel).code.matchAll(/^\s*fn (\w+)/gm)].map(([, name]) => name)
}

describe("WgslSource", () => {
  it("writes bindings, the scalar block, the index and the guard around a body", () => {
    const expected = `struct Scalars__block {
  count: u32,
  x_length: u32,
  x_offset: u32,
  a: f32,
  y_length: u32,
  b: i32,
  z_length: u32,
}
@group(0) @binding(0) var<uniform> scalars__: Scalars__block;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<i32>;
@group(0) @binding(3) var<storage, read_write> z: array<u32>;
fn twice(v: f32) -> f32 { return 2.0 * v; }
@compute @workgroup_size(32)
fn kernel__main(@builtin(global_invocation_id) item__id: vec3<u32>, @builtin(num_workgroups) group__counts: vec3<u32>) {
  let count = scalars__.count;
  let x_length = scalars__.x_length;
  let x_offset = scalars__.x_offset;
  let a = scalars__.a;
  let y_length = scalars__.y_length;
  let b = scalars__.b;
  let z_length = scalars__.z_length;
  let i = item__id.y * (group__counts.x * 32u) + item__id.x;
  if (i >= count) { return; }
  y[i] = i32(twice(a * x[x_offset + i])) + b;
}`
    strictEqual(source(axpy).code, expected)
    strictEqual(source(axpy).uniformBytes, 32)
    deepStrictEqual(source(axpy).bindings.map(({ name }) => name), ["x", "y", "z"])
  })

  it("binds images and samplers after the vectors, in their order", () => {
    const kernel = Kernel.make({
      name: "images",
      args: [
        SamplerArg("smooth_edges"),
        ImageArg("a"),
        VectorArg("f32", "x", { access: "read" }),
        ImageArg("b", { kind: "3d", channel: "uint" }),
        ImageArg("c", { kind: "1d", channel: "int" }),
        ImageArg("d", { access: "write", kind: "2dArray", format: { order: "rg", type: "uint32" } }),
        ScalarArg("f32", "s"),
        SamplerArg("hard_edges")
      ],
      body: { wgsl: "BODY" }
    })
    const { bindings, code, members } = source(kernel)
    assert.include(
      code,
      `@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var a: texture_2d<f32>;
@group(0) @binding(3) var b: texture_3d<u32>;
@group(0) @binding(4) var c: texture_1d<i32>;
@group(0) @binding(5) var d: texture_storage_2d_array<rg32uint, write>;
@group(0) @binding(6) var smooth_edges: sampler;
@group(0) @binding(7) var hard_edges: sampler;
`
    )
    deepStrictEqual(bindings.map(({ name }) => name), ["x", "a", "b", "c", "d", "smooth_edges", "hard_edges"])
    deepStrictEqual(members.map(({ name }) => name), ["count", "x_length", "s"])
  })

  it("enables halves before anything else where an argument or a body has them, and narrows scalars", () => {
    const kernel = Kernel.make({
      name: "halves",
      args: [VectorArg("f16", "x"), ScalarArg("f16", "a"), ScalarArg("f32", "b")],
      body: { wgsl: "x[i] = a * f16(b);" }
    })
    const { code, members, uniformBytes } = source(kernel)
    assert.isTrue(
      code.startsWith("enable f16;\nstruct Scalars__block {\n  count: u32,\n  x_length: u32,\n  a: f32,\n  b: f32,\n}")
    )
    assert.include(code, "var<storage, read_write> x: array<f16>;")
    assert.include(code, "  let a = f16(scalars__.a);\n  let b = scalars__.b;\n")
    strictEqual(uniformBytes, 16)
    const view = new DataView(new ArrayBuffer(16))
    writeScalars(view, 0, members, {
      compiled: {} as never,
      vectors: [{ buffer: {} as never, size: 7, offset: 0 }],
      scalars: [-0.5, 2],
      images: [],
      samplers: [],
      count: 3
    })
    deepStrictEqual([view.getUint32(0, true), view.getUint32(4, true)], [3, 3])
    deepStrictEqual([view.getFloat32(8, true), view.getFloat32(12, true)], [-0.5, 2])
    const inBody = Kernel.make({ name: "k", args: [], body: { wgsl: "" }, dtypes: ["f16"] })
    assert.isTrue(source(inBody).code.startsWith("enable f16;\n"))
    assert.notInclude(source(axpy).code, "enable")
  })

  it("needs only the count for a kernel without arguments", () => {
    const { bindings, code, uniformBytes } = source(Kernel.make({ name: "nothing", args: [], body: { wgsl: "" } }))
    assert.include(code, "struct Scalars__block {\n  count: u32,\n}")
    strictEqual(uniformBytes, 16)
    deepStrictEqual(bindings, [])
  })

  it("puts scalars, whole elements and offsets where the block has them, little-endian", () => {
    const view = new DataView(new ArrayBuffer(64))
    const { members } = source(axpy)
    const buffer = {} as never
    writeScalars(view, 16, members, {
      compiled: {} as never,
      vectors: [{ buffer, size: 43, offset: 3 }, { buffer, size: 2 ** 34, offset: 0 }, { buffer, size: 7, offset: 0 }],
      scalars: [1.5, -7],
      images: [],
      samplers: [],
      count: 0xffffffff
    })
    strictEqual(view.getUint32(16, true), 0xffffffff)
    strictEqual(view.getUint32(20, true), 10)
    strictEqual(view.getUint32(24, true), 3)
    strictEqual(view.getFloat32(28, true), 1.5)
    strictEqual(view.getUint32(32, true), 0)
    strictEqual(view.getInt32(36, true), -7)
    strictEqual(view.getUint32(40, true), 1)
    strictEqual(view.getUint32(12, true) + view.getUint32(44, true), 0)
  })

  it("takes small integers as 32-bit ones, and lays short vectors out as WGSL does", () => {
    const kernel = Kernel.make({
      name: "values",
      args: [
        ScalarArg("i8", "a"),
        ScalarArg("vec3<f32>", "b"),
        ScalarArg("u16", "c"),
        ScalarArg("vec2<i16>", "d"),
        ScalarArg("vec3<f16>", "e"),
        ScalarArg("vec4<u8>", "f")
      ],
      body: { wgsl: "" }
    })
    const { code, members, uniformBytes } = source(kernel)
    assert.isTrue(code.startsWith(`enable f16;
struct Scalars__block {
  count: u32,
  a: i32,
  b: vec3<f32>,
  c: u32,
  d: vec2<i32>,
  e: vec3<f32>,
  f: vec4<u32>,
}
`))
    assert.include(code, "  let d = scalars__.d;\n  let e = vec3<f16>(scalars__.e);\n  let f = scalars__.f;\n")
    deepStrictEqual(members.map(({ at }) => at), [0, 4, 16, 28, 32, 48, 64])
    strictEqual(uniformBytes, 80)
    const view = new DataView(new ArrayBuffer(96))
    writeScalars(view, 16, members, {
      compiled: {} as never,
      vectors: [],
      scalars: [-128, [1, 2, 3], 0xffff, [-1, -2], [4, 5, 6], [7, 8, 9, 255]],
      images: [],
      samplers: [],
      count: 3
    })
    const integers = (at: number, count: number) => [...new Int32Array(view.buffer, 16 + at, count)]
    const floats = (at: number, count: number) => [...new Float32Array(view.buffer, 16 + at, count)]
    deepStrictEqual(integers(0, 2), [3, -128])
    deepStrictEqual(floats(16, 3), [1, 2, 3])
    deepStrictEqual(integers(28, 3), [0xffff, -1, -2])
    deepStrictEqual(floats(48, 3), [4, 5, 6])
    deepStrictEqual(integers(64, 4), [7, 8, 9, 255])
  })

  it("takes 64-bit integers as their words, and several as an array of those", () => {
    const kernel = Kernel.make({
      name: "longs",
      args: [
        ScalarArg("i64", "a"),
        ScalarArg("u8", "b"),
        ScalarArg("vec3<u64>", "c"),
        ScalarArg("u32", "d"),
        ScalarArg("vec2<i64>", "e")
      ],
      body: { wgsl: "let sum = add__i64(a, e[1]);" }
    })
    const { code, members, uniformBytes } = source(kernel)
    assert.isTrue(code.startsWith(`struct Scalars__block {
  count: u32,
  a: vec2<u32>,
  b: u32,
  c: array<vec4<u32>, 2>,
  d: u32,
  e: array<vec4<u32>, 1>,
}
`))
    assert.include(
      code,
      `  let a = scalars__.a;
  let b = scalars__.b;
  let c = array<vec2<u32>, 3>(scalars__.c[0].xy, scalars__.c[0].zw, scalars__.c[1].xy);
  let d = scalars__.d;
  let e = array<vec2<u32>, 2>(scalars__.e[0].xy, scalars__.e[0].zw);
`
    )
    deepStrictEqual(members.map(({ at }) => at), [0, 8, 16, 32, 64, 80])
    strictEqual(uniformBytes, 96)
    const view = new DataView(new ArrayBuffer(112))
    writeScalars(view, 16, members, {
      compiled: {} as never,
      vectors: [],
      scalars: [-2n, 7, [2n ** 64n - 1n, 2n ** 32n, 5n], 9, [-(2n ** 63n), 2n ** 53n + 1n]],
      images: [],
      samplers: [],
      count: 3
    })
    const longs = (at: number, count: number) => [...new BigInt64Array(view.buffer, 16 + at, count)]
    deepStrictEqual(longs(8, 1), [-2n])
    deepStrictEqual(longs(32, 3), [-1n, 2n ** 32n, 5n])
    deepStrictEqual([view.getUint32(32, true), view.getUint32(80, true)], [7, 9])
    deepStrictEqual(longs(80, 2), [-(2n ** 63n), 2n ** 53n + 1n])
  })

  it("declares the functions of 64-bit integers that a kernel calls and does not declare, each once", () => {
    const body = "x[i] = fmod__u64(vec2<u32>(x[i], 1u), vec2<u32>(3u, 0u)).x;"
    const called = ["less__u64", "subtract__u64", "multiply__u64", "leftShift__u64", "rightShift__u64"]
    const divisions = ["digit__u64", "shortQuotient__u64", "truncDivide__u64", "fmod__u64"]
    deepStrictEqual(declaredIn("", body), [...called, ...divisions, "kernel__main"])
    deepStrictEqual(declaredIn("fn less__u64(a: vec2<u32>, b: vec2<u32>) -> bool { return a.y < b.y; }", body), [
      ...called.slice(1),
      ...divisions,
      "less__u64",
      "kernel__main"
    ])
    deepStrictEqual(declaredIn("fn double(a: vec2<u32>) -> vec2<u32> { return add__u64(a, a); }", ""), [
      "add__u64",
      "double",
      "kernel__main"
    ])
    deepStrictEqual(declaredIn("", "x[i] = 1u;"), ["kernel__main"])
  })

  it.each<readonly [ValueType, hint: string]>([
    ["vec8<f32>", "pass it as 2 arguments of type vec4<f32>"],
    ["vec16<i8>", "pass it as 4 arguments of type vec4<i8>"],
    ["vec8<u64>", "pass it as 2 arguments of type vec4<u64>"]
  ])("has no %s, and says what to pass instead", (type, hint) => {
    const { message, reason } = failure(Kernel.make({ name: "k", args: [ScalarArg(type, "a")], body: { wgsl: "" } }))
    strictEqual(reason._tag, "Unsupported")
    assert.include(message, `${type} (argument "a")`)
    assert.include(message, hint)
  })

  it("starts few items where they take turns, with indices that do not wrap round", () => {
    const counts = fc.oneof(fc.integer({ min: 1, max: 2 ** 32 - 1 }), fc.integer({ min: 1, max: 2 ** 20 }))
    fc.assert(
      fc.property(counts, fc.constantFrom(64, 96, 256), fc.constantFrom(1024, 65_535), (count, size, largest) => {
        const grid = groupsInTurns(count, size, largest)
        if (grid === undefined) return assert.isUndefined(workgroups(count, size, largest))
        const [x, y] = grid
        assert.isAtMost(Math.max(x, y), largest)
        const groups = Math.ceil(count / size)
        if (count <= 2 ** 31) assert.isAtMost(x * y, Math.max(Math.min(groups, 64), Math.ceil(groups / 16)) + y)
        const started = x * y * size
        assert.isAtMost(started * (1 + Math.floor((count - 1) / started)), 2 ** 32)
      })
    )
    deepStrictEqual(groupsInTurns(4096, 64, 65_535), [64, 1])
    deepStrictEqual(groupsInTurns(5000, 64, 65_535), [64, 1])
    deepStrictEqual(groupsInTurns(2 ** 20, 64, 65_535), [1024, 1])
  })

  it("lays out enough workgroups within two dimensions, and no index that wraps round", () => {
    const largest = 65_535
    const counts = fc.oneof(fc.integer({ min: 1, max: 0xffffffff }), fc.integer({ min: 0xff000000, max: 0xffffffff }))
    fc.assert(fc.property(counts, fc.integer({ min: 2, max: 1024 }), (count, size) => {
      const grid = workgroups(count, size, largest)
      if (grid === undefined) {
        // Only next to 2^32, and only where no row of whole workgroups ends there.
        return assert.isTrue(count > 2 ** 32 - largest * size && ((size & (size - 1)) !== 0 || size === 2))
      }
      const [x, y] = grid
      assert.isTrue(x <= largest && y <= largest)
      assert.isTrue(x * y * size >= count && x * y * size <= 2 ** 32)
      assert.isTrue((x - 1) * y * size < count)
    }))
    deepStrictEqual(workgroups(largest, 1, largest), [largest, 1])
    deepStrictEqual(workgroups(largest + 1, 1, largest), [32_768, 2])
    deepStrictEqual(workgroups(0xffffffff, 64, largest), [32_768, 2048])
    strictEqual(workgroups(0xffffffff, 1, largest), undefined)
    strictEqual(workgroups(0xffffffff, 96, largest), undefined)
  })

  it("knows the most items that have a layout", () => {
    const largest = 65_535
    strictEqual(maxDispatchItems(1, largest), largest ** 2)
    strictEqual(maxDispatchItems(64, largest), 2 ** 32)
    for (const size of [2, 3, 96, 1000]) {
      const most = maxDispatchItems(size, largest)
      assert.isDefined(workgroups(most, size, largest))
      assert.isUndefined(workgroups(most + 1, size, largest))
    }
  })
})

import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Kernel from "../../src/domain/kernel/Kernel.ts"
import { ImageArg, SamplerArg, ScalarArg, VectorArg } from "../../src/domain/kernel/KernelArgument.ts"
import type { Extents } from "../../src/domain/kernel/Workgroup.ts"
import * as OpenClSource from "../../src/layers/OpenCl/kernels/OpenClSource.ts"
import * as OpenClCode from "../../src/layers/OpenCl/OpenClCode.ts"
import { inOpenClC } from "../support/writtenSource.ts"

const generate = (kernel: Kernel.Kernel, workgroupSize: Extents | undefined = [64, 1, 1]) =>
  OpenClSource.source(kernel, { ...inOpenClC(kernel), workgroupSize })

describe("OpenClSource", () => {
  it("writes the whole kernel around the body", () => {
    const kernel = Kernel.make({
      name: "scale",
      args: [
        VectorArg("f32", "x"),
        VectorArg("i32", "y", { access: "read", withOffset: true }),
        VectorArg("u32", "z", { access: "write" }),
        ScalarArg("f32", "a")
      ],
      body: { opencl: "x[i] = a * y[y_offset + i];" },
      preamble: { opencl: "float twice(float v) { return 2 * v; }" }
    })
    strictEqual(
      generate(kernel),
      `float twice(float v) { return 2 * v; }
__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void scale__kernel(__global float *x, const uint x_length, __global const int *y, const uint y_length, const uint y_offset, __global uint *z, const uint z_length, const float a, const uint count) {
  if (get_global_id(0) >= count) return;
  const uint i = (uint) get_global_id(0);
  {
x[i] = a * y[y_offset + i];
  }
}
`
    )
  })

  it("takes images and samplers by their types", () => {
    const format = { order: "rgba", type: "unorm8" } as const
    const kernel = Kernel.make({
      name: "k",
      args: [
        ImageArg("a"),
        ImageArg("b", { kind: "1dArray" }),
        SamplerArg("s"),
        ImageArg("c", { access: "write", kind: "1d", format }),
        ImageArg("d", { access: "write", kind: "2dArray", format }),
        ImageArg("e", { kind: "3d" })
      ],
      body: { opencl: "" }
    })
    assert.include(
      generate(kernel),
      "void k__kernel(__read_only image2d_t a, __read_only image1d_array_t b, sampler_t s, " +
        "__write_only image1d_t c, __write_only image2d_array_t d, __read_only image3d_t e, const uint count) {"
    )
    assert.notInclude(generate(kernel), "#pragma")
  })

  it("takes images over buffers by their type, or as rows where the driver needs that", () => {
    const kernel = Kernel.make({ name: "k", args: [ImageArg("x", { kind: "1dBuffer" })], body: { opencl: "" } })
    assert.include(generate(kernel), "__read_only image1d_buffer_t x")
    const options = { body: "", preamble: "", workgroupSize: undefined, rowsForBuffers: true }
    assert.include(OpenClSource.source(kernel, options), "__read_only image1d_t x")
    const array = Kernel.make({ name: "k", args: [ImageArg("x", { kind: "1dArray" })], body: { opencl: "" } })
    assert.include(OpenClSource.source(array, options), "__read_only image1d_array_t x")
  })

  it("asks for writes to 3-D images", () => {
    const format = { order: "r", type: "float32" } as const
    const args = [ImageArg("x", { access: "write", kind: "3d", format })]
    const code = generate(Kernel.make({ name: "k", args, body: { opencl: "" } }))
    assert.isTrue(code.startsWith("#pragma OPENCL EXTENSION cl_khr_3d_image_writes : enable\n"))
    assert.include(code, "__write_only image3d_t x")
  })

  it.each([["f16", "cl_khr_fp16"], ["f64", "cl_khr_fp64"]] as const)(
    "asks for %s only where an argument or a body uses it",
    (dtype, extension) => {
      const pragma = `#pragma OPENCL EXTENSION ${extension} : enable\n`
      const kernelOf = (type: "f32" | typeof dtype, dtypes: ReadonlyArray<typeof dtype> = []) =>
        Kernel.make({ name: "k", args: [ScalarArg(type, "a")], body: { opencl: "" }, dtypes })
      assert.isTrue(generate(kernelOf(dtype)).startsWith(pragma))
      assert.isTrue(generate(kernelOf("f32", [dtype])).startsWith(pragma))
      assert.notInclude(generate(kernelOf("f32")), "#pragma")
    }
  )

  it("takes halves as floats, and narrows them before the body", () => {
    const kernel = Kernel.make({
      name: "k",
      args: [VectorArg("f16", "x", { access: "read" }), ScalarArg("f16", "a")],
      body: { opencl: "BODY" }
    })
    const code = generate(kernel)
    assert.include(code, "(__global const half *x, const uint x_length, const float a__wide, const uint count)")
    assert.include(code, "  const half a = (half) a__wide;\n  {\nBODY")
  })

  it("takes small and 64-bit integers and short vectors by the language's own types", () => {
    const types = ["i8", "u8", "i16", "u16", "i64", "u64", "vec2<i8>", "vec3<u64>", "vec4<f64>", "vec8<u16>"] as const
    const args = [...types.map((type, index) => ScalarArg(type, `a${index}`)), ScalarArg("vec16<f16>", "h")]
    const code = generate(Kernel.make({ name: "k", args, body: { opencl: "BODY" } }))
    assert.include(
      code,
      "(const char a0, const uchar a1, const short a2, const ushort a3, const long a4, const ulong a5, const char2 a6, " +
        "const ulong3 a7, const double4 a8, const ushort8 a9, const float16 h__wide, const uint count)"
    )
    assert.include(code, "  const half16 h = convert_half16(h__wide);\n  {\nBODY")
    for (const extension of ["cl_khr_fp16", "cl_khr_fp64"]) {
      assert.include(code, `#pragma OPENCL EXTENSION ${extension} : enable\n`)
    }
  })

  it("leaves the workgroup size to the driver when there is none", () => {
    const kernel = Kernel.make({ name: "k", args: [], body: { opencl: "" } })
    assert.notInclude(
      OpenClSource.source(kernel, { body: "", preamble: "", workgroupSize: undefined }),
      "reqd_work_group_size"
    )
  })

  it("takes only the count when there is no argument", () => {
    assert.include(
      generate(Kernel.make({ name: "k", args: [], body: { opencl: "" } })),
      "void k__kernel(const uint count)"
    )
  })
})

describe("OpenClCode", () => {
  it("names codes, and shows unknown ones as numbers", () => {
    strictEqual(OpenClCode.name(-61), "CL_INVALID_BUFFER_SIZE")
    strictEqual(OpenClCode.format(-5), "CL_OUT_OF_RESOURCES -5")
    strictEqual(OpenClCode.name(-4242), undefined)
    strictEqual(OpenClCode.format(-4242), "-4242")
  })

  it("knows PyOpenCL's out-of-memory codes, and those of a lost device", () => {
    const codes = Array.from({ length: 100 }, (_, i) => -i)
    deepStrictEqual(codes.filter(OpenClCode.isOutOfMemory), [-4, -5, -6])
    deepStrictEqual(codes.filter(OpenClCode.isDeviceLost), [-2, -34, -36])
    assert.isTrue(OpenClCode.isDeviceLost(-9999))
  })
})

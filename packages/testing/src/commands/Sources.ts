/**
 * Kernels that are whole sources of the program's own: their arguments arrive in their order, and sources that do not fit
 * them are refused.
 *
 * @internal
 */
import { BufferPool, CommandQueue } from "effect-gpu-pool"
import { DeviceContext } from "effect-gpu-pool/DeviceContext"
import type { Reason } from "effect-gpu-pool/GpuError"
import { type KernelArgument, LocalArg, ScalarArg, VectorArg } from "effect-gpu-pool/KernelArgument"
import { KernelCache } from "effect-gpu-pool/KernelCache"
import * as SourceKernel from "effect-gpu-pool/SourceKernel"
import type * as Workgroup from "effect-gpu-pool/Workgroup"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { type ConformanceTest, inGroup, scaled, type TestServices } from "../ConformanceTest.ts"
import * as Expect from "../Expect.ts"
import { expectUsable } from "../memory/BadRequests.ts"
import { filled, written } from "../pool/Leases.ts"
import { forSeeds, type Random, seeds } from "../Random.ts"

const test = inGroup("sources")

/** Arguments of every kind that holds numbers, in mixed order: y = weights . (x reversed within its workgroup), + bias. */
const mixed = SourceKernel.make({
  name: "mixed",
  args: [
    ScalarArg("f32", "bias"),
    VectorArg("f32", "y", { access: "write" }),
    LocalArg("f32", "part", 8),
    ScalarArg("vec3<f32>", "weights"),
    VectorArg("f32", "x", { access: "read" }),
    ScalarArg("u8", "step"),
    ScalarArg("u32", "n")
  ],
  workgroupSize: 8,
  source: {
    wgsl: `
      struct Values { bias: f32, weights: vec3<f32>, step: u32, n: u32 }
      @group(0) @binding(0) var<uniform> values: Values;
      @group(0) @binding(1) var<storage, read_write> y: array<f32>;
      @group(0) @binding(2) var<storage, read> x: array<f32>;
      var<workgroup> part: array<f32, 8>;
      @compute @workgroup_size(8)
      fn mixed(@builtin(global_invocation_id) id: vec3<u32>, @builtin(local_invocation_id) at: vec3<u32>) {
        part[at.x] = 0.0;
        if (id.x < values.n) { part[at.x] = x[id.x]; }
        workgroupBarrier();
        if (id.x < values.n) {
          let w = values.weights;
          y[id.x] = values.bias + w.x * part[7u - at.x] + w.y * part[at.x] + w.z * f32(values.step);
        }
      }`,
    opencl: `
      __kernel void mixed(float bias, __global float *restrict y, __local float *part, float3 weights,
                          __global const float *x, uchar step, unsigned int n) {
        const size_t id = get_global_id(0), at = get_local_id(0);
        part[at] = id < n ? x[id] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (id < n) y[id] = bias + weights.x * part[7 - at] + weights.y * part[at] + weights.z * step;
      }`,
    host: ({ items }, { bias, n, part, step, weights, x, y }) => {
      items(({ globalId, localIndex }) => {
        part[localIndex] = globalId.x < n ? x[globalId.x]! : 0
      })
      items(({ globalId, localIndex }) => {
        const [first, second, third] = weights
        if (globalId.x >= n) return
        y[globalId.x] = bias + first * part[7 - localIndex]! + second * part[localIndex]! + third * step
      })
    }
  },
  itemwise: ["x", "y"]
})

/** Whole numbers so small that every order of adding is exact. */
const checkMixed = (random: Random) =>
  Effect.scoped(Effect.gen(function*() {
    const n = random.integer(1, 100)
    const data = Float32Array.from({ length: n }, () => random.integer(-50, 50))
    const [bias, step] = [random.integer(-9, 9), random.integer(0, 255)]
    const weights = [random.integer(-5, 5), random.integer(-5, 5), random.integer(-5, 5)] as const
    const [x, y] = [yield* written(data), yield* filled(4 * n, 0)]
    yield* CommandQueue.dispatch(mixed, { bias, y, weights, x, step, n }, n)
    const expected = data.map((value, at) => {
      const opposite = data[8 * Math.floor(at / 8) + 7 - at % 8] ?? 0
      return bias + weights[0] * opposite + weights[1] * value + weights[2] * step + 0
    })
    const found = (yield* CommandQueue.read(y, Float32Array)).map((value) => value + 0)
    Expect.numbers(`${n} items`, found, expected)
  }))

/** A grid of workgroups of 4 x 2 items, in which every item writes its place. */
const grid = SourceKernel.make({
  name: "grid",
  args: [VectorArg("u32", "y", { access: "write" }), ScalarArg("vec2<u32>", "size")],
  workgroupSize: [4, 2],
  source: {
    wgsl: `
      @group(0) @binding(1) var<storage, read_write> y: array<u32>;
      @group(0) @binding(0) var<uniform> size: vec2<u32>;
      @compute @workgroup_size(4, 2) fn grid(@builtin(global_invocation_id) id: vec3<u32>) {
        if (id.x < size.x && id.y < size.y) { y[id.y * size.x + id.x] = 1000u * id.y + id.x; }
      }`,
    opencl: `
      __kernel __attribute__((reqd_work_group_size(4, 2, 1))) void grid(__global uint *y, uint2 size) {
        const uint column = get_global_id(0), row = get_global_id(1);
        if (column < size.x && row < size.y) y[row * size.x + column] = 1000 * row + column;
      }`,
    host: ({ items }, { size: [columns, rows], y }) =>
      items(({ globalId }) => {
        if (globalId.x < columns && globalId.y < rows) {
          y[globalId.y * columns + globalId.x] = 1000 * globalId.y + globalId.x
        }
      })
  }
})

const args = [
  VectorArg("f32", "x", { access: "read" }),
  VectorArg("f32", "y", { access: "write" }),
  ScalarArg("f32", "a"),
  LocalArg("f32", "part", 16)
] as const

const sourced = (
  source: { readonly [language: string]: string },
  own: ReadonlyArray<KernelArgument> = args,
  workgroupSize: Workgroup.Size = 16
) => SourceKernel.make({ name: "sourced", args: own, workgroupSize, source })

const openCl = (parameters: string, attribute = "") => ({
  opencl: `__kernel ${attribute} void sourced(${parameters}) { }`
})

const wgsl = (declarations: string, statements = "", size = "16") => ({
  wgsl: `${declarations}\n@compute @workgroup_size(${size}) fn sourced() { ${statements} }`
})

/** Sources that do not fit the arguments, by what is wrong with them. */
const misfits: { readonly [what: string]: SourceKernelOf } = {
  "a parameter too few": sourced(openCl("__global const float *x, __global float *y, float a")),
  "a parameter too many": sourced(
    openCl("__global const float *x, __global float *y, float a, __local float *part, int b")
  ),
  "no parameters": sourced(openCl("")),
  "a pointer where a number is passed": sourced(
    openCl("__global const float *x, __global float *y, __global float *a, __local float *part")
  ),
  "a pointer where eight bytes are passed": sourced(
    openCl("__global float *a"),
    [ScalarArg("u64", "a")]
  ),
  "a number where a buffer is passed": sourced(openCl("ulong x"), [VectorArg("f32", "x")]),
  "a number of another size": sourced(openCl("double a"), [ScalarArg("f32", "a")]),
  "a number of another type": sourced(openCl("int a"), [ScalarArg("f32", "a")]),
  "a vector of another length": sourced(openCl("float4 a"), [ScalarArg("vec3<f32>", "a")]),
  "local memory where a buffer is passed": sourced(openCl("__local float *x"), [VectorArg("f32", "x")]),
  "a buffer where local memory is passed": sourced(openCl("__global float *part"), [LocalArg("f32", "part", 4)]),
  "a buffer that is only read without const": sourced(openCl("__global float *x"), [
    VectorArg("f32", "x", { access: "read" })
  ]),
  "another size of workgroups in OpenCL C": sourced(
    openCl("__global float *x", "__attribute__((reqd_work_group_size(8, 1, 1)))"),
    [VectorArg("f32", "x")]
  ),
  "another size of workgroups in WGSL": sourced(wgsl("", "", "8")),
  "another size of workgroups in WGSL, in two dimensions": sourced(wgsl("", "", "16, 2u")),
  "a buffer that is only read, written": sourced(
    wgsl("@group(0) @binding(1) var<storage, read_write> x: array<f32>;", "x[0] = 1.0;")
  ),
  "a binding without an argument": sourced(
    wgsl("@group(0) @binding(3) var<storage, read_write> z: array<f32>;", "z[0] = 1.0;")
  ),
  "a uniform block that is larger than the scalars": sourced(
    wgsl(
      "@group(0) @binding(0) var<uniform> values: array<vec4<f32>, 4>;\n" +
        "@group(0) @binding(2) var<storage, read_write> y: array<f32>;",
      "y[0] = values[3].x;"
    )
  ),
  "another group of bindings": sourced(
    wgsl("@group(1) @binding(0) var<storage, read_write> y: array<f32>;", "y[0] = 1.0;")
  ),
  "no function of the kernel's name": sourced({
    opencl: "__kernel void other(__global float *x) { }",
    wgsl: "@compute @workgroup_size(16) fn other() { }"
  }, [VectorArg("f32", "x")]),
  "no source at all": sourced({ opencl: "", wgsl: "" }, [VectorArg("f32", "x")]),
  "a source that does not compile": sourced({ opencl: "no_such_thing", wgsl: "no_such_thing" })
}

type SourceKernelOf = ReturnType<typeof sourced>

const refusals: ReadonlyArray<Reason["_tag"]> = ["InvalidRequest", "DriverError", "Unsupported"]

const wrong: { readonly [what: string]: SourceKernelOf } = {
  "a vector with an offset": sourced({}, [VectorArg("f32", "x", { withOffset: true })]),
  "local memory of no elements": sourced({}, [LocalArg("f32", "part", 0)]),
  "a name twice": sourced({}, [VectorArg("f32", "x"), ScalarArg("f32", "x")])
}

const compile = (kernel: SourceKernelOf) => KernelCache.use((cache) => cache.get(kernel))

const hasGroups = DeviceContext.useSync(({ info }) => info.limits.groups !== undefined)

const withGroups = (body: Effect.Effect<unknown, unknown, TestServices>): Effect.Effect<void, unknown, TestServices> =>
  Effect.gen(function*() {
    if (yield* hasGroups) yield* body
    else yield* Expect.failsWith("a device without workgroups", compile(grid), "Unsupported")
  })

export const tests: ReadonlyArray<ConformanceTest> = [
  test(
    "arguments of every kind arrive in their order",
    { heavy: true },
    withGroups(Effect.flatMap(scaled(20, 4), (count) => forSeeds(seeds(count), checkMixed)))
  ),
  test(
    "a source runs in two dimensions",
    withGroups(Effect.gen(function*() {
      for (const [columns, rows] of [[1, 1], [4, 2], [7, 5], [33, 3]] as const) {
        const y = yield* filled(4 * columns * rows, 0)
        yield* CommandQueue.dispatch(grid, { y, size: [columns, rows] }, [columns, rows])
        const expected = Uint32Array.from(
          { length: columns * rows },
          (_, at) => 1000 * Math.floor(at / columns) + at % columns
        )
        Expect.numbers(`${columns} x ${rows}`, yield* CommandQueue.read(y, Uint32Array), expected)
      }
    }))
  ),
  test(
    "a source sees its workgroups as they are, so too many in one dimension are refused",
    { counting: true },
    withGroups(Effect.gen(function*() {
      const { groups } = yield* DeviceContext.useSync(({ info }) => info.limits)
      const items = 4 * (groups?.maxWorkgroups ?? 0) + 1
      const y = yield* BufferPool.allocate(64)
      const dispatch = CommandQueue.dispatch(grid, { y, size: [1, 1] }, items)
      yield* Expect.failsWith("a line", dispatch, items <= 0xffffffff ? "LimitExceeded" : "InvalidRequest")
      yield* expectUsable
    }))
  ),
  test(
    "the checks of dispatches hold for sources",
    { counting: true },
    withGroups(Effect.gen(function*() {
      const [x, y] = [yield* BufferPool.allocate(64), yield* BufferPool.allocate(60)]
      const values = { bias: 0, weights: [0, 0, 0], step: 0, n: 1 }
      const refused = [
        ["one lease twice", { ...values, x, y: x }, 1],
        ["more items than elements", { ...values, x, y }, 16],
        ["a number that its type does not hold", { ...values, x, y, step: 256 }, 1]
      ] as const
      for (const [what, given, items] of refused) {
        yield* Expect.refused(what, CommandQueue.dispatch(mixed, given, items))
      }
      yield* expectUsable
    }))
  ),
  ...Object.entries(misfits).map(([name, kernel]) =>
    test(
      `${name} fails with a reason`,
      { counting: true },
      Effect.gen(function*() {
        const compiled = yield* Effect.result(compile(kernel))
        if (Result.isSuccess(compiled)) return Expect.fail(`${name}: it was compiled`)
        const { reason } = compiled.failure
        Expect.isTrue(`${name}: ${compiled.failure.message}`, refusals.includes(reason._tag))
        Expect.isTrue(`it names the kernel: ${compiled.failure.message}`, compiled.failure.message.includes("sourced"))
        yield* expectUsable
      })
    )
  ),
  ...Object.entries(wrong).map(([name, kernel]) =>
    test(
      `${name}: InvalidRequest`,
      { counting: true },
      Effect.andThen(Expect.refused(name, compile(kernel)), expectUsable)
    )
  )
]

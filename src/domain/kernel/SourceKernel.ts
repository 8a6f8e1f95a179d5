/**
 * Kernels that are whole sources of the program's own, with their own signatures and bindings, as PyOpenCL and PyCUDA take
 * them.
 *
 * @since 0.1.0
 */
import type { DType } from "../data/DType.ts"
import type { GroupBodies } from "./GroupKernel.ts"
import { define, type Kernel, type KernelBodies } from "./Kernel.ts"
import type { KernelArgument } from "./KernelArgument.ts"
import type { Size } from "./Workgroup.ts"
import { workgroupProblem } from "./WorkgroupProblem.ts"

/** What a kernel with sources of its own is made of. */
interface SourceKernelOptions<Args extends ReadonlyArray<KernelArgument>> {
  readonly name: string
  readonly args: Args
  readonly workgroupSize: Size
  readonly source: GroupBodies<Args>
  readonly buildOptions?: string | undefined
  readonly dtypes?: ReadonlyArray<DType> | undefined
  readonly itemwise?: ReadonlyArray<Args[number]["name"]> | undefined
  readonly workPerItem?: Args[number]["name"] | undefined
}

/**
 * Defines a kernel by whole sources: nothing is written around them. `name` is the name of the entry point in each, and
 * the list of arguments says what the library passes, in the order of the source.
 *
 * In **OpenCL C** the entry point is a `__kernel` function with one parameter for each argument: a `__global` pointer for
 * a vector (`const` where it is only read), a value for a scalar (a `float` for an f16), an image, a sampler, and a
 * `__local` pointer for local memory. In **WGSL** it is a `@compute` function whose `@workgroup_size` is the kernel's. Its
 * vectors, images and samplers are bound at `@group(0)`, from `@binding(1)` on, in the order of the arguments; all scalars,
 * in their order, are the members of one struct, a `var<uniform>` at `@binding(0)`. The source declares local memory
 * itself. On the **host** it is a function of a workgroup, as in `GroupKernel`.
 *
 * Nothing tells a source how many items the program asked for: pass that by a scalar. The range is rounded up to whole
 * workgroups. The checks of other dispatches hold: usages, bounds, overlaps, released leases, and limits. A source whose
 * parameters do not fit its arguments is InvalidRequest on OpenCL, and DriverError on WebGPU, whose compiler finds it.
 *
 * **Example** (A program of PyOpenCL's, and the same in WGSL)
 *
 * ```ts
 * import { type BufferPool, CommandQueue, KernelArgument } from "effect-gpu-pool"
 * import { SourceKernel } from "effect-gpu-pool/kernels"
 *
 * const add = SourceKernel.make({
 *   name: "add",
 *   args: [
 *     KernelArgument.VectorArg("f32", "a", { access: "read" }),
 *     KernelArgument.VectorArg("f32", "result", { access: "write" }),
 *     KernelArgument.ScalarArg("f32", "b"),
 *     KernelArgument.ScalarArg("u32", "n")
 *   ],
 *   workgroupSize: 64,
 *   source: {
 *     opencl: `
 *       __kernel void add(__global const float *a, __global float *result, float b, uint n) {
 *         const int gid = get_global_id(0);
 *         if (gid < n) result[gid] = a[gid] + b;
 *       }`,
 *     wgsl: `
 *       struct Values { b: f32, n: u32 }
 *       @group(0) @binding(0) var<uniform> values: Values;
 *       @group(0) @binding(1) var<storage, read> a: array<f32>;
 *       @group(0) @binding(2) var<storage, read_write> result: array<f32>;
 *       @compute @workgroup_size(64) fn add(@builtin(global_invocation_id) id: vec3<u32>) {
 *         if (id.x < values.n) { result[id.x] = a[id.x] + values.b; }
 *       }`,
 *     host: (group, { a, b, n, result }) =>
 *       group.items(({ globalId }) => {
 *         if (globalId.x < n) result[globalId.x] = a[globalId.x]! + b
 *       })
 *   },
 *   itemwise: ["a", "result"]
 * })
 *
 * const run = (a: BufferPool.PooledBuffer, result: BufferPool.PooledBuffer, n: number) =>
 *   CommandQueue.dispatch(add, { a, result, b: 1, n }, n)
 * ```
 *
 * @see pyopencl.Program, pycuda.compiler.SourceModule
 * @category constructors
 * @since 0.1.0
 */
export const make = <const Args extends ReadonlyArray<KernelArgument>>(
  options: SourceKernelOptions<Args>
): Kernel<Args> => {
  const { source, ...others } = options
  return define<Args>({
    ...others,
    form: "source",
    // Which of the two a function is, its kernel's form says.
    body: source as KernelBodies<Args>,
    problem: workgroupProblem({ ...others, form: "source" })
  })
}

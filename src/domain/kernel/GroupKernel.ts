/**
 * Kernels that are written for workgroups: their items share memory and wait for each other at barriers, in up to three
 * dimensions.
 *
 * @since 0.1.0
 */
import type { DType } from "../data/DType.ts"
import { define, type HostArguments, type Kernel, type KernelBodies } from "./Kernel.ts"
import type { KernelArgument } from "./KernelArgument.ts"
import type { ReservedWord } from "./ReservedWords.ts"
import type { HostGroup, Size } from "./Workgroup.ts"
import { workgroupProblem } from "./WorkgroupProblem.ts"

/**
 * A body for the host backend: works through one workgroup, by calls of `group.items`, each of which ends with a barrier.
 * The local memory among its arguments is the workgroup's own. The library calls the body workgroup by workgroup, with
 * yields to the event loop in between.
 *
 * @category models
 * @since 0.1.0
 */
export type GroupBody<Args extends ReadonlyArray<KernelArgument>> = (
  group: HostGroup,
  args: HostArguments<Args>
) => void

/**
 * One body per language, by the id of the language: `wgsl` and `opencl` are statements for one item of a workgroup,
 * `host` is a function of a workgroup.
 *
 * @category models
 * @since 0.1.0
 */
export type GroupBodies<Args extends ReadonlyArray<KernelArgument>> = {
  readonly [language: string]: string | GroupBody<Args> | undefined
}

/** What a kernel for workgroups is made of. */
interface GroupKernelOptions<Args extends ReadonlyArray<KernelArgument>> {
  readonly name: string
  readonly args: Args
  readonly workgroupSize: Size
  readonly body: GroupBodies<Args>
  readonly preamble?: { readonly [language: string]: string | undefined } | undefined
  readonly buildOptions?: string | undefined
  readonly dtypes?: ReadonlyArray<DType> | undefined
  readonly itemwise?: ReadonlyArray<Args[number]["name"]> | undefined
  readonly workPerItem?: Args[number]["name"] | undefined
}

/** The names that bodies have besides their arguments. */
type Given = "global_id" | "local_id" | "local_index" | "group_id" | "group_count" | "group_size" | "range"

type Taken<Args extends ReadonlyArray<KernelArgument>> = Extract<Args[number]["name"], ReservedWord | Given>

/** Lets TypeScript refuse reserved words and the names that every body has, as far as it knows the names. */
type FreeNames<Args extends ReadonlyArray<KernelArgument>> = [Taken<Args>] extends [never] ? unknown
  : unknown extends Taken<Args> ? unknown
  : {
    readonly args: `"${Taken<Args>}" is taken: a language of kernels or the generated code keeps this word for itself`
  }

/**
 * Defines a kernel that is written for workgroups. Its `workgroupSize` is a number, or a number for each of up to three
 * dimensions, and `CommandQueue.dispatch` takes a range of as many. Arguments declared by `LocalArg` are memory that the
 * items of a workgroup share.
 *
 * WGSL and OpenCL C bodies are the statements of one item. Besides the arguments by name, and `<name>_length` of each
 * vector, they see `global_id`, `local_id`, `group_id`, `group_count`, `group_size` and `range`, each with `x`, `y` and
 * `z`, and the number `local_index`; all are unsigned 32-bit integers. The range is rounded up to whole workgroups, and
 * items beyond it run too, since a barrier needs all items of the workgroup: so a body compares `global_id` with `range`
 * where it reads and writes. Barriers and atomic functions are those of the language: `workgroupBarrier()` and
 * `atomicAdd` in WGSL, `barrier(CLK_LOCAL_MEM_FENCE)` and `atomic_add` in OpenCL C. A host body is a function of a
 * workgroup. What local memory contains when a workgroup begins is undefined.
 *
 * Mistakes in a definition are `problem` of the kernel, and InvalidRequest when it is dispatched. A workgroup or local
 * memory over the device's limits is LimitExceeded, and a backend that cannot run such kernels answers Unsupported.
 *
 * **Example** (Reversing each group of 64 elements)
 *
 * ```ts
 * import { KernelArgument } from "effect-gpu-pool"
 * import { GroupKernel } from "effect-gpu-pool/kernels"
 *
 * const reverse = GroupKernel.make({
 *   name: "reverse",
 *   args: [KernelArgument.VectorArg("u32", "x"), KernelArgument.LocalArg("u32", "part", 64)],
 *   workgroupSize: 64,
 *   body: {
 *     wgsl: `
 *       if (global_id.x < range.x) { part[local_index] = x[global_id.x]; }
 *       workgroupBarrier();
 *       if (global_id.x < range.x) { x[global_id.x] = part[63u - local_index]; }`,
 *     opencl: `
 *       if (global_id.x < range.x) part[local_index] = x[global_id.x];
 *       barrier(CLK_LOCAL_MEM_FENCE);
 *       if (global_id.x < range.x) x[global_id.x] = part[63 - local_index];`,
 *     host: (group, { part, x }) => {
 *       group.items(({ globalId, localIndex }) => {
 *         if (globalId.x < group.range.x) part[localIndex] = x[globalId.x]!
 *       })
 *       group.items(({ globalId, localIndex }) => {
 *         if (globalId.x < group.range.x) x[globalId.x] = part[63 - localIndex]!
 *       })
 *     }
 *   }
 * })
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = <const Args extends ReadonlyArray<KernelArgument>>(
  options: GroupKernelOptions<Args> & FreeNames<Args>
): Kernel<Args> =>
  define<Args>({
    ...options,
    form: "groups",
    // Which of the two a function is, its kernel's form says.
    body: options.body as KernelBodies<Args>,
    problem: workgroupProblem({ ...options, form: "groups" })
  })

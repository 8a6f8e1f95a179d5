/**
 * What is wrong with the workgroups of a kernel definition: their size, their memory, and atomic elements.
 *
 * @internal
 */
import { formatted } from "../arguments/Format.ts"
import * as DType from "../data/DType.ts"
import { type GpuError, invalidRequest } from "../GpuError.ts"
import type { KernelArgument, LocalArg, VectorArg } from "./KernelArgument.ts"
import type { Size } from "./Workgroup.ts"

/** The part of a kernel that is checked here. */
interface Definition {
  readonly name: string
  readonly args: ReadonlyArray<KernelArgument>
  readonly form?: "groups" | "source" | undefined
  readonly workgroupSize: Size
}

const operation = "Kernel.make"

/** InvalidRequest, or `undefined` for good workgroups. */
export const workgroupProblem = (definition: Definition): GpuError | undefined => {
  const problem = sizeProblem(definition)
  if (problem !== undefined) return problem
  for (const argument of definition.args) {
    if (definition.form === "groups" && given.has(argument.name)) return givenProblem(definition, argument)
    const problem = argument._tag === "LocalArg"
      ? localProblem(definition, argument) ?? atomicProblem(definition, argument)
      : argument._tag === "VectorArg"
      ? vectorProblem(definition, argument)
      : undefined
    if (problem !== undefined) return problem
  }
  return undefined
}

/** What bodies of workgroups have besides their arguments. */
const given: ReadonlySet<string> = new Set([
  "global_id",
  "local_id",
  "local_index",
  "group_id",
  "group_count",
  "group_size",
  "range"
])

const givenProblem = ({ name: kernel }: Definition, { name }: KernelArgument): GpuError =>
  invalidRequest(
    operation,
    `the name "${name}" is taken in kernel "${kernel}"`,
    `Choose another one: bodies of workgroups have ${[...given].join(", ")} besides their arguments.`
  )

const isExtent = (value: unknown): boolean => Number.isInteger(value) && (value as number) >= 1

/** That of a kernel of single items is a number, which the kernel's definition checks. */
const sizeProblem = ({ form, name, workgroupSize }: Definition): GpuError | undefined => {
  if (form === undefined) return undefined
  const given: unknown = workgroupSize
  const isSize = isExtent(given) ||
    (Array.isArray(given) && given.length >= 1 && given.length <= 3 &&
      given.every((extent) => extent === undefined || isExtent(extent)) && given[0] !== undefined)
  return isSize ? undefined : invalidRequest(
    operation,
    `workgroupSize ${formatted(given)} of kernel "${name}" is neither a positive integer nor one to three of them`,
    "Pass the items of a workgroup, as 64 or [16, 16]."
  )
}

const localProblem = ({ form, name: kernel }: Definition, { dtype, length, name }: LocalArg): GpuError | undefined => {
  if (form === undefined) {
    return invalidRequest(
      operation,
      `"${name}" is local memory, and kernel "${kernel}" has bodies of single items`,
      "Write the kernel for workgroups, by GroupKernel.make: only such a kernel has memory that a workgroup shares."
    )
  }
  if (!DType.isDType(dtype)) {
    return invalidRequest(
      operation,
      `local memory "${name}" of kernel "${kernel}" has elements of ${formatted(dtype)}`,
      "Name an element type, as f32."
    )
  }
  return Number.isInteger(length) && length >= 1 && length <= 0xffffffff ? undefined : invalidRequest(
    operation,
    `local memory "${name}" of kernel "${kernel}" has ${formatted(length)} elements`,
    "Pass a positive integer: how many elements the workgroup shares."
  )
}

const vectorProblem = (definition: Definition, argument: VectorArg): GpuError | undefined => {
  const problem = atomicProblem(definition, argument)
  if (problem !== undefined) return problem
  const { access, atomic, name, withOffset } = argument
  if (atomic === true && access === "read") {
    return invalidRequest(
      operation,
      `argument "${name}" of kernel "${definition.name}" is atomic and only read`,
      "Leave its access out: atomic functions write."
    )
  }
  return definition.form !== "source" || !withOffset ? undefined : invalidRequest(
    operation,
    `argument "${name}" of kernel "${definition.name}", which is a source of its own, is declared withOffset`,
    "Pass the offset by a scalar that the source declares, or pass a sub-region of the buffer."
  )
}

const atomicProblem = (
  { name: kernel }: Definition,
  { atomic, dtype, name }: Pick<VectorArg | LocalArg, "atomic" | "dtype" | "name">
): GpuError | undefined =>
  atomic !== true || dtype === "i32" || dtype === "u32" ? undefined : invalidRequest(
    operation,
    `argument "${name}" of kernel "${kernel}" is atomic, of ${formatted(dtype)}`,
    "Use i32 or u32: languages have atomic functions for these."
  )

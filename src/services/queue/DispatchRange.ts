/**
 * How much a dispatch runs: a number of items, or for a kernel that is written for workgroups a range in up to three
 * dimensions.
 *
 * @internal
 */
import { formatted } from "../../domain/arguments/Format.ts"
import type { DeviceInfo } from "../../domain/device/DeviceInfo.ts"
import { type GpuError, invalidRequest, limitExceeded } from "../../domain/GpuError.ts"
import type { Kernel } from "../../domain/kernel/Kernel.ts"
import * as Workgroup from "../../domain/kernel/Workgroup.ts"

/** A checked range, as a queue driver takes it. */
export interface DispatchRange {
  /** All items together. */
  readonly count: number
  /** The items of each dimension, of a kernel that is written for workgroups. */
  readonly range: Workgroup.Extents | undefined
}

const operation = "CommandQueue.dispatch"

/** Indices of items have 32 bits. */
const mostItems = 0xffffffff

/** The range of a dispatch. A kernel of single items has one dimension: it runs all items of the given ones. */
export const rangeOf = (kernel: Kernel, given: Workgroup.Range, info: DeviceInfo): DispatchRange | GpuError => {
  if (typeof given === "number" && kernel.form === undefined) {
    return countProblem(given) ?? { count: given, range: undefined }
  }
  const problem = rangeProblem(given)
  if (problem !== undefined) return problem
  const range = Workgroup.extentsOf(given)
  const count = Workgroup.itemsOf(range)
  if (kernel.form === undefined) return countProblem(count) ?? { count, range: undefined }
  return groupsProblem(kernel, range, info) ?? { count, range }
}

const isItems = (value: unknown): boolean =>
  Number.isInteger(value) && (value as number) >= 0 && (value as number) <= mostItems

const countProblem = (count: unknown): GpuError | undefined =>
  isItems(count) ? undefined : invalidRequest(
    operation,
    `count ${formatted(count)} is no whole number of items from 0 to 2^32 - 1`,
    typeof count === "number" && count > mostItems
      ? "Do it in several parts."
      : "Pass how many items the kernel runs over, after its arguments."
  )

const rangeProblem = (given: unknown): GpuError | undefined => {
  if (!Array.isArray(given)) return countProblem(given)
  const isRange = given.length >= 1 && given.length <= 3 && isItems(given[0]) &&
    given.every((extent) => extent === undefined || isItems(extent))
  return isRange ? undefined : invalidRequest(
    operation,
    `range ${formatted(given)} is no array of one to three whole numbers of items from 0 to 2^32 - 1`,
    "Pass how many items the kernel runs over in each dimension, as [columns, rows], after its arguments."
  )
}

const groupsProblem = (
  { form, workgroupSize }: Kernel,
  range: Workgroup.Extents,
  { limits: { groups }, name }: DeviceInfo
): GpuError | undefined => {
  const size = Workgroup.extentsOf(workgroupSize)
  // Drivers lay out the workgroups of one dimension as they can; a source of the program's own sees them as they are.
  const isLine = form === "groups" && range[1] === 1 && range[2] === 1
  const counts = Workgroup.countOf(range, size)
  for (let dimension = 0; dimension < 3; dimension++) {
    const count = counts[dimension]!
    // Without limits the kernel is Unsupported before it has a compiled form.
    if (groups !== undefined && count > groups.maxWorkgroups && !isLine) {
      return limitExceeded({
        operation,
        requested: count,
        limitName: "maxWorkgroups",
        limit: groups.maxWorkgroups,
        unit: "workgroups",
        owner: { kind: "device", name }
      })
    }
    if (count * size[dimension]! <= mostItems + 1) continue
    return invalidRequest(
      operation,
      `range ${Workgroup.format(range)} in workgroups of ${Workgroup.format(size)} reaches beyond 2^32 items`,
      "Do it in several parts: indices of items have 32 bits."
    )
  }
  return undefined
}

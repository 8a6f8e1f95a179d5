/**
 * OpenCL C for PoCL on a CPU, where an item computes a run of items in a loop.
 *
 * LLVM first joins like operations of one item to short vectors, and then no longer sees that neighbouring items do the same. It
 * looks for a loop in the source before. So a body of many statements takes a third of the time in one; in a short one the loop
 * costs more than it gains.
 *
 * @internal
 */
import type { KernelSource } from "../../../domain/language/LanguageWriter.ts"

/** Lines from which on a loop gains, and the items of a run. */
const many = 24
const run = 64

/** The source in which the first item of each run computes all of it, where that gains. */
export const inRuns = (source: KernelSource): KernelSource => {
  const { body, isStraight } = source
  if (isStraight !== true || typeof body !== "string" || body.split("\n").length < many) return source
  return {
    ...source,
    body: [
      `  if (i % ${run}u == 0u) {`,
      "  const uint first__ = i;",
      `  const uint items__ = min(${run}u, count - first__);`,
      "  for (uint item__ = 0; item__ < items__; item__++) {",
      "  const uint i = first__ + item__;",
      body,
      "  }",
      "  }"
    ].join("\n")
  }
}

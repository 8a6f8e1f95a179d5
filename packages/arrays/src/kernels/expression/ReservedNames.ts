/**
 * Names of types and functions that generated code uses, which an argument of the same name would shadow. The names of
 * each language are refused on every backend, so that a program that runs on one runs on all.
 *
 * @internal
 */
import { type GpuError, invalidRequest } from "effect-gpu-pool/GpuError"
import type { NumericArgument } from "effect-gpu-pool/KernelArgument"

const taken: ReadonlySet<string> = new Set((
  "abs acos acosh array as_double as_float as_half as_int as_uint as_ulong as_ushort asin asinh atan " +
  "atan2 atanh bitcast bool ceil clz cos cosh countLeadingZeros countOneBits exp exp2 f16 f32 fabs " +
  "floor fma fmax fmin get_global_id i32 inverseSqrt log log2 max min popcount pow rint round rsqrt " +
  "select sign sin sinh sqrt tan tanh trunc u32 vec2 vec3"
).split(" "))

/** What is wrong with the names of some arguments, beyond what every kernel's must be. */
export const reservedNameProblem = (operation: string, args: ReadonlyArray<NumericArgument>): GpuError | undefined => {
  const argument = args.find(({ name }) => taken.has(name))
  return argument === undefined ? undefined : invalidRequest(
    operation,
    `the argument "${argument.name}" hides a function or a type that generated code uses`,
    `Choose another name, as "${argument.name}_value": kernels are portable, so the names of one language are refused on ` +
      "every backend."
  )
}

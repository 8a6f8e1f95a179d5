/**
 * Names of types and functions that generated code uses, and that an argument of the same name would hide from it. One
 * language's names are refused on every backend, so that a program that runs on one runs on all.
 *
 * @internal
 */
import { type GpuError, invalidRequest } from "effect-gpu-pool/GpuError"
import type { NumericArgument } from "effect-gpu-pool/KernelArgument"

const wgsl = "array bool f16 f32 i32 u32 vec2 vec3 " +
  "abs bitcast ceil cos countLeadingZeros countOneBits exp exp2 floor fma inverseSqrt log log2 max min pow round select " +
  "sign sin sqrt tan trunc"

const openClC =
  "acos acosh as_double as_float as_half as_int as_uint as_ulong as_ushort asin asinh atan atan2 atanh clz " +
  "cosh fabs fmax fmin get_global_id popcount rint rsqrt sinh tanh"

const ofWgsl: ReadonlySet<string> = new Set(wgsl.split(" "))
const ofOpenClC: ReadonlySet<string> = new Set(openClC.split(" "))

/** What is wrong with the names of some arguments, beyond what every kernel's must be. */
export const takenNameProblem = (operation: string, args: ReadonlyArray<NumericArgument>): GpuError | undefined => {
  const argument = args.find(({ name }) => ofWgsl.has(name) || ofOpenClC.has(name))
  return argument === undefined ? undefined : invalidRequest(
    operation,
    `the argument "${argument.name}" hides a function or a type that the generated ${
      ofWgsl.has(argument.name) ? "WGSL" : "OpenCL C"
    } uses`,
    `Choose another name, as "${argument.name}_value": kernels are portable, so the names of one language are refused on ` +
      "every backend."
  )
}

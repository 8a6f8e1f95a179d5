/**
 * What WGSL has around a body that is written for workgroups: local memory, and where the item is.
 *
 * @internal
 */
import type { Kernel } from "../../../domain/kernel/Kernel.ts"
import type { LocalArg } from "../../../domain/kernel/KernelArgument.ts"
import { extentsOf } from "../../../domain/kernel/Workgroup.ts"
import { isLong } from "../../../domain/language/Operation.ts"
import { long } from "../language/WgslLongs.ts"

/** The type of an array's elements. */
export const elementOf = ({ atomic, dtype }: Pick<LocalArg, "atomic" | "dtype">): string =>
  atomic === true ? `atomic<${dtype}>` : isLong(dtype) ? long : dtype

export const localDeclarations = ({ args }: Kernel): ReadonlyArray<string> =>
  args.flatMap((argument) =>
    argument._tag === "LocalArg"
      ? [`var<workgroup> ${argument.name}: array<${elementOf(argument)}, ${argument.length}>;`]
      : []
  )

/** The entry point with its statements, without a guard, since a barrier needs all items of the workgroup. */
export const groupEntry = (
  { workgroupSize }: Kernel,
  name: string,
  statements: ReadonlyArray<string>
): string => {
  const size = extentsOf(workgroupSize).join(", ")
  return `const group_size = vec3<u32>(${size});
@compute @workgroup_size(${size})
fn ${name}(
  @builtin(global_invocation_id) global_id: vec3<u32>,
  @builtin(local_invocation_id) local_id: vec3<u32>,
  @builtin(local_invocation_index) local_index: u32,
  @builtin(workgroup_id) group_id: vec3<u32>,
  @builtin(num_workgroups) group_count: vec3<u32>
) {
${statements.join("\n")}
}`
}

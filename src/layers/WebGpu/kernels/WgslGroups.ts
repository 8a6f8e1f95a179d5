/**
 * What WGSL has around a body that is written for workgroups: local memory, and where the item is.
 *
 * @internal
 */
import { byteSize } from "../../../domain/data/DType.ts"
import { type GpuError, invalidRequest } from "../../../domain/GpuError.ts"
import type { Kernel } from "../../../domain/kernel/Kernel.ts"
import type { LocalArg } from "../../../domain/kernel/KernelArgument.ts"
import { extentsOf, format } from "../../../domain/kernel/Workgroup.ts"
import { packedBits, typeNames } from "../language/WgslTypes.ts"

/** The type of an array's elements. */
export const elementOf = ({ atomic, dtype }: Pick<LocalArg, "atomic" | "dtype">): string =>
  atomic === true ? `atomic<${dtype}>` : typeNames[dtype]

/** Local memory needs no packing: small integers take a word each there. */
export const localDeclarations = ({ args }: Kernel): ReadonlyArray<string> =>
  args.flatMap((argument) =>
    argument._tag === "LocalArg"
      ? [`var<workgroup> ${argument.name}: array<${elementOf(argument)}, ${argument.length}>;`]
      : []
  )

/** Bytes of local memory. An element of one or two bytes has a whole word there, which no portable rule counts. */
export const localBytes = ({ args }: Kernel): number =>
  args.reduce((sum, argument) => {
    if (argument._tag !== "LocalArg") return sum
    const { dtype, length } = argument
    return sum + Math.ceil(length * (packedBits(dtype) === 0 ? byteSize(dtype) : 4) / 16) * 16
  }, 0)

/**
 * The entry point with its statements: `lets` of the arguments, `range` among them, and the body. There is no guard of
 * items, since a barrier needs all items of the workgroup. Workgroups of one dimension may be laid out in rows, of which
 * the last reaches beyond them: a workgroup there ends as a whole, which WGSL takes for uniform control flow.
 */
export const groupEntry = (
  { workgroupSize }: Kernel,
  name: string,
  lets: ReadonlyArray<string>,
  body: string
): string => {
  const size = extentsOf(workgroupSize).join(", ")
  return `const group_size = vec3<u32>(${size});
@compute @workgroup_size(${size})
fn ${name}(
  @builtin(global_invocation_id) item__id: vec3<u32>,
  @builtin(local_invocation_id) local_id: vec3<u32>,
  @builtin(local_invocation_index) local_index: u32,
  @builtin(workgroup_id) group__id: vec3<u32>,
  @builtin(num_workgroups) grid__size: vec3<u32>
) {
${lets.join("\n")}
  let group_count = (range - 1u) / group_size + 1u;
  let row__of = select(0u, group__id.y, range.y == 1u && range.z == 1u);
  let group_id = vec3<u32>(row__of * grid__size.x + group__id.x, group__id.y - row__of, group__id.z);
  if (group_id.x >= group_count.x) { return; }
  let global_id = item__id + vec3<u32>(row__of * (grid__size.x * group_size.x), 0u, 0u) -
    vec3<u32>(0u, row__of * group_size.y, 0u);
${body}
}`
}

/** The attributes of a function stand before it, from the end of the declaration before. */
const attributesOf = (code: string, name: string): string => {
  const before = code.slice(0, Math.max(0, code.search(new RegExp(`\\bfn\\s+${name}\\s*\\(`))))
  return before.slice(Math.max(before.lastIndexOf(";"), before.lastIndexOf("}")) + 1)
}

/**
 * InvalidRequest where the workgroup size in a source of the program's own is another than the kernel's, by which the
 * library counts workgroups. A size that is no number, as a constant, is not compared.
 */
export const sizeProblem = ({ form, name, workgroupSize }: Kernel, code: string): GpuError | undefined => {
  if (form !== "source") return undefined
  const text = code.replaceAll(/\/\/.*|\/\*[^]*?\*\//g, " ")
  const [, list] = /@workgroup_size\s*\(([^)]*)\)/.exec(attributesOf(text, name)) ?? []
  if (list === undefined) return undefined
  const parts = list.split(",").map((part) => part.trim()).filter((part) => part !== "")
  if (!parts.every((part) => /^\d+[iu]?$/.test(part))) return undefined
  const [x = 1, y = 1, z = 1] = parts.map((part) => Number.parseInt(part, 10))
  const wanted = extentsOf(workgroupSize)
  return [x, y, z].every((extent, dimension) => extent === wanted[dimension]) ? undefined : invalidRequest(
    `KernelCache.get, kernel "${name}"`,
    `its workgroupSize is ${format(wanted)}, and @workgroup_size in its WGSL is ${format([x, y, z])}`,
    "Write the same in both."
  )
}

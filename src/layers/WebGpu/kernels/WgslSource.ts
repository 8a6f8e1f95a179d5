/**
 * From a kernel definition to WGSL: bindings, the scalar block, the entry point, the item's index and the bounds guard.
 * Pure, so that it is tested without a driver.
 *
 * Names of the library contain two underscores, which a kernel's own names cannot.
 *
 * @internal
 */
import * as ValueType from "../../../domain/data/ValueType.ts"
import { type GpuError, unsupported } from "../../../domain/GpuError.ts"
import type { ImageChannel } from "../../../domain/images/ImageChannel.ts"
import {
  isNumber,
  numberOf,
  type NumberParameter,
  passedTo,
  sizeParametersOf,
  typeOf as numberType
} from "../../../domain/kernel/DispatchParameters.ts"
import type { Kernel, KernelSource } from "../../../domain/kernel/Kernel.ts"
import {
  type ImageArg,
  isNumeric,
  type KernelArgument,
  type LocalArg,
  type ScalarArg,
  type VectorArg
} from "../../../domain/kernel/KernelArgument.ts"
import { extentsOf } from "../../../domain/kernel/Workgroup.ts"
import { functionsCalled } from "../../../domain/language/FunctionTable.ts"
import { isLong } from "../../../domain/language/Operation.ts"
import type { Dispatch } from "../../../services/device/QueueDriver.ts"
import { gpuFormat } from "../images/WebGpuImageFormat.ts"
import { longs } from "../language/WgslLongs.ts"
import { packedBits } from "../language/WgslTypes.ts"
import type * as WebGpuApi from "../WebGpuApi.ts"
import { elementOf, groupEntry, localDeclarations } from "./WgslGroups.ts"
import { wordFunctions, wordOf } from "./WgslWords.ts"

/** The entry point of generated code: a kernel's name may be that of a function in WGSL. */
const generatedEntry = "kernel__main"

type Carrier = "f32" | "i32" | "u32" | ValueType.LongInteger

/** One member of the uniform block. */
export interface Member {
  readonly name: string
  readonly parameter: NumberParameter
  /** Of each of its numbers. */
  readonly carrier: Carrier
  /** How many numbers it has. */
  readonly length: number
  /** As what the body sees it, where that is no type of the block: f16, whose members are laid out otherwise, or bool. */
  readonly seen: "f16" | "bool" | undefined
  /** Where it begins in the block, in bytes. */
  readonly at: number
}

/** What is bound beside the uniform block. */
export type Binding = Exclude<KernelArgument, ScalarArg | LocalArg>

export interface WgslSource {
  readonly code: string
  readonly entryPoint: string
  /** Vectors, then images, then samplers. */
  readonly bindings: ReadonlyArray<Binding>
  /** The binding of each, from 1 on. Binding 0 is the uniform block. */
  readonly numbers: ReadonlyArray<number>
  readonly members: ReadonlyArray<Member>
  /** Bytes of the uniform block. */
  readonly uniformBytes: number
  /** Whether items take turns, as {@link groupsInTurns} says: item `i` also computes those that come a whole number of rounds later. */
  readonly takesTurns: boolean
}

/** WGSL aligns a struct in uniform space by its largest member; 16 suits every implementation. */
const blockAlignment = 16

/**
 * The source of a kernel without f64, which WebGPU's devices don't support, whose images have formats that they do
 * support; Unsupported when it has arguments of types that WGSL has not.
 */
export const generate = (
  kernel: Kernel,
  { body, isStraight = false, preamble }: KernelSource,
  isCpu: boolean
): WgslSource | GpuError => {
  const unsupported = valueProblem(kernel)
  if (unsupported !== undefined) return unsupported
  const members = membersOf(kernel)
  const bindings = (["VectorArg", "ImageArg", "SamplerArg"] as const).flatMap((tag) =>
    kernel.args.filter((argument): argument is Binding => argument._tag === tag)
  )
  const uniformBytes = Math.max(blockAlignment, roundUp(endOf(members), blockAlignment))
  if (kernel.form === "source") {
    const ordered = kernel.args.filter(({ _tag }) => _tag !== "ScalarArg" && _tag !== "LocalArg")
    const numbers = bindings.map((binding) => ordered.indexOf(binding) + 1)
    return { code: String(body), entryPoint: kernel.name, bindings, numbers, members, uniformBytes, takesTurns: false }
  }
  const takesTurns = isCpu && isStraight && kernel.form === undefined
  return {
    code: [
      ...(usesHalf(kernel) ? ["enable f16;"] : []),
      `struct Scalars__block {\n${members.map((member) => `  ${member.name}: ${typeOf(member)},`).join("\n")}\n}`,
      "@group(0) @binding(0) var<uniform> scalars__: Scalars__block;",
      ...bindings.map((argument, index) => `@group(0) @binding(${index + 1}) ${declaration(argument)}`),
      ...localDeclarations(kernel),
      ...wordFunctions(kernel.args),
      ...functionsOfLongs([preamble, String(body)]),
      ...(preamble === "" ? [] : [preamble]),
      kernel.form === "groups"
        ? groupEntry(kernel, generatedEntry, members.map(letOf), String(body))
        : entry(extentsOf(kernel.workgroupSize)[0], members, takesTurns ? inTurns : once, String(body))
    ].join("\n"),
    entryPoint: generatedEntry,
    bindings,
    numbers: bindings.map((_, index) => index + 1),
    members,
    uniformBytes,
    takesTurns
  }
}

/** The functions of 64-bit integers that texts call, and do not declare. */
const functionsOfLongs = (texts: ReadonlyArray<string>): ReadonlyArray<string> => {
  const declared = new Set(texts.flatMap((text) => [...text.matchAll(/\bfn\s+(\w+)/g)].map(([, name]) => name)))
  return functionsCalled(longs, texts).filter((text) => !declared.has(text.match(/\w+__\w+/)![0]))
}

/** Whether a kernel uses f16, which WGSL has to enable at the top of the source. */
const usesHalf = ({ args, dtypes }: Kernel): boolean =>
  dtypes.includes("f16") ||
  args.some((argument) =>
    (isNumeric(argument) || argument._tag === "LocalArg") && ValueType.partsOf(argument.dtype).element === "f16"
  )

const valueProblem = ({ args, name }: Kernel): GpuError | undefined => {
  for (const argument of args) {
    if (argument._tag !== "ScalarArg" && argument._tag !== "VectorArg") continue
    const hint = argument._tag === "ScalarArg" ? missingHint(argument.dtype) : missingElement(argument)
    if (hint === undefined) continue
    const feature = `${argument.dtype} (argument "${argument.name}")`
    return unsupported(`KernelCache.get, kernel "${name}"`, "webgpu", feature, hint)
  }
  return undefined
}

/** What to do without elements that WGSL has not. */
const missingElement = ({ dtype, name }: VectorArg): string | undefined => {
  const { element, length } = ValueType.partsOf(dtype)
  const flat = `declare it with elements of ${element}, ${length === 3 ? 4 : length} for each vector`
  if (length === 1) return undefined
  if (packedBits(element) !== 0) return `WGSL has no vectors of ${element}: ${flat}, which ${name}_load reads.`
  if (isLong(element)) return `WGSL has no vectors of 64-bit integers: ${flat}.`
  return length > 4 ? `WGSL has vectors of 2, 3 and 4 only: declare it with elements of vec4<${element}>.` : undefined
}

/** What to do without a type that WGSL has not. */
const missingHint = (type: ValueType.ValueType): string | undefined => {
  const { element, length } = ValueType.partsOf(type)
  return length > 4
    ? `WGSL has vectors of 2, 3 and 4 only: pass it as ${length / 4} arguments of type vec4<${element}>.`
    : undefined
}

const declaration = (argument: Binding): string => {
  switch (argument._tag) {
    case "VectorArg":
      return `var<storage, ${argument.access === "read" ? "read" : "read_write"}> ${argument.name}: array<${
        typeOfElement(argument)
      }>;`
    case "ImageArg":
      return `var ${argument.name}: ${textureType(argument)};`
    case "SamplerArg":
      return `var ${argument.name}: sampler;`
  }
}

const typeOfElement = ({ access, atomic, dtype }: VectorArg): string => {
  const { element, length } = ValueType.partsOf(dtype)
  if (length > 1) return `vec${length}<${element}>`
  return packedBits(element) === 0 ? elementOf({ atomic, dtype: element }) : wordOf({ access })
}

/**
 * The dimension of a view that a kernel sees. WebGPU has no arrays of rows, and no images over buffers: kernels that
 * take them are refused before.
 */
export const viewDimension = (kind: ImageArg["kind"]): WebGpuApi.TextureViewDimension => {
  switch (kind) {
    case "1dArray":
    case "2dArray":
      return "2d-array"
    case "1dBuffer":
      return "1d"
    default:
      return kind
  }
}

const texelTypes: { readonly [C in ImageChannel]: string } = { float: "f32", int: "i32", uint: "u32" }

/** An image that is written has a format, which the device has. */
const textureType = ({ access, channel, format, kind }: ImageArg): string => {
  const dimension = viewDimension(kind).replace("-", "_")
  return access === "write" && format !== undefined
    ? `texture_storage_${dimension}<${gpuFormat(format)}, write>`
    : `texture_${dimension}<${texelTypes[channel]}>`
}

/** A half travels as a float, and a truth value as a u32. WGSL has no small integers, but 32-bit ones have their values. */
const carrierOf = (element: ValueType.Parts["element"]): Carrier =>
  element === "f16" ? "f32" : element === "bool" ? "u32" : ValueType.widened(element) as Carrier

const roundUp = (bytes: number, multiple: number): number => Math.ceil(bytes / multiple) * multiple

/**
 * A vector of three takes the bytes of three, and begins where one of four would. A 64-bit integer is a vector of its two
 * words, and several are an array of vectors of four words, since elements of arrays in a block lie 16 bytes apart.
 *
 * @see https://www.w3.org/TR/WGSL/#alignment-and-size
 */
const alignmentOf = (carrier: Carrier, length: number): number =>
  isLong(carrier) ? length === 1 ? 8 : 16 : 4 * (length === 3 ? 4 : length)

const endOf = (members: ReadonlyArray<Member>): number => {
  const last = members.at(-1)
  if (last === undefined) return 0
  const { at, carrier, length } = last
  return at + (isLong(carrier) ? roundUp(8 * length, alignmentOf(carrier, length)) : 4 * length)
}

const membersOf = (kernel: Kernel): ReadonlyArray<Member> => {
  const members: Array<Member> = []
  for (const parameter of [...sizeParametersOf(kernel), ...passedTo(kernel)].filter(isNumber)) {
    const { element, length } = ValueType.partsOf(numberType(parameter))
    const carrier = carrierOf(element)
    const at = roundUp(endOf(members), alignmentOf(carrier, length))
    const seen = element === "f16" || element === "bool" ? element : undefined
    members.push({ name: nameOf(parameter), parameter, carrier, length, seen, at })
  }
  return members
}

const nameOf = (parameter: NumberParameter): string => {
  if (parameter.from === "count" || parameter.from === "range") return parameter.from
  const { name } = parameter.argument
  return parameter.from === "scalar" ? name : `${name}_${parameter.from}`
}

const typeOf = ({ carrier, length }: Member, number: string = carrier): string => {
  if (isLong(carrier)) return length === 1 ? "vec2<u32>" : `array<vec4<u32>, ${Math.ceil(length / 2)}>`
  return length === 1 ? number : `vec${length}<${number}>`
}

/**
 * The index is built from `global_invocation_id.x`, from which drivers recognise that neighbours touch neighbouring
 * elements: on a software device a copy takes half the time that it takes with `local_invocation_index`.
 * {@link workgroups} sees to it that the index does not wrap round.
 */
const entry = (
  workgroupSize: number,
  members: ReadonlyArray<Member>,
  items: (row: string, body: string) => string,
  body: string
): string =>
  `@compute @workgroup_size(${workgroupSize})
fn ${generatedEntry}(@builtin(global_invocation_id) item__id: vec3<u32>, @builtin(num_workgroups) group__counts: vec3<u32>) {
${members.map(letOf).join("\n")}
${items(`(group__counts.x * ${workgroupSize}u)`, body)}
}`

/** An item computes itself. `row` is the number of items of a row of workgroups. */
const once = (row: string, body: string): string =>
  `  let i = item__id.y * ${row} + item__id.x;
  if (i >= count) { return; }
${body}`

/**
 * Item `i` computes the elements `i`, `i + started__`, `i + 2 * started__` and so on. On a CPU it costs more to start an item than to do
 * a few operations on an element.
 */
const inTurns = (row: string, body: string): string =>
  `  let started__ = group__counts.y * ${row};
  let rounds__ = 1u + (count - 1u) / started__;
  for (var round__ = 0u; round__ < rounds__; round__++) {
  let i = item__id.y * ${row} + item__id.x + round__ * started__;
  if (i < count) {
${body}
  }
  }`

const letOf = (member: Member): string => {
  const value = `scalars__.${member.name}`
  if (isLong(member.carrier) && member.length > 1) return `  let ${member.name} = ${longsOf(value, member.length)};`
  return `  let ${member.name} = ${member.seen === undefined ? value : `${typeOf(member, member.seen)}(${value})`};`
}

/** Several 64-bit integers, one after the other, from the vectors in which they lie by twos. */
const longsOf = (value: string, length: number): string => {
  const longs = Array.from({ length }, (_, lane) => `${value}[${lane >> 1}].${lane % 2 === 0 ? "xy" : "zw"}`)
  return `array<vec2<u32>, ${length}>(${longs.join(", ")})`
}

/** Writes the uniform block of a dispatch at `at`. */
export const writeScalars = (view: DataView, at: number, members: ReadonlyArray<Member>, dispatch: Dispatch): void => {
  for (const member of members) {
    ValueType.write(view, at + member.at, member.carrier, numberOf(member.parameter, dispatch), true)
  }
}

/** Invocations beyond this would have an index that wraps round, and run the first items again. */
const indexRange = 2 ** 32

/**
 * How the workgroups of `count` items are laid out: in as few rows as possible. `undefined` when two dimensions cannot
 * hold them, or only with indices that wrap round.
 */
export const workgroups = (
  count: number,
  workgroupSize: number,
  largest: number
): readonly [x: number, y: number] | undefined => {
  const groups = Math.ceil(count / workgroupSize)
  if (groups * workgroupSize > indexRange) return undefined
  for (let y = Math.ceil(groups / largest); y <= largest; y++) {
    const x = Math.ceil(groups / y)
    if (x * y * workgroupSize <= indexRange) return [x, y]
  }
  return undefined
}

/** The fewest groups, which keep every processor busy, and the most elements of an item where there are more groups. */
const turns = { groups: 64, elements: 16 }

/**
 * The workgroups of a kernel whose items take turns. With more than half of all indices there is one round, in which none wraps
 * round.
 */
export const groupsInTurns = (count: number, workgroupSize: number, largest: number): ReturnType<typeof workgroups> => {
  const groups = Math.ceil(count / workgroupSize)
  const started = count > indexRange / 2
    ? groups
    : Math.max(Math.min(groups, turns.groups), Math.ceil(groups / turns.elements))
  return workgroups(started * workgroupSize, workgroupSize, largest)
}

/** The most items that a dispatch can have: beyond, {@link workgroups} has no layout. */
export const maxDispatchItems = (workgroupSize: number, largest: number): number => {
  let groups = Math.min(Math.floor(indexRange / workgroupSize), largest ** 2)
  while (workgroups(groups * workgroupSize, workgroupSize, largest) === undefined) groups -= 1
  return groups * workgroupSize
}

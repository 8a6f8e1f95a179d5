/**
 * What a driver says of a memory object, property by property.
 *
 * @internal
 */
import * as InfoQuery from "../InfoQuery.ts"
import type { OpenClApi } from "../OpenClApi.ts"

/** The properties by their OpenCL numbers. */
export const property = {
  type: 0x1100,
  flags: 0x1101,
  size: 0x1102,
  hostPointer: 0x1103,
  mapCount: 0x1104,
  referenceCount: 0x1105,
  context: 0x1106,
  associatedMemory: 0x1107,
  offset: 0x1108,
  usesSvmPointer: 0x1109,
  properties: 0x110a
} as const

/** A property of up to 8 bytes, or `undefined` where the driver does not answer. */
export const word = ({ clGetMemObjectInfo }: OpenClApi, memory: bigint, what: number): bigint | undefined =>
  InfoQuery.word(clGetMemObjectInfo, memory, what)

/** As {@link word}, for what is a count. */
export const count = ({ clGetMemObjectInfo }: OpenClApi, memory: bigint, what: number): number | undefined =>
  InfoQuery.long(clGetMemObjectInfo, memory, what)

/** A property that is a list of 8-byte numbers. */
export const words = ({ clGetMemObjectInfo }: OpenClApi, memory: bigint, what: number) =>
  InfoQuery.words(clGetMemObjectInfo, memory, what)

const objectTypes: ReadonlyArray<string> = [
  "CL_MEM_OBJECT_BUFFER",
  "CL_MEM_OBJECT_IMAGE2D",
  "CL_MEM_OBJECT_IMAGE3D",
  "CL_MEM_OBJECT_IMAGE2D_ARRAY",
  "CL_MEM_OBJECT_IMAGE1D",
  "CL_MEM_OBJECT_IMAGE1D_ARRAY",
  "CL_MEM_OBJECT_IMAGE1D_BUFFER",
  "CL_MEM_OBJECT_PIPE"
]
const firstType = 0x10f0

/** What kind of memory object a plain buffer is. */
export const bufferType = firstType

/** A kind of memory object by its OpenCL name. */
export const typeName = (type: number): string => objectTypes[type - firstType] ?? `0x${type.toString(16)}`

const flags: ReadonlyArray<readonly [bit: number, name: string]> = [
  [1, "CL_MEM_READ_WRITE"],
  [2, "CL_MEM_WRITE_ONLY"],
  [4, "CL_MEM_READ_ONLY"],
  [8, "CL_MEM_USE_HOST_PTR"],
  [16, "CL_MEM_ALLOC_HOST_PTR"],
  [32, "CL_MEM_COPY_HOST_PTR"],
  [128, "CL_MEM_HOST_WRITE_ONLY"],
  [256, "CL_MEM_HOST_READ_ONLY"],
  [512, "CL_MEM_HOST_NO_ACCESS"],
  [1024, "CL_MEM_SVM_FINE_GRAIN_BUFFER"],
  [2048, "CL_MEM_SVM_ATOMICS"],
  [4096, "CL_MEM_KERNEL_READ_AND_WRITE"]
]

/** The flags that are set, by their OpenCL names. */
export const flagNames = (set: bigint): ReadonlyArray<string> =>
  flags.filter(([bit]) => (set & BigInt(bit)) !== 0n).map(([, name]) => name)

/**
 * What a driver says of a memory object, property by property.
 *
 * @internal
 */
import * as InfoQuery from "../InfoQuery.ts"
import type { OpenClApi } from "../OpenClApi.ts"

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
export const flagNames = (set: number): ReadonlyArray<string> =>
  flags.filter(([bit]) => (set & bit) !== 0).map(([, name]) => name)

/** The properties that every OpenCL version has, and those of later ones. */
const properties = {
  type: [0x1100, InfoQuery.long],
  flags: [0x1101, InfoQuery.long],
  size: [0x1102, InfoQuery.long],
  hostPointer: [0x1103, InfoQuery.word],
  mapCount: [0x1104, InfoQuery.long],
  referenceCount: [0x1105, InfoQuery.long],
  context: [0x1106, InfoQuery.word],
  associatedMemory: [0x1107, InfoQuery.word],
  offset: [0x1108, InfoQuery.long],
  usesSvmPointer: [0x1109, InfoQuery.mapped(InfoQuery.long, (uses) => uses !== 0)],
  properties: [0x110a, InfoQuery.words]
} as const satisfies InfoQuery.Properties

/** A property, or `undefined` where the driver does not answer. */
export const property = <N extends keyof typeof properties>(
  { clGetMemObjectInfo }: OpenClApi,
  memory: bigint,
  name: N
): InfoQuery.Facts<typeof properties>[N] => InfoQuery.one(properties, name, clGetMemObjectInfo, memory)

/** All properties; types and flags by their names. */
export const describe = ({ clGetMemObjectInfo }: OpenClApi, memory: bigint) =>
  InfoQuery.all(
    {
      ...properties,
      type: [properties.type[0], InfoQuery.mapped(InfoQuery.long, typeName)],
      flags: [properties.flags[0], InfoQuery.mapped(InfoQuery.long, flagNames)]
    },
    clGetMemObjectInfo,
    memory
  )

/**
 * The parameters of one cl_kernel, in the order of its generated signature. A kernel keeps what was set until it is set
 * anew, so what has not changed since its last dispatch is not set again: most of a dispatch would be such calls.
 *
 * @internal
 */
import * as DType from "../../domain/DType.ts"
import type { KernelArgument } from "../../domain/KernelArgument.ts"
import type { DeviceBuffer } from "../../services/DeviceBuffer.ts"
import type { DeviceImage } from "../../services/images/DeviceImage.ts"
import type { DeviceSampler } from "../../services/images/DeviceSampler.ts"
import type { Dispatch } from "../../services/QueueDriver.ts"
import { imageOf, samplerOf } from "./images/OpenClImage.ts"
import type { OpenClApi } from "./OpenClApi.ts"
import { memoryOf } from "./OpenClBuffer.ts"
import * as OpenClCode from "./OpenClCode.ts"

/** `index` counts the scalars, vectors, images or samplers of the kernel. */
interface Parameter {
  readonly from: "count" | "scalar" | "memory" | "length" | "offset" | "image" | "sampler"
  readonly index: number
  /** As it is passed: a half travels as a float, of which the kernel makes a half again. */
  readonly dtype: Exclude<DType.DType, "f16">
  /** Bytes of an element, for a length. */
  readonly itemSize: number
}

/** What is passed by its handle. */
type DeviceObject = DeviceBuffer | DeviceImage | DeviceSampler

const value = new ArrayBuffer(8)
const address = new BigUint64Array(value)
const numbers = {
  f32: new Float32Array(value),
  i32: new Int32Array(value),
  u32: new Uint32Array(value),
  f64: new Float64Array(value)
}

/** @internal */
export class KernelParameters {
  /** Bytes of all parameters together, which devices limit. */
  readonly bytes: number
  readonly #parameters: ReadonlyArray<Parameter>
  /**
   * What each was set to last. Memory is known by its object, not by its handle: a driver may give the handle of released
   * memory to the next, and need not find that in a kernel which was told of the first. So are images and samplers.
   */
  readonly #known: Array<DeviceObject | number | undefined>

  constructor(args: ReadonlyArray<KernelArgument>) {
    this.#parameters = parametersOf(args)
    this.#known = this.#parameters.map(() => undefined)
    this.bytes = this.#parameters.reduce((sum, parameter) => sum + bytesOf(parameter), 0)
  }

  /** Sets what a dispatch needs, or answers the code of what could not be set. The driver copies the values. */
  set(api: OpenClApi, kernel: bigint, dispatch: Dispatch): number {
    for (let index = 0; index < this.#parameters.length; index++) {
      const parameter = this.#parameters[index]!
      const wanted = valueOf(parameter, dispatch)
      if (Object.is(wanted, this.#known[index])) continue
      if (typeof wanted === "number") numbers[parameter.dtype][0] = wanted
      else address[0] = handleOf(parameter, wanted)
      const code = api.clSetKernelArg(kernel, index, bytesOf(parameter), value)
      this.#known[index] = code === OpenClCode.success ? wanted : undefined
      if (code !== OpenClCode.success) return code
    }
    return OpenClCode.success
  }
}

const parametersOf = (args: ReadonlyArray<KernelArgument>): ReadonlyArray<Parameter> => {
  const whole = { dtype: "u32", itemSize: 0 } as const
  const parameters: Array<Parameter> = []
  let scalars = 0
  let vectors = 0
  let images = 0
  let samplers = 0
  for (const argument of args) {
    if (argument._tag === "ImageArg") {
      parameters.push({ ...whole, from: "image", index: images++ })
      continue
    }
    if (argument._tag === "SamplerArg") {
      parameters.push({ ...whole, from: "sampler", index: samplers++ })
      continue
    }
    const { dtype } = argument
    if (argument._tag === "ScalarArg") {
      parameters.push({ ...whole, from: "scalar", index: scalars++, dtype: dtype === "f16" ? "f32" : dtype })
      continue
    }
    const index = vectors++
    parameters.push({ ...whole, from: "memory", index })
    parameters.push({ ...whole, from: "length", index, itemSize: DType.byteSize(dtype) })
    if (argument.withOffset) parameters.push({ ...whole, from: "offset", index })
  }
  return [...parameters, { ...whole, from: "count", index: 0 }]
}

const isHandle = ({ from }: Parameter): boolean => from === "memory" || from === "image" || from === "sampler"

const bytesOf = (parameter: Parameter): number => isHandle(parameter) ? 8 : DType.byteSize(parameter.dtype)

const handleOf = ({ from }: Parameter, object: DeviceObject): bigint => {
  switch (from) {
    case "image":
      return imageOf(object as DeviceImage)
    case "sampler":
      return samplerOf(object as DeviceSampler)
    default:
      return memoryOf(object as DeviceBuffer)
  }
}

const valueOf = ({ from, index, itemSize }: Parameter, dispatch: Dispatch): DeviceObject | number => {
  switch (from) {
    case "count":
      return dispatch.count
    case "scalar":
      return dispatch.scalars[index]!
    case "memory":
      return dispatch.vectors[index]!.buffer
    case "length":
      return Math.floor(dispatch.vectors[index]!.size / itemSize)
    case "offset":
      return dispatch.vectors[index]!.offset
    case "image":
      return dispatch.images[index]!
    case "sampler":
      return dispatch.samplers[index]!
  }
}

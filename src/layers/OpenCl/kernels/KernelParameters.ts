/**
 * The parameters of one cl_kernel, in the order of its generated signature. A kernel keeps its parameters until they
 * are set again, so the library sets only those that have changed since the last dispatch: these calls are most of a
 * dispatch's cost.
 *
 * @internal
 */
import * as DType from "../../../domain/data/DType.ts"
import * as ValueType from "../../../domain/data/ValueType.ts"
import type { KernelArgument } from "../../../domain/kernel/KernelArgument.ts"
import type { DeviceBuffer } from "../../../services/device/DeviceBuffer.ts"
import type { DeviceImage } from "../../../services/device/DeviceImage.ts"
import type { DeviceSampler } from "../../../services/device/DeviceSampler.ts"
import type { Dispatch } from "../../../services/device/QueueDriver.ts"
import { handleOf } from "../memory/OpenClObject.ts"
import type { OpenClApi } from "../OpenClApi.ts"
import * as OpenClCode from "../OpenClCode.ts"

/** `index` counts the scalars, vectors, images or samplers of the kernel. */
interface Parameter {
  readonly from: "count" | "scalar" | "memory" | "length" | "offset" | "image" | "sampler"
  readonly index: number
  /** The type as which its numbers are passed: an f16 is passed as a float, which the kernel converts back. */
  readonly carrier: ValueType.Carrier
  /** Bytes of the parameter. */
  readonly bytes: number
  /** Bytes of an element, for a length. */
  readonly itemSize: number
}

/** What is passed by its handle. */
type DeviceObject = DeviceBuffer | DeviceImage | DeviceSampler

/** Room for the largest value, a double16. */
const value = new ArrayBuffer(128)
const address = new BigUint64Array(value)
const view = new DataView(value)

/** Drivers take values as this process has them. */
const littleEndian = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1

export class KernelParameters {
  /** Bytes of all parameters together, which devices limit. */
  readonly bytes: number
  readonly #parameters: ReadonlyArray<Parameter>
  /**
   * What each was set to last. Memory is compared by its object, not by its handle: a driver may use the handle of
   * released memory again, and a kernel with the old handle need not see the new memory. The same holds for images and
   * samplers.
   */
  readonly #known: Array<DeviceObject | ValueType.HeldValue | undefined>

  constructor(args: ReadonlyArray<KernelArgument>) {
    this.#parameters = parametersOf(args)
    this.#known = this.#parameters.map(() => undefined)
    this.bytes = this.#parameters.reduce((sum, { bytes }) => sum + bytes, 0)
  }

  /** Sets what a dispatch needs; returns the code of the first failure, or success. The driver copies the values. */
  set(api: OpenClApi, kernel: bigint, dispatch: Dispatch): number {
    for (let index = 0; index < this.#parameters.length; index++) {
      const parameter = this.#parameters[index]!
      const wanted = valueOf(parameter, dispatch)
      if (Object.is(wanted, this.#known[index])) continue
      if (isHandle(parameter)) address[0] = handleOf(wanted as DeviceObject)
      else ValueType.write(view, 0, parameter.carrier, wanted as ValueType.HeldValue, littleEndian)
      const code = api.clSetKernelArg(kernel, index, parameter.bytes, value)
      this.#known[index] = code === OpenClCode.success ? wanted : undefined
      if (code !== OpenClCode.success) return code
    }
    return OpenClCode.success
  }
}

const parametersOf = (args: ReadonlyArray<KernelArgument>): ReadonlyArray<Parameter> => {
  const whole = { carrier: "u32", bytes: 4, itemSize: 0 } as const
  const handle = { ...whole, bytes: 8 } as const
  const parameters: Array<Parameter> = []
  let scalars = 0
  let vectors = 0
  let images = 0
  let samplers = 0
  for (const argument of args) {
    if (argument._tag === "ImageArg") {
      parameters.push({ ...handle, from: "image", index: images++ })
      continue
    }
    if (argument._tag === "SamplerArg") {
      parameters.push({ ...handle, from: "sampler", index: samplers++ })
      continue
    }
    if (argument._tag === "ScalarArg") {
      parameters.push({ from: "scalar", index: scalars++, itemSize: 0, ...passed(argument.dtype) })
      continue
    }
    const index = vectors++
    parameters.push({ ...handle, from: "memory", index })
    parameters.push({ ...whole, from: "length", index, itemSize: DType.byteSize(argument.dtype) })
    if (argument.withOffset) parameters.push({ ...whole, from: "offset", index })
  }
  return [...parameters, { ...whole, from: "count", index: 0 }]
}

/**
 * A vector of three takes the bytes of four.
 *
 * @see https://registry.khronos.org/OpenCL/specs/3.0-unified/html/OpenCL_C.html#alignment-of-types
 */
const passed = (type: ValueType.ValueType): Pick<Parameter, "carrier" | "bytes"> => {
  const { element, length } = ValueType.partsOf(type)
  const carrier = element === "f16" ? "f32" : element
  return { carrier, bytes: ValueType.numberBytes(carrier) * (length === 3 ? 4 : length) }
}

const isHandle = ({ from }: Parameter): boolean => from === "memory" || from === "image" || from === "sampler"

const valueOf = ({ from, index, itemSize }: Parameter, dispatch: Dispatch): DeviceObject | ValueType.HeldValue => {
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

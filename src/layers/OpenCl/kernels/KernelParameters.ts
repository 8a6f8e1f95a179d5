/**
 * The parameters of one cl_kernel, in the order of its generated signature. A kernel keeps its parameters until they
 * are set again, so the library sets only those that have changed since the last dispatch: these calls are most of a
 * dispatch's cost.
 *
 * @internal
 */
import * as DType from "../../../domain/data/DType.ts"
import * as ValueType from "../../../domain/data/ValueType.ts"
import { type GpuError, isGpuError } from "../../../domain/GpuError.ts"
import * as DispatchParameters from "../../../domain/kernel/DispatchParameters.ts"
import type { Kernel } from "../../../domain/kernel/Kernel.ts"
import type { Dispatch } from "../../../services/device/QueueDriver.ts"
import { type DriverHandle, objectOf, ownOf } from "../memory/OpenClObject.ts"
import type { OpenClApi } from "../OpenClApi.ts"
import * as OpenClCode from "../OpenClCode.ts"

interface Passed {
  readonly parameter: DispatchParameters.Parameter
  /** The type as which its numbers are passed: f16 as a float, bool as a uchar, which the kernel converts back. */
  readonly carrier: ValueType.Carrier
  readonly bytes: number
}

/** Room for the largest value, a double16. */
const value = new ArrayBuffer(128)
const address = new BigUint64Array(value)
const view = new DataView(value)

/** Drivers take values as this process has them. */
const littleEndian = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1

export class KernelParameters {
  /** Bytes of all parameters together, which devices limit. */
  readonly bytes: number
  readonly #parameters: ReadonlyArray<Passed>
  /**
   * What each was set to last. Memory is compared by its object, not by its handle: a driver may use the handle of
   * released memory again, and a kernel with the old handle need not see the new memory. The same holds for images and
   * samplers.
   */
  readonly #known: Array<unknown>

  constructor(kernel: Kernel) {
    const all = [...DispatchParameters.passedTo(kernel), ...DispatchParameters.sizeParametersOf(kernel)]
    // Generated code declares local memory itself, and has no parameters for it.
    this.#parameters = all.filter(({ from }) => from !== "local" || kernel.form === "source").map(passed)
    this.#known = this.#parameters.map(() => undefined)
    this.bytes = this.#parameters.reduce(
      (sum, { bytes, parameter }) => parameter.from === "local" ? sum : sum + bytes,
      0
    )
  }

  /**
   * Sets what a dispatch needs; returns the code of the first failure, or success, or why a buffer has no cl_mem. The
   * driver copies the values.
   */
  set(api: OpenClApi, kernel: bigint, dispatch: Dispatch): number | GpuError {
    for (let index = 0; index < this.#parameters.length; index++) {
      const { bytes, carrier, parameter } = this.#parameters[index]!
      let wanted: unknown
      if (DispatchParameters.isNumber(parameter)) {
        const number = DispatchParameters.numberOf(parameter, dispatch)
        if (Object.is(number, this.#known[index])) continue
        ValueType.write(view, 0, carrier, number, littleEndian)
        wanted = number
      } else if (parameter.from === "local") {
        // Its bytes never change, so they are set once.
        if (parameter === this.#known[index]) continue
        wanted = parameter
      } else {
        const object = argumentOf(parameter, dispatch)
        if (object === this.#known[index]) continue
        if (isGpuError(object)) return object
        address[0] = object.handle
        wanted = object
      }
      const code = api.clSetKernelArg(kernel, index, bytes, parameter.from === "local" ? null : value)
      this.#known[index] = code === OpenClCode.success ? wanted : undefined
      if (code !== OpenClCode.success) return code
    }
    return OpenClCode.success
  }
}

const argumentOf = (
  { from, index }: DispatchParameters.ObjectParameter,
  { images, samplers, vectors }: Dispatch
): DriverHandle | GpuError =>
  from === "memory" ? ownOf(vectors[index]!.buffer) : objectOf(from === "image" ? images[index]! : samplers[index]!)

/**
 * A vector of three takes the bytes of four.
 *
 * @see https://registry.khronos.org/OpenCL/specs/3.0-unified/html/OpenCL_C.html#alignment-of-types
 */
const passed = (parameter: DispatchParameters.Parameter): Passed => {
  if (parameter.from === "local") {
    const { dtype, length } = parameter.argument
    return { parameter, carrier: "u64", bytes: length * DType.byteSize(dtype) }
  }
  if (!DispatchParameters.isNumber(parameter)) return { parameter, carrier: "u64", bytes: 8 }
  const { element, length } = ValueType.partsOf(DispatchParameters.typeOf(parameter))
  const carrier = element === "f16" ? "f32" : element === "bool" ? "u8" : element
  return { parameter, carrier, bytes: ValueType.numberBytes(carrier) * (length === 3 ? 4 : length) }
}

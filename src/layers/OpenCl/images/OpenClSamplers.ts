/**
 * The samplers of one OpenCL device.
 *
 * @internal
 */
import * as Exit from "effect/Exit"
import { format as formatDevice } from "../../../domain/device/DeviceInfo.ts"
import { type GpuError, unsupported } from "../../../domain/GpuError.ts"
import { choosesLevels, type Resolved } from "../../../domain/images/SamplerOptions.ts"
import type { DeviceSampler } from "../../../services/device/DeviceSampler.ts"
import { LiveObjects, OpenClSampler } from "../memory/OpenClObject.ts"
import * as OpenClCode from "../OpenClCode.ts"
import { onDevice } from "../OpenClError.ts"
import { isVersion12, versionNumber } from "../opening/OpenClDevices.ts"
import type { OpenDevice } from "../opening/OpenDevice.ts"
import { namesOf } from "./OpenClImageFormat.ts"

const CL_SAMPLER_NORMALIZED_COORDS = 0x1152n
const CL_SAMPLER_ADDRESSING_MODE = 0x1153n
const CL_SAMPLER_FILTER_MODE = 0x1154n
const CL_SAMPLER_MIP_FILTER_MODE_KHR = 0x1155n
const CL_SAMPLER_LOD_MIN_KHR = 0x1156n
const CL_SAMPLER_LOD_MAX_KHR = 0x1157n

/** What samplers need to know of mip levels; its properties are those of OpenCL 2.0. */
const mipmaps = "cl_khr_mipmap_image"

const addressings: { readonly [A in Resolved["addressing"]]: number } = {
  none: 0x1130,
  clampToEdge: 0x1131,
  clampToBorder: 0x1132,
  repeat: 0x1133,
  mirroredRepeat: 0x1134
}

const filters: { readonly [F in Resolved["filter"]]: number } = { nearest: 0x1140, linear: 0x1141 }

export const addressingNames: ReadonlyMap<number, Resolved["addressing"]> = namesOf(addressings)

export const filterNames: ReadonlyMap<number, Resolved["filter"]> = namesOf(filters)

/** Whether a device has images that this library can make. */
export const hasImages = ({ device }: OpenDevice): boolean => device.images !== undefined && isVersion12(device)

export class OpenClSamplers {
  readonly #device: OpenDevice
  readonly #samplers: LiveObjects<OpenClSampler>
  readonly #code = new Int32Array(new ArrayBuffer(4))

  constructor(device: OpenDevice) {
    this.#device = device
    this.#samplers = new LiveObjects(device, "clReleaseSampler")
  }

  create(options: Resolved): Exit.Exit<DeviceSampler, GpuError> {
    const { status } = this.#device
    if (status.error !== undefined) return Exit.fail(status.error)
    if (!hasImages(this.#device)) return Exit.fail(this.#unsupported("sampling images", keepInBuffer))
    if (choosesLevels(options) && !this.#hasLevels) {
      return Exit.fail(this.#unsupported(`choosing among mip levels (${mipmaps})`, leaveLevelsOut))
    }
    const handle = this.#create(options)
    return handle === null
      ? Exit.fail(this.#refused(this.#code[0]!))
      : Exit.succeed(this.#samplers.add(new OpenClSampler(handle, this.#device.info, options)))
  }

  /** Takes over a reference to a cl_sampler that the program made, and releases it as that of any sampler. */
  adoptUnsafe(handle: bigint, options: Resolved): OpenClSampler {
    return this.#samplers.adopt(new OpenClSampler(handle, this.#device.info, options))
  }

  destroyUnsafe(sampler: DeviceSampler): Exit.Exit<void, GpuError> {
    return sampler.destroyed || !(sampler instanceof OpenClSampler)
      ? Exit.void
      : this.#samplers.releaseUnsafe(sampler)
  }

  /** Releases the samplers that are left. */
  close(): void {
    this.#samplers.close((sampler) => this.destroyUnsafe(sampler))
  }

  get #hasProperties(): boolean {
    return versionNumber(this.#device.device) >= 2 && this.#device.api.loaderVersion >= 2
  }

  get #hasLevels(): boolean {
    return this.#hasProperties && this.#device.device.extensions.includes(mipmaps)
  }

  #create(options: Resolved): bigint | null {
    const { api, context } = this.#device
    const { addressing, filter, normalizedCoordinates } = options
    const normalized = normalizedCoordinates ? 1 : 0
    return this.#hasProperties
      ? api.clCreateSamplerWithProperties(context, propertiesOf(options), this.#code)
      : api.clCreateSampler(context, normalized, addressings[addressing], filters[filter], this.#code)
  }

  #refused(code: number): GpuError {
    if (code === OpenClCode.invalidOperation) return this.#unsupported("sampling images", keepInBuffer)
    const call = this.#hasProperties ? "clCreateSamplerWithProperties" : "clCreateSampler"
    return onDevice(this.#device.status, { call, code })
  }

  #unsupported(feature: string, hint: string): GpuError {
    return unsupported("Images.sampler", formatDevice(this.#device.info), feature, hint)
  }
}

const keepInBuffer = "Keep the elements in a buffer, or choose another device."

const leaveLevelsOut = "Leave out mipFilter, lodMin and lodMax: images of this library have one level."

/** Names and values alternate, with a zero at the end. Only devices with mip levels get their properties. */
const propertiesOf = (options: Resolved): BigUint64Array<ArrayBuffer> => {
  const { addressing, filter, lodMax, lodMin, mipFilter, normalizedCoordinates } = options
  const properties = [
    CL_SAMPLER_NORMALIZED_COORDS,
    normalizedCoordinates ? 1n : 0n,
    CL_SAMPLER_ADDRESSING_MODE,
    BigInt(addressings[addressing]),
    CL_SAMPLER_FILTER_MODE,
    BigInt(filters[filter])
  ]
  if (choosesLevels(options)) {
    properties.push(CL_SAMPLER_MIP_FILTER_MODE_KHR, BigInt(filters[mipFilter]))
    properties.push(CL_SAMPLER_LOD_MIN_KHR, floatBits(lodMin), CL_SAMPLER_LOD_MAX_KHR, floatBits(lodMax))
  }
  const list = new BigUint64Array(new ArrayBuffer(8 * (properties.length + 1)))
  list.set(properties)
  return list
}

/** A property is 8 bytes, and a float lies in the first four of them. */
const floatBits = (value: number): bigint => BigInt(new Uint32Array(Float32Array.of(value).buffer)[0]!)

/**
 * Which device to open: the grammar of a selection, and why others are left out.
 *
 * @since 0.1.0
 */
import { formatted } from "../../../domain/arguments/Format.ts"
import type { ProbedDevice } from "../../../domain/GpuError.ts"
import type { OpenClDevice, OpenClPlatform } from "./OpenClPlatform.ts"

/**
 * A platform or device, by its index in the list or by a piece of its name in any case.
 *
 * @category models
 * @since 0.1.0
 */
export type Selector = number | string

/**
 * A device with its platform.
 *
 * @internal
 */
export interface Candidate {
  readonly platform: OpenClPlatform
  readonly device: OpenClDevice
}

/**
 * What a program asks for.
 *
 * @internal
 */
export interface Selection {
  readonly platform?: Selector | undefined
  readonly device?: Selector | undefined
}

/**
 * Whether a platform or device fits the selection.
 *
 * @internal
 */
export const matches = (
  selector: Selector | undefined,
  item: { readonly index: number; readonly name: string }
): boolean =>
  selector === undefined ||
  (typeof selector === "string"
    ? item.name.toLowerCase().includes(selector.toLowerCase())
    : item.index === selector)

const describe = (selector: Selector | undefined): string => selector === undefined ? "any" : formatted(selector)

/**
 * The devices to try, in the loader's order, and why each other one is left out.
 *
 * @internal
 */
export const select = (
  platforms: ReadonlyArray<OpenClPlatform>,
  selection: Selection
): { readonly candidates: ReadonlyArray<Candidate>; readonly tried: ReadonlyArray<ProbedDevice> } => {
  const candidates: Array<Candidate> = []
  const tried: Array<ProbedDevice> = []
  const leaveOut = (device: string, why: string) => tried.push({ backend: "opencl", device, why })
  for (const platform of platforms) {
    if (!matches(selection.platform, platform)) {
      leaveOut(nameOf(platform), `not the platform asked for, ${describe(selection.platform)}`)
    } else if (platform.devices.length === 0) {
      leaveOut(nameOf(platform), "the platform has no device")
    } else {
      for (const device of platform.devices) {
        if (!matches(selection.device, device)) {
          leaveOut(nameOf(platform, device), `not the device asked for, ${describe(selection.device)}`)
        } else if (device.unusable === undefined) candidates.push({ platform, device })
        else leaveOut(nameOf(platform, device), device.unusable)
      }
    }
  }
  return { candidates, tried }
}

/**
 * A platform, or a device on its platform, as messages name it: with the indices that select it.
 *
 * @internal
 */
export const nameOf = (platform: OpenClPlatform, device?: OpenClDevice): string =>
  `platform ${platform.index} "${platform.name}"` +
  (device === undefined ? "" : `, device ${device.index} "${device.name}"`)

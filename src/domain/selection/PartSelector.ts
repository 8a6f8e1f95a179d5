/**
 * Selectors from the parts of what a program writes.
 */
import { shown } from "../arguments/ShownValue.ts"
import { type GpuError, invalidRequest } from "../GpuError.ts"
import type { Entry, Part, Selection } from "./Selection.ts"
import * as SelectorSyntax from "./SelectorSyntax.ts"

/**
 * A selection: entries, in the order of preference.
 *
 * @category models
 * @since 0.1.0
 */
export type DeviceSelector = Selection

export const own: SelectorSyntax.Dialect = {
  form: "backend:platform:device,device;...",
  backend: undefined,
  colons: ":",
  entries: true,
  quotes: true
}

/** What a selection can be of, without quotes. */
export const isName = (u: unknown): u is string => typeof u === "string" && /^[a-z][a-z0-9]*$/.test(u)

/**
 * The platforms that PyCUDA's selections mean.
 */
export const nvidia: Part = "nvidia"

/**
 * A selection from its text, or as it is when it is one: programs without types can pass anything.
 */
export const from = (
  selector: string | DeviceSelector,
  source: string,
  backends?: ReadonlyArray<string>
): DeviceSelector | GpuError =>
  typeof selector === "string" ?
    SelectorSyntax.parse(source, selector, own, backends) :
    isSelector(selector) ?
    selector :
    invalidRequest(
      source,
      `${shown(selector)} was given for a selection`,
      `Pass a text, as "opencl:0:1", or entries, each with a backend, a platform and one device at least.`
    )

export const isSelector = (u: unknown): u is DeviceSelector => isList(u) && Array.from(u).every(isEntry)

export const isList = (u: unknown): u is ReadonlyArray<unknown> => Array.isArray(u) && u.length > 0

const isEntry = (u: unknown): u is Entry => {
  if (typeof u !== "object" || u === null) return false
  const { backend, devices, platform } = u as Partial<Record<keyof Entry, unknown>>
  return isName(backend) && isPart(platform) && isList(devices) &&
    Array.from(devices).every(isPart)
}

const isPart = (u: unknown): u is Part =>
  u === undefined || Number.isSafeInteger(u) || (typeof u === "string" && u !== "")

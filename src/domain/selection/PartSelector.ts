/** Selectors from what a program passes. */
import type { GpuError } from "../GpuError.ts"
import type { Part, Selection } from "./Selection.ts"
import * as SelectorSyntax from "./SelectorSyntax.ts"

/**
 * A selection: entries, in the order of preference.
 *
 * @category models
 * @since 0.1.0
 */
export type DeviceSelector = Selection

/** The grammar of this library. @internal */
export const own: SelectorSyntax.Dialect = {
  form: "backend:platform:device,device;...",
  backend: undefined,
  colons: ":",
  entries: true,
  quotes: true
}

/** The platform that PyCUDA's selections refer to. */
export const nvidia: Part = "nvidia"

/** A selection from its text; a selection is returned as it is. */
export const from = (
  selector: string | DeviceSelector,
  source: string,
  backends?: ReadonlyArray<string>
): DeviceSelector | GpuError =>
  typeof selector === "string" ? SelectorSyntax.parse(source, selector, own, backends) : selector

/**
 * How the library's objects print: by `console.log` and `util.inspect` at any depth, by Effect's loggers, by
 * `JSON.stringify` and `String`, and in a browser's console. It is one line that says what the object is and its state,
 * and never a driver's handle or the contents of memory.
 *
 * @internal
 */
import { NodeInspectSymbol } from "effect/Inspectable"
import { type DeviceInfo, format } from "../device/DeviceInfo.ts"
import type { GpuError, Released } from "../GpuError.ts"
import { line, thrownText } from "./Format.ts"

/** The line of an object: its kind, its label if it has one, and its facts. */
export const inOneLine = (kind: string, label: string | undefined, parts: ReadonlyArray<string | undefined>): string =>
  `${kind}(${
    [label === undefined ? undefined : `"${line(label)}"`, ...parts].filter((part) => part !== undefined).join(", ")
  })`

const endings: Readonly<Record<Released["why"], string>> = {
  released: "released",
  scopeClosed: "released: its scope closed",
  poolClosed: "released: its pool closed",
  parentReleased: "released: the memory under it ended"
}

/** Whether an object can still be used, and its device if known. */
export const state = (ended: Released["why"] | undefined, device: DeviceInfo | undefined): string =>
  ended !== undefined ? endings[ended] : device === undefined ? "live" : `live on ${format(device)}`

/** Whether a device is alive, with its name. */
export const deviceState = (status: { readonly error: GpuError | undefined }, device: DeviceInfo): string =>
  `${status.error === undefined ? "alive on" : "lost on"} ${format(device)}`

/**
 * Gives objects a line that shows them: the instances of a class, through its prototype, or one object. The members
 * that it defines are not enumerable, so a copy by spreading and a comparison of members do not change.
 *
 * A service has no class of its own, so a browser's console, which does not show the line, shows `kind` as its name.
 */
export const showing = <A extends object>(
  text: (self: A) => string,
  kind?: string | undefined
): <B extends A>(target: B) => B => {
  const descriptors: PropertyDescriptorMap & ThisType<object> = {
    toString: hidden(function(this: A) {
      // The prototype itself has no fields of an instance.
      try {
        return text(this)
      } catch (thrown) {
        return `an object that cannot be read: ${thrownText(thrown)}`
      }
    }),
    toJSON: hidden(asText),
    [NodeInspectSymbol]: hidden(asText)
  }
  if (kind !== undefined) descriptors[Symbol.toStringTag] = hidden(kind)
  return (target) => Object.defineProperties(target, descriptors)
}

const hidden = (value: unknown): PropertyDescriptor => ({
  value,
  writable: true,
  configurable: true,
  enumerable: false
})

function asText(this: object): string {
  return String(this)
}

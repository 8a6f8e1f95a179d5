/**
 * Why there is no WebGPU device, and what to do about it: the advice fits the cause. A page loads it only if it finds no device. It imports nothing
 * that the rest of a page has too: bundlers would cut that into a file of its own.
 *
 * @internal
 */
import { doctor, isMissing } from "../../../domain/device/OptionalPackage.ts"
import type { Refused } from "./OpenDevice.ts"
import type { Options } from "./OpenOptions.ts"
import type { Runtime } from "./Runtime.ts"

/** What a layer tried, why that gave no device, and how to get one. */
export interface Unavailable {
  readonly device: string
  readonly why: string
  readonly hint: string
}

const unavailable = (device: string, why: string, hint: string): Unavailable => ({ device, why, hint })

const otherBackends = "use another backend: OpenCl.layer() or Host.layer()"

/**
 * The error where a program wanted `navigator.gpu` and there is none.
 *
 * @see https://www.w3.org/TR/webgpu/#navigator-gpu, which is for secure contexts only
 */
export const noNavigatorGpu = ({ isNode, isSecureContext, name, origin }: Runtime): Unavailable => {
  const device = "navigator.gpu"
  if (isNode) {
    return unavailable(
      device,
      `this runtime${name === undefined ? "" : ` (${name})`} has no navigator.gpu`,
      "On Node use WebGpu.layer(), which loads npm webgpu, or pass the result of create() of npm webgpu. " +
        `Or ${otherBackends}.`
    )
  }
  if (isSecureContext === false) {
    return unavailable(
      device,
      `this page has no navigator.gpu, because it is no secure context${origin === undefined ? "" : ` (${origin})`}`,
      "Serve it over https, or from http://localhost while you work on it. Or use Host.layer()."
    )
  }
  return unavailable(
    device,
    "this page has no navigator.gpu: the browser has no WebGPU, or it is switched off",
    "Use a browser with WebGPU, as a current Chrome, Edge, Safari or Firefox, and enable WebGPU and hardware " +
      "acceleration in its settings. Or use Host.layer()."
  )
}

/** The error where npm `webgpu` does not load. */
export const noPackage = (message: string): Unavailable =>
  isMissing("webgpu", message)
    ? unavailable(
      "npm webgpu",
      "this runtime has no navigator.gpu, and the package is not installed: npm install webgpu",
      `Install it, or ${otherBackends}. ${doctor}`
    )
    : unavailable(
      "npm webgpu",
      `the package is installed and does not load: ${message}`,
      "It brings Dawn built for Linux, macOS and Windows: see that there is a build for this system, and install it " +
        `anew on this machine. Or ${otherBackends}. ${doctor}`
    )

const driverHint =
  "Dawn needs a graphics driver: on Linux a Vulkan driver such as Mesa 23 or newer (its lavapipe needs " +
  `no GPU). ${doctor} Or ${otherBackends}.`

const browserHint = "Enable WebGPU and hardware acceleration in this browser, or use Host.layer()."

/** The error where the GPU object gives no adapter; `message` is what it threw. */
const noAdapter = (runtime: Runtime, options: Options, message?: string): Unavailable => {
  const why = message ?? `requestAdapter found none${askedFor(options)}`
  const narrowed = narrowing(options)
  if (narrowed !== undefined) {
    return unavailable("adapter", why, `Leave ${narrowed} out, to get any adapter that there is. Or ${otherBackends}.`)
  }
  return unavailable("adapter", why, runtime.isNode ? driverHint : browserHint)
}

/** The option that leaves adapters out, if any: `powerPreference` only prefers. */
const narrowing = ({ flags, forceFallbackAdapter }: Options): string | undefined => {
  const flag = flags?.find((flag) => flag.startsWith("adapter="))
  return flag !== undefined
    ? `the flag ${JSON.stringify(flag)}`
    : forceFallbackAdapter === true
    ? "forceFallbackAdapter"
    : undefined
}

const askedFor = (options: Options): string => {
  const asked = [
    ...(options.powerPreference === undefined ? [] : [`powerPreference ${JSON.stringify(options.powerPreference)}`]),
    ...(options.forceFallbackAdapter === true ? ["forceFallbackAdapter"] : []),
    ...(options.flags === undefined || options.flags.length === 0
      ? []
      : [`flags ${options.flags.map((flag) => JSON.stringify(flag)).join(", ")}`])
  ]
  return asked.length === 0 ? " that fits" : ` for ${asked.join(" and ")}`
}

/** The error where no device was opened. */
export const noDevice = (runtime: Runtime, options: Options, { adapter, message }: Refused): Unavailable =>
  adapter === undefined ?
    noAdapter(runtime, options, message) :
    unavailable(
      adapter,
      `requestDevice failed: ${message}`,
      "The adapter is there: close other programs that use it, update its driver, or choose another one with " +
        `powerPreference or forceFallbackAdapter. Or ${runtime.isNode ? otherBackends : "use Host.layer()"}.`
    )

/**
 * Why there is no OpenCL device, and what to do about it: the advice fits the cause.
 *
 * @internal
 */
import { formatted, list, messageOf } from "../../../domain/arguments/Format.ts"
import { doctor, isMissing } from "../../../domain/device/OptionalPackage.ts"
import { deviceUnavailable, type GpuError, type ProbedDevice } from "../../../domain/GpuError.ts"
import { matches, type OpenClDevice, type OpenClPlatform, type Selection } from "./OpenClPlatform.ts"

const otherBackends = "use another backend: WebGpu.layer() or Host.layer()"

const unavailable = (tried: ReadonlyArray<Omit<ProbedDevice, "backend">>, hint: string): GpuError =>
  deviceUnavailable(tried.map((one) => ({ backend: "opencl", ...one })), hint)

/** The error where npm `koffi` does not load. */
export const noPackage = (cause: unknown): GpuError =>
  isMissing("koffi", messageOf(cause))
    ? unavailable(
      [{ device: "npm koffi", why: "the package is not installed: npm install koffi" }],
      `Install it, or ${otherBackends}. ${doctor}`
    )
    : unavailable(
      [{ device: "npm koffi", why: `the package is installed and does not load: ${messageOf(cause)}` }],
      "It is built for each system and version of Node: install it anew on this machine, with the Node that runs this " +
        `program. Or ${otherBackends}. ${doctor}`
    )

const driverPackages = "the one of your GPU's vendor, or PoCL, which computes on the processor (on Debian and Ubuntu " +
  "pocl-opencl-icd)"

/** The error where no file is an OpenCL loader; `library` is the one that the program named. */
export const noLoader = (tried: ReadonlyArray<Omit<ProbedDevice, "backend">>, library: string | undefined): GpuError =>
  unavailable(
    tried,
    library === undefined
      ? "Install an OpenCL loader, on Debian and Ubuntu the package ocl-icd-libopencl1, and a driver: " +
        `${driverPackages}. ${doctor} Where the loader has another name, pass it as the option library. ` +
        `Or ${otherBackends}.`
      : "Check the option library, which is the path or name of an OpenCL loader, or leave it out for the system's own. " +
        `Or ${otherBackends}.`
  )

/** The error where no platform or device can be opened; `tried` says why for each. */
export const noDevice = (
  platforms: ReadonlyArray<OpenClPlatform>,
  selection: Selection,
  tried: ReadonlyArray<ProbedDevice>
): GpuError =>
  platforms.length === 0
    ? unavailable(
      [{ device: "loader", why: "it finds no platform: no driver is installed" }],
      `Install an OpenCL driver: ${driverPackages}. If one is installed, see that its .icd file is in ` +
        `/etc/OpenCL/vendors, or where OCL_ICD_VENDORS points. ${doctor}`
    )
    : unavailable(tried, hintFor(platforms, selection))

const hintFor = (platforms: ReadonlyArray<OpenClPlatform>, { device, platform }: Selection): string => {
  const fitting = platforms.filter((one) => matches(platform, one))
  if (fitting.length === 0) {
    return `No platform ${wanted(platform)}: there ${
      are("platform", platforms)
    }. Pass one of these, by its index or a part of its ` +
      "name, or leave platform out; for another one install its driver."
  }
  const devices = fitting.flatMap((one) => one.devices)
  if (devices.length === 0) {
    return "The driver is installed and finds no device: see that the device is there, and that this user may use it, as " +
      `by the group render or video on Linux. ${doctor} Or ${otherBackends}.`
  }
  const chosen = devices.filter((one) => matches(device, one))
  if (chosen.length === 0) {
    return `No device ${wanted(device)}: there ${
      are("device", devices)
    }. Pass one of these, by its index or a part of its name, ` +
      "or leave device out."
  }
  return chosen.every(({ unusable }) => unusable !== undefined)
    ? `Choose another one with platform and device, or ${otherBackends}.`
    : "The driver lists the device and does not open it: see what the code means, whether another program has the device " +
      `or its memory, and whether this user may use it. Or ${otherBackends}.`
}

const wanted = (selector: Selection["platform"]): string =>
  typeof selector === "string" ? `has ${formatted(selector)} in its name` : `has the index ${formatted(selector)}`

const are = (what: "platform" | "device", items: ReadonlyArray<OpenClPlatform | OpenClDevice>): string => {
  const all = list(items.map(({ index, name }) => `${index} ${formatted(name)}`), ", ", 8)
  return items.length === 1 ? `is ${what} ${all}` : `are ${what}s ${all}`
}

/**
 * DeviceUnavailable on a runtime on which a mapping could not be ended, or `undefined`. A program sees a mapping as an
 * ArrayBuffer over the driver's memory, which has another owner when it has ended. Only `transfer` detaches such a
 * buffer, since koffi's cannot be transferred by `structuredClone`. Node has it as of version 21.
 *
 * @see https://tc39.es/ecma262/#sec-arraybuffer.prototype.transfer
 */
export const runtimeProblem = (): GpuError | undefined =>
  "transfer" in ArrayBuffer.prototype ? undefined : unavailable([{
    device: "this runtime",
    why: "it has no ArrayBuffer.prototype.transfer, without which a program would see mapped memory after its end"
  }], "Use Node 22.19 or newer, or another backend: WebGpu.layer() or Host.layer().")

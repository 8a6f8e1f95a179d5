/**
 * Which devices a program wants, in words: one grammar for code, the environment, files and the command line.
 *
 * **Details**
 *
 * ```text
 * selection := entry (";" entry)*
 * entry     := backend [":" platform [":" device ("," device)*]]
 * backend   := "webgpu" | "opencl" | "host"      in any case
 * platform  := part
 * device    := part
 * part      := "" | "*"                          any
 *            | ["-"] digits                      the place in the list, from 0; -1 is the last
 *            | text                              a part of the name or of the vendor, in any case
 *            | '"' text '"'                      the same, for a text with : ; , " or of digits alone, or `*`;
 *                                                \" is a quote and \\ a backslash
 * ```
 *
 * White space around parts is ignored. A part that is left out matches anything. A number is always an index, never a
 * part of a name, and a name is never an index: a part that matches nothing selects nothing.
 *
 * Where one device is wanted, the entries are tried in order, and within an entry its devices; a name stands for all
 * devices that have it, in the order of the list. The first that can be opened is taken. Where all are wanted, as for
 * tests, every matching device is taken once.
 *
 * @see pyopencl.create_some_context (PYOPENCL_CTX), pyopencl.tools.pytest_generate_tests_for_pyopencl (PYOPENCL_TEST)
 * @since 0.1.0
 */
import type * as Result from "effect/Result"
import { resultOf } from "../AnswerOrError.ts"
import { formatted, line } from "../arguments/Format.ts"
import type { GpuError } from "../GpuError.ts"
import type { ListedDevice, Named } from "./ListedDevice.ts"
import type { DeviceSelector, Entry, Part } from "./Selection.ts"
import * as SelectorSyntax from "./SelectorSyntax.ts"

export type { DeviceSelector, Entry, Part } from "./Selection.ts"

const pyOpenClTest: SelectorSyntax.Dialect = {
  form: "platform:device,device;...",
  backend: "opencl",
  marks: ":=,;",
  quotes: false
}

const pyOpenClContext: SelectorSyntax.Dialect = {
  form: "platform:device,device",
  backend: "opencl",
  marks: ":,",
  quotes: false
}

/**
 * Reads a selection in the grammar of this module. A mistake is an InvalidRequest, whose message marks the place with a
 * caret and whose `position` is its offset in the text, in UTF-16 units.
 *
 * **Example** (The first GPU by a vendor, else any adapter)
 *
 * ```ts
 * import { Result } from "effect"
 * import { DeviceSelector } from "effect-gpu-pool/devices"
 *
 * Result.getOrThrow(DeviceSelector.parse("opencl:nvidia:0; webgpu"))
 * // => [{ backend: "opencl", platform: "nvidia", devices: [0] }, { backend: "webgpu", platform: undefined, devices: [undefined] }]
 *
 * const unread = DeviceSelector.parse("opencl:0;cuda:1", { source: "GPU_POOL_DEVICE" })
 * const [problem, ...place] = Result.isFailure(unread) ? unread.failure.message.split("\n") : []
 * problem?.split(". ")[0] // => 'GPU_POOL_DEVICE: "cuda" is no backend, at character 10'
 * place // => ["  opencl:0;cuda:1", "           ^^^^"]
 * ```
 *
 * @category parsing
 * @since 0.1.0
 */
export const parse = (text: string, options?: SourceOptions): Result.Result<DeviceSelector, GpuError> =>
  parsed("DeviceSelector.parse", text, options, SelectorSyntax.own)

const parsed = (
  source: string,
  text: string,
  options: SourceOptions | undefined,
  dialect: SelectorSyntax.Dialect
): Result.Result<DeviceSelector, GpuError> =>
  resultOf(SelectorSyntax.parse(options?.source ?? source, text, dialect, options?.backends))

/**
 * Where a text comes from.
 *
 * @category models
 * @since 0.1.0
 */
export interface SourceOptions {
  /** The operation that errors name, as `GPU_POOL_DEVICE`; without it the function. */
  readonly source?: string | undefined
  /** The names of the backends that there are: those of this package without it. */
  readonly backends?: ReadonlyArray<string> | undefined
}

/**
 * Reads the variable PYOPENCL_TEST: `platform[:device[,device]];...`. Documents write `platform=device` too, which
 * PyOpenCL itself takes for the name of a platform; here `=` means `:`. There are no quotes, and `*` is a name.
 *
 * **Example** (The documents' own example)
 *
 * ```ts
 * import { Result } from "effect"
 * import { DeviceSelector } from "effect-gpu-pool/devices"
 *
 * const selector = DeviceSelector.parsePyOpenClTest("0:0,1;intel=i5,i7")
 * Result.getOrThrow(Result.map(selector, DeviceSelector.format)) // => "opencl:0:0,1;opencl:intel:i5,i7"
 * ```
 *
 * @see pyopencl.tools.pytest_generate_tests_for_pyopencl
 * @category parsing
 * @since 0.1.0
 */
export const parsePyOpenClTest = (text: string, options?: SourceOptions): Result.Result<DeviceSelector, GpuError> =>
  parsed("PYOPENCL_TEST", text, options, pyOpenClTest)

/**
 * Reads the variable PYOPENCL_CTX: `platform[:device[,device]]`. A part that is left out matches anything, where
 * PyOpenCL takes the first; of a list, the first that can be opened is taken, where PyOpenCL opens all.
 *
 * **Example** (A variable that is set already)
 *
 * ```ts
 * import { Result } from "effect"
 * import { DeviceSelector } from "effect-gpu-pool/devices"
 *
 * const selector = DeviceSelector.parsePyOpenClContext("portable:0")
 * Result.getOrThrow(Result.map(selector, DeviceSelector.format)) // => "opencl:portable:0"
 * ```
 *
 * @see pyopencl.create_some_context
 * @category parsing
 * @since 0.1.0
 */
export const parsePyOpenClContext = (text: string, options?: SourceOptions): Result.Result<DeviceSelector, GpuError> =>
  parsed("PYOPENCL_CTX", text, options, pyOpenClContext)

/**
 * Reads PyCUDA's variable CUDA_DEVICE, or the first line of its file: the number of a device, here on NVIDIA's OpenCL
 * platforms.
 *
 * **Example** (The second device of the vendor)
 *
 * ```ts
 * import { Result } from "effect"
 * import { DeviceSelector } from "effect-gpu-pool/devices"
 *
 * const selector = DeviceSelector.parseCudaDevice("1")
 * Result.getOrThrow(Result.map(selector, DeviceSelector.format)) // => "opencl:nvidia:1"
 * ```
 *
 * @see pycuda.tools.make_default_context
 * @category parsing
 * @since 0.1.0
 */
export const parseCudaDevice = (text: string, options?: SourceOptions): Result.Result<DeviceSelector, GpuError> =>
  resultOf(cudaDevice(text, options))

const cudaDevice = (text: string, options: SourceOptions | undefined): DeviceSelector | GpuError => {
  const name = options?.source ?? "CUDA_DEVICE"
  const tooLong = SelectorSyntax.lengthProblem(name, text)
  if (tooLong !== undefined) return tooLong
  const digits = text.trim()
  const index = Number(digits)
  if (/^\+?\d+$/.test(digits) && Number.isSafeInteger(index)) {
    return [{ backend: "opencl", platform: "nvidia", devices: [index] }]
  }
  const at = digits === "" ? 0 : text.indexOf(digits)
  const hint = "Write the number of a device, from 0"
  const what = digits === "" ? "the number is missing" : `${formatted(digits)} is no number of a device`
  return SelectorSyntax.problem({ name, text }, { at, length: digits.length }, what, hint)
}

/**
 * A selection as text, which `parse` reads back as the same selection. Names that could be misread are quoted.
 *
 * **Example** (Quoting)
 *
 * ```ts
 * import { DeviceSelector } from "effect-gpu-pool/devices"
 *
 * DeviceSelector.format([{ backend: "opencl", platform: undefined, devices: [1, "3090"] }]) // => 'opencl:*:1,"3090"'
 * ```
 *
 * @category formatting
 * @since 0.1.0
 */
export const format = (selector: DeviceSelector): string => selector.map(formatEntry).join(";")

const formatEntry = ({ backend, devices, platform }: Entry): string => {
  if (devices.length > 1 || devices[0] !== undefined) {
    return `${backend}:${formatPart(platform)}:${devices.map(formatPart).join(",")}`
  }
  return platform === undefined ? backend : `${backend}:${formatPart(platform)}`
}

const formatPart = (part: Part): string => {
  if (part === undefined) return "*"
  if (typeof part === "number") return String(part)
  const readOtherwise = part.trim() !== part || /[:;,"]/.test(part) || /^(-?\d+|\*|)$/.test(part)
  return readOtherwise ? `"${part.replaceAll(/["\\]/g, "\\$&")}"` : part
}

/**
 * The selection of one listed device, by its indices. A platform without a device, or a backend without a platform, is
 * selected as that.
 *
 * **Example** (What to write for a device)
 *
 * ```ts
 * import { DeviceSelector, type ListedDevice } from "effect-gpu-pool/devices"
 *
 * const howToSelect = (device: ListedDevice.ListedDevice) => DeviceSelector.format(DeviceSelector.of(device))
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const of = (listed: ListedDevice): DeviceSelector => {
  const { backend, device, platform } = listed
  return [{ backend, platform: platform?.index, devices: [device?.index] }]
}

/**
 * The first device of the first entry.
 *
 * **Example** (Of a list for tests, what a program takes)
 *
 * ```ts
 * import { DeviceSelector } from "effect-gpu-pool/devices"
 *
 * const forTests = [{ backend: "opencl", platform: 0, devices: [1, 0] }] as const
 * DeviceSelector.format(DeviceSelector.first(forTests)) // => "opencl:0:1"
 * ```
 *
 * @category transforming
 * @since 0.1.0
 */
export const first = (selector: DeviceSelector): DeviceSelector => {
  const [{ backend, devices: [device], platform }] = selector
  return [{ backend, platform, devices: [device] }]
}

/**
 * A part of a selection that selects nothing.
 *
 * @category models
 * @since 0.1.0
 */
export interface Miss {
  readonly backend: string
  /** The part of the selection, in its grammar. */
  readonly selector: string
  /** Why: what the machine has instead. */
  readonly why: string
}

/**
 * The result of a selection.
 *
 * @category models
 * @since 0.1.0
 */
export interface Selected {
  /** Usable devices, each once, in the order of the selection. */
  readonly devices: ReadonlyArray<ListedDevice>
  /** The parts of the selection that match no usable device. */
  readonly misses: ReadonlyArray<Miss>
}

/**
 * The listed devices that a selection matches. An index out of range, an unknown name, and a device that cannot be used
 * select nothing: `misses` reports them.
 *
 * **Example** (From a list of one)
 *
 * ```ts
 * import { DeviceSelector, type ListedDevice } from "effect-gpu-pool/devices"
 *
 * const named = { index: 0, name: "process memory", vendor: "" }
 * const host: ListedDevice.ListedDevice = {
 *   backend: "host",
 *   platform: { index: 0, name: "JavaScript", vendor: "" },
 *   device: named,
 *   type: "cpu",
 *   driver: "JavaScript",
 *   memoryBytes: undefined,
 *   unusable: undefined
 * }
 * const { devices, misses } = DeviceSelector.select(
 *   [{ backend: "host", platform: undefined, devices: ["memory", 1] }],
 *   [host]
 * )
 * devices.map(({ device }) => device?.name) // => ["process memory"]
 * misses // => [{ backend: "host", selector: "host:*:1", why: 'no such device; there is device 0 "process memory"' }]
 * ```
 *
 * @category selecting
 * @since 0.1.0
 */
export const select = (selector: DeviceSelector, listed: ReadonlyArray<ListedDevice>): Selected => {
  const devices = new Set<ListedDevice>()
  const misses: Array<Miss> = []
  for (const { backend, devices: parts, platform } of selector) {
    for (const part of parts) {
      const found = match({ backend, platform, device: part }, listed)
      if (typeof found === "string") {
        misses.push({ backend, selector: format([{ backend, platform, devices: [part] }]), why: found })
      } else for (const device of found) devices.add(device)
    }
  }
  return { devices: [...devices], misses }
}

/** A selection with one device part. */
interface Wanted {
  readonly backend: string
  readonly platform: Part
  readonly device: Part
}

type WithDevice = ListedDevice & { readonly device: Named }

/** The usable devices that the selection matches; or the reason, if it matches none. */
const match = (wanted: Wanted, listed: ReadonlyArray<ListedDevice>): ReadonlyArray<ListedDevice> | string => {
  const ofBackend = listed.filter(({ backend }) => backend === wanted.backend)
  const platforms = distinct(ofBackend.flatMap(({ platform }) => platform ?? []))
  if (platforms.length === 0) return reasons(ofBackend) ?? `this machine has no ${wanted.backend} platform`
  const chosen = platforms.filter((platform) => fits(wanted.platform, platform, platforms.length))
  if (chosen.length === 0) {
    return `no such platform; there ${are("platform", platforms)}${advice(wanted, ofBackend, platforms)}`
  }
  const onThem = ofBackend.filter(({ platform }) => chosen.some(({ index }) => index === platform?.index))
  const there = onThem.filter((entry): entry is WithDevice => entry.device !== undefined)
  if (there.length === 0) return reasons(onThem) ?? "the platform has no device"
  const counts = countsOf(there)
  const fitting = there.filter((entry) => fits(wanted.device, entry.device, counts.get(entry.platform?.index) ?? 0))
  if (fitting.length === 0) {
    return `no such device; there ${are("device", there.map(deviceOf))}${quoting(wanted.device, there.map(deviceOf))}`
  }
  const usable = fitting.filter(({ unusable }) => unusable === undefined)
  return usable.length > 0 ? usable : reasons(fitting)!
}

const deviceOf = ({ device }: WithDevice): Named => device

/** How many devices each platform has, by its index. */
const countsOf = (devices: ReadonlyArray<WithDevice>): ReadonlyMap<number | undefined, number> => {
  const counts = new Map<number | undefined, number>()
  for (const { platform } of devices) counts.set(platform?.index, (counts.get(platform?.index) ?? 0) + 1)
  return counts
}

const distinct = (platforms: ReadonlyArray<Named>): ReadonlyArray<Named> =>
  platforms.filter((platform, at) => platforms.findIndex(({ index }) => index === platform.index) === at)

/** Whether a part matches an item; `count` is the length of the item's list. */
const fits = (part: Part, item: Named, count: number): boolean => {
  if (part === undefined) return true
  if (typeof part === "string") return has(item.name, part) || has(item.vendor, part)
  return item.index === (part < 0 ? count + part : part)
}

const has = (text: string, part: string): boolean => text.toLowerCase().includes(part.toLowerCase())

const reasons = (entries: ReadonlyArray<ListedDevice>): string | undefined => {
  const all = new Set(entries.flatMap(({ unusable }) => unusable ?? []))
  return all.size === 0 ? undefined : [...all].join("; ")
}

const shownAtMost = 8

const are = (what: "platform" | "device", items: ReadonlyArray<Named>): string => {
  const shown = items.slice(0, shownAtMost).map(({ index, name }) => `${index} "${line(name)}"`)
  const more = items.length - shown.length
  return `${items.length === 1 ? `is ${what}` : `are ${what}s`} ${shown.join(", ")}${
    more > 0 ? ` and ${more} more` : ""
  }`
}

/** Advice for a device's name in the place of a platform. */
const advice = (wanted: Wanted, listed: ReadonlyArray<ListedDevice>, platforms: ReadonlyArray<Named>): string => {
  const { backend, platform } = wanted
  const isDevice = typeof platform === "string" && wanted.device === undefined &&
    listed.some(({ device }) => device !== undefined && fits(platform, device, 0))
  return isDevice
    ? `. A device has that name: a device is the third part, as ${backend}:*:${platform}`
    : quoting(platform, platforms)
}

const quoting = (part: Part, items: ReadonlyArray<Named>): string =>
  typeof part === "number" && items.some(({ name }) => name.includes(String(part)))
    ? `. A number is an index: "${part}" in quotes is a part of a name`
    : ""

/**
 * What a backend has and lacks on a machine, and what to do about it.
 *
 * @internal
 */
import { list } from "effect-gpu-pool/Format"
import type { ProbedDevice, ProbeResult } from "./ChildAnswer.ts"
import * as InstallCommands from "./InstallCommands.ts"
import type { Remedy } from "./InstallCommands.ts"
import type { Machine, SystemParts } from "./Machine.ts"

/** Something that a backend needs. */
export interface Part {
  readonly name: string
  readonly found: boolean
  /** Where it is, or where it was looked for. */
  readonly detail: string
}

export interface Diagnosis {
  readonly backend: string
  /** Whether a device of it can be used. */
  readonly works: boolean
  /** Whether the backend can use GPUs. The host backend cannot. */
  readonly forGpus: boolean
  readonly devices: ProbeResult
  /** Why it does not work, or null. */
  readonly why: string | null
  readonly parts: ReadonlyArray<Part>
  readonly remedies: ReadonlyArray<Remedy>
}

/** The facts about each backend for GPUs. */
interface Needs {
  readonly backend: string
  /** The npm package that loads the driver. */
  readonly package: string
  /** The name of its drivers: Vulkan's, OpenCL's. */
  readonly drivers: string
  readonly parts: (machine: Machine) => SystemParts | undefined
  /** What the runtime lacks, if anything: then no installation helps. */
  readonly runtime: (machine: Machine) => string | undefined
  readonly driver: (machine: Machine) => Omit<Remedy, "why">
  /** A prefix for a command that makes it load one driver alone, in case a driver crashes. */
  readonly alone: (file: string) => string
  /** What a driver must provide that is installed but not used. */
  readonly refused: string
}

const webGpu: Needs = {
  backend: "webgpu",
  package: "webgpu",
  drivers: "Vulkan",
  parts: ({ vulkan }) => vulkan,
  runtime: () => undefined,
  driver: InstallCommands.webGpuDriver,
  alone: (file) => `VK_DRIVER_FILES=${file}`,
  refused: "Dawn takes none of the drivers that are there; Mesa must be version 23 or newer"
}

const openCl: Needs = {
  backend: "opencl",
  package: "koffi",
  drivers: "OpenCL",
  parts: ({ openCl }) => openCl,
  runtime: ({ canDetach }) => canDetach ? undefined : "it has no ArrayBuffer.prototype.transfer",
  driver: InstallCommands.openClDriver,
  // A file is enough for ocl-icd alone; Khronos' loader takes a folder.
  alone: (file) => `folder=$(mktemp -d) && cp ${file} $folder && OCL_ICD_VENDORS=$folder`,
  refused: "no driver has a device that can be used"
}

/** The library's own backends, in the order of their list. Only other backends themselves know what they need. */
const needs: ReadonlyArray<Needs> = [webGpu, openCl]

/** `probed` is an error text if the process that probed the backend ended without a result. */
export const diagnose = (backend: string, machine: Machine, probed: ProbeResult | string): Diagnosis => {
  const devices = typeof probed === "string" ? [] : probed
  const works = devices.some(({ why }) => why === null)
  const wants = needs.find((one) => one.backend === backend)
  return {
    backend,
    works,
    forGpus: wants !== undefined,
    devices,
    why: works ? null : whyNot(probed),
    parts: wants === undefined ? [] : partsOf(wants, machine),
    remedies: wants === undefined ? [] : works ? bettered(wants, machine, devices) : remedied(wants, machine, probed)
  }
}

const whyNot = (probed: ProbeResult | string): string =>
  typeof probed === "string" ? probed : list([...new Set(probed.map(({ why }) => why ?? ""))], "; ", 4, 400)

const partsOf = (wants: Needs, machine: Machine): ReadonlyArray<Part> => {
  const folder = machine.packages[wants.package]
  const system = wants.parts(machine)
  const npm = { name: `npm ${wants.package}`, found: folder !== undefined, detail: folder ?? "not installed" }
  return [...runtimeParts(wants, machine), npm, ...(system === undefined ? [] : systemParts(wants, system))]
}

/** The runtime is only listed where it is the cause: mostly it has everything that backends need. */
const runtimeParts = (wants: Needs, machine: Machine): ReadonlyArray<Part> => {
  const lacks = wants.runtime(machine)
  return lacks === undefined ? [] : [{ name: "a newer runtime", found: false, detail: `${machine.runtime}: ${lacks}` }]
}

const systemParts = ({ drivers }: Needs, system: SystemParts): ReadonlyArray<Part> => [
  { name: `${drivers} loader`, found: system.loader !== undefined, detail: system.loader ?? "no such library" },
  {
    name: `${drivers} drivers`,
    found: system.drivers.length > 0,
    detail: system.drivers.length > 0 ? list(system.drivers) : `none in ${list(system.places)}`
  }
]

/** How to install all that is missing, so that the user need not run `doctor` again after each part. */
const remedied = (wants: Needs, machine: Machine, probed: ProbeResult | string): ReadonlyArray<Remedy> => {
  if (wants.runtime(machine) !== undefined) return [newer(machine)]
  const [npm, ...system] = partsOf(wants, machine)
  const missing = system.filter(({ found }) => !found).map(({ name }) => name)
  const ofPackage = npm?.found === false
    ? [{ why: `install ${npm.name}`, ...InstallCommands.npmPackage(wants.package, machine) }]
    : []
  if (missing.length > 0) return [...ofPackage, misled(wants, machine) ?? installed(wants, machine, missing)]
  return ofPackage.length > 0 ? ofPackage : present(wants, machine, probed)
}

/** No installation helps with this runtime. */
const newer = ({ runtime }: Machine): Remedy => ({
  why: `${runtime} is too old for OpenCL: use Node 22.19 or newer, and run doctor with that`,
  commands: []
})

const installed = (wants: Needs, machine: Machine, missing: ReadonlyArray<string>): Remedy => ({
  why: `install ${missing.join(" and ")}`,
  ...wants.driver(machine)
})

/** An environment variable hides the system's drivers from the loader. */
const misled = (wants: Needs, machine: Machine): Remedy | undefined => {
  const { drivers, loader, variable } = wants.parts(machine) ?? {}
  return variable === undefined || loader === undefined || drivers?.length !== 0
    ? undefined
    : { why: `${variable} is set and names no driver: unset it, and try again`, commands: [`unset ${variable}`] }
}

/** All parts are installed, but the backend does not work. */
const present = (wants: Needs, machine: Machine, probed: ProbeResult | string): ReadonlyArray<Remedy> => {
  const system = wants.parts(machine)
  if (typeof probed === "string") return system === undefined ? [] : [oneByOne(wants, system)]
  return machine.denied.length > 0
    ? [{ why: denied(machine), ...InstallCommands.access(machine) }]
    : [{ why: wants.refused, ...wants.driver(machine) }]
}

const denied = (machine: Machine): string => `this user may not open ${list(machine.denied)}`

const oneByOne = ({ alone, backend, drivers }: Needs, system: SystemParts): Remedy => ({
  why: `a ${drivers} driver crashes or hangs: find out which, and remove or update it`,
  commands: system.drivers.map((file) =>
    `${alone(file)} npx @effect-gpu-pool/cli devices --select ${backend} --verbose`
  )
})

const isUsedGpu = ({ type, why }: ProbedDevice): boolean => type === "gpu" && why === null

/** The backend works, but without a GPU of the machine. */
const bettered = (wants: Needs, machine: Machine, devices: ProbeResult): ReadonlyArray<Remedy> => {
  if (machine.gpus.length === 0 || devices.some(isUsedGpu)) return []
  const why = `no driver offers the GPU by ${list([...new Set(machine.gpus)])}, only the processor is used`
  return machine.denied.length > 0
    ? [{ why: `${why}: ${denied(machine)}`, ...InstallCommands.access(machine) }]
    : [{ why, ...wants.driver(machine) }]
}

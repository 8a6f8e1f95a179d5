/**
 * Reads what `Machine` has from the system: files and variables, no driver.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import { spawnSync } from "node:child_process"
import { accessSync, constants, existsSync, readdirSync, readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { homedir, release, type as systemName } from "node:os"
import { delimiter, dirname, join } from "node:path"
import process from "node:process"
import type { Distribution, Machine, PackageManager, SystemParts, Vendor } from "./Machine.ts"

/** What is not there, or not for this user, has no entries. */
const entriesOf = (folder: string): ReadonlyArray<string> => {
  try {
    return readdirSync(folder).sort()
  } catch {
    return []
  }
}

const textOf = (file: string): string => {
  try {
    return readFileSync(file, "utf8")
  } catch {
    return ""
  }
}

/** `NAME=value` lines, of which the value may be quoted. */
export const parseRelease = (text: string): Distribution | undefined => {
  const found = new Map(
    Array.from(text.matchAll(/^([A-Z_]+)=(["']?)(.*)\2$/gm), ([, name = "", , value = ""]) => [name, value] as const)
  )
  const id = found.get("ID")
  if (id === undefined) return undefined
  return {
    name: found.get("PRETTY_NAME") ?? id,
    ids: [id, ...(found.get("ID_LIKE") ?? "").split(" ").filter((like) => like !== "")],
    version: found.get("VERSION_ID"),
    codename: found.get("UBUNTU_CODENAME") ?? found.get("VERSION_CODENAME")
  }
}

const lockfiles: ReadonlyArray<readonly [file: string, manager: PackageManager]> = [
  ["pnpm-lock.yaml", "pnpm"],
  ["yarn.lock", "yarn"],
  ["bun.lock", "bun"],
  ["bun.lockb", "bun"],
  ["deno.lock", "deno"],
  ["package-lock.json", "npm"]
]

const isManager = (name: string | undefined): name is PackageManager =>
  name !== undefined && ["npm", "pnpm", "yarn", "bun", "deno"].includes(name)

/** The one of the project around a folder, by its lock file; else the one that runs this, which tells its name. */
export const packageManagerOf = (folder: string, userAgent: string | undefined): PackageManager => {
  const found = lockfiles.find(([file]) => existsSync(join(folder, file)))
  if (found !== undefined) return found[1]
  const above = dirname(folder)
  if (above !== folder) return packageManagerOf(above, userAgent)
  const [running] = (userAgent ?? "").split("/")
  return isManager(running) ? running : "npm"
}

const vendors: Readonly<Record<string, Vendor>> = { "0x10de": "NVIDIA", "0x1002": "AMD", "0x8086": "Intel" }

/** PCI's class of displays, 3D controllers among them. */
const gpusOf = (pci: string): ReadonlyArray<Vendor> =>
  entriesOf(pci).filter((device) => textOf(join(pci, device, "class")).startsWith("0x03")).map((device) =>
    vendors[textOf(join(pci, device, "vendor")).trim()] ?? "another vendor"
  )

const mayOpen = (file: string): boolean => {
  try {
    accessSync(file, constants.R_OK | constants.W_OK)
    return true
  } catch {
    return false
  }
}

const renderNodes = (): ReadonlyArray<string> =>
  entriesOf("/dev/dri").filter((name) => name.startsWith("renderD")).map((name) => join("/dev/dri", name))

/** The usual folders; a distribution that has others tells them by `ldconfig`. */
const libraryFolders = (): ReadonlyArray<string> => [
  ...(process.env.LD_LIBRARY_PATH ?? "").split(":").filter((folder) => folder !== ""),
  "/usr/local/lib",
  "/usr/lib64",
  "/usr/lib",
  "/lib64",
  "/lib"
]

const libraryOf = (name: string, known: string): string | undefined =>
  libraryFolders().map((folder) => join(folder, name)).find((file) => existsSync(file)) ??
    new RegExp(`^\\s*${name.replaceAll(".", "\\.")} .*=> (.*)$`, "m").exec(known)?.[1]

const knownLibraries = (): string => {
  const PATH = [process.env.PATH ?? "", "/sbin", "/usr/sbin"].join(delimiter)
  return spawnSync("ldconfig", ["-p"], { encoding: "utf8", env: { ...process.env, PATH } }).stdout ?? ""
}

/** Files of drivers, in folders or by names of their own. */
const driversIn = (places: ReadonlyArray<string>, extension: string): ReadonlyArray<string> =>
  places.flatMap((place) =>
    place.endsWith(extension) || place.endsWith(".so")
      ? [place].filter((file) => existsSync(file))
      : entriesOf(place).filter((name) => name.endsWith(extension)).map((name) => join(place, name))
  )

interface Places {
  readonly places: ReadonlyArray<string>
  readonly variable: string | undefined
}

/** The first variable that has a value, as the loaders read them, else the usual folders. */
const placesOf = (variables: ReadonlyArray<string>, usual: ReadonlyArray<string>): Places => {
  const variable = variables.find((name) => (process.env[name] ?? "") !== "")
  return { places: variable === undefined ? usual : (process.env[variable] ?? "").split(delimiter), variable }
}

const vulkanPlaces = (): Places =>
  placesOf(["VK_DRIVER_FILES", "VK_ICD_FILENAMES"], [
    "/etc/vulkan/icd.d",
    "/usr/local/share/vulkan/icd.d",
    "/usr/share/vulkan/icd.d",
    join(homedir(), ".local/share/vulkan/icd.d")
  ])

const openClPlaces = (): Places => placesOf(["OCL_ICD_VENDORS", "OPENCL_VENDOR_PATH"], ["/etc/OpenCL/vendors"])

const partsOf = (library: string, found: Places, extension: string, known: string): SystemParts => ({
  loader: libraryOf(library, known),
  drivers: driversIn(found.places, extension),
  ...found
})

const require = createRequire(import.meta.url)

/** As this library would load it. */
const packageFolder = (name: string): string | undefined => {
  try {
    const entry = require.resolve(name)
    const folder = join("node_modules", name)
    return entry.slice(0, entry.lastIndexOf(folder) + folder.length)
  } catch {
    return undefined
  }
}

const versions = process.versions as Readonly<Record<string, string | undefined>>

const runtime = (): string =>
  versions.deno !== undefined
    ? `Deno ${versions.deno}`
    : versions.bun !== undefined
    ? `Bun ${versions.bun}`
    : `Node ${versions.node}`

const backportsOf = (codename: string | undefined): boolean =>
  codename !== undefined &&
  ["/etc/apt/sources.list", ...entriesOf("/etc/apt/sources.list.d").map((name) => `/etc/apt/sources.list.d/${name}`)]
    .some((file) => new RegExp(`^[^#]*\\b${codename}-backports\\b`, "m").test(textOf(file)))

/** It sets this in every container: https://kubernetes.io/docs/tutorials/services/connect-applications-service/#environment-variables */
const isKubernetes = process.env.KUBERNETES_SERVICE_HOST !== undefined

const onLinux = () => {
  const known = knownLibraries()
  const distribution = parseRelease(textOf("/etc/os-release"))
  return {
    distribution,
    system: distribution?.name ?? "Linux",
    isContainer: isKubernetes || existsSync("/.dockerenv") || existsSync("/run/.containerenv"),
    hasBackports: backportsOf(distribution?.codename),
    gpus: gpusOf("/sys/bus/pci/devices"),
    denied: renderNodes().filter((file) => !mayOpen(file)),
    vulkan: partsOf("libvulkan.so.1", vulkanPlaces(), ".json", known),
    openCl: partsOf("libOpenCL.so.1", openClPlaces(), ".icd", known)
  }
}

const elsewhere = () => ({
  distribution: undefined,
  system: `${{ darwin: "macOS", win32: "Windows" }[process.platform as string] ?? systemName()} ${release()}`,
  isContainer: false,
  hasBackports: false,
  gpus: [],
  denied: [],
  vulkan: undefined,
  openCl: undefined
})

export const readMachine: Effect.Effect<Machine> = Effect.sync(() => ({
  platform: process.platform,
  arch: process.arch,
  runtime: runtime(),
  canDetach: "transfer" in ArrayBuffer.prototype,
  isRoot: process.getuid?.() === 0,
  packageManager: packageManagerOf(process.cwd(), process.env.npm_config_user_agent),
  packages: { webgpu: packageFolder("webgpu"), koffi: packageFolder("koffi") },
  ...(process.platform === "linux" ? onLinux() : elsewhere())
}))

/**
 * Reads what `Machine` has from the system: files and variables, no driver.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as ChildProcess from "effect/process/ChildProcess"
import { ChildProcessSpawner } from "effect/process/ChildProcessSpawner"
// No module of Effect has a system's name and home.
import { homedir, release, type as systemName } from "node:os"
import type { Distribution, Machine, PackageManager, SystemParts, Vendor } from "./Machine.ts"

/** The entries of a folder; none if it is missing or not readable. */
const entriesOf = (folder: string) =>
  FileSystem.FileSystem.use((files) => files.readDirectory(folder)).pipe(
    Effect.map((names) => names.sort()),
    Effect.orElseSucceed(() => [])
  )

const textOf = (file: string) =>
  FileSystem.FileSystem.use((files) => files.readFileString(file)).pipe(Effect.orElseSucceed(() => ""))

const exists = (file: string) =>
  FileSystem.FileSystem.use((files) => files.exists(file)).pipe(Effect.orElseSucceed(() => false))

/** The paths of entries with such names. */
const filesIn = (folder: string, isOne: (name: string) => boolean) =>
  Effect.map(entriesOf(folder), (names) => names.filter(isOne).map((name) => `${folder}/${name}`))

/** Parses `NAME=value` lines, whose values may be quoted. */
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

/** The package manager of the project around a folder, by its lock file; else the one that runs this process, by its own variable. */
export const packageManagerOf = (
  folder: string,
  userAgent: string | undefined
): Effect.Effect<PackageManager, never, FileSystem.FileSystem | Path.Path> =>
  Effect.gen(function*() {
    const { dirname, join } = yield* Path.Path
    const found = yield* Effect.findFirst(lockfiles, ([file]) => exists(join(folder, file)))
    if (Option.isSome(found)) return found.value[1]
    const above = dirname(folder)
    if (above !== folder) return yield* packageManagerOf(above, userAgent)
    const [running] = (userAgent ?? "").split("/")
    return isManager(running) ? running : "npm"
  })

const vendors: Readonly<Record<string, Vendor>> = { "0x10de": "NVIDIA", "0x1002": "AMD", "0x8086": "Intel" }

/** PCI's class of displays, 3D controllers among them. */
const gpusOf = Effect.fnUntraced(function*(pci: string) {
  const devices = yield* filesIn(pci, () => true)
  const displays = yield* Effect.filter(
    devices,
    (device) => Effect.map(textOf(`${device}/class`), (text) => text.startsWith("0x03"))
  )
  return yield* Effect.forEach(
    displays,
    (device) => Effect.map(textOf(`${device}/vendor`), (vendor): Vendor => vendors[vendor.trim()] ?? "another vendor")
  )
})

const mayOpen = (file: string) =>
  FileSystem.FileSystem.use((files) => files.access(file, { readable: true, writable: true })).pipe(Effect.isSuccess)

const deniedOf = Effect.fnUntraced(function*(folder: string) {
  const nodes = yield* filesIn(folder, (name) => name.startsWith("renderD"))
  return yield* Effect.filter(nodes, (file) => Effect.map(mayOpen(file), (may) => !may))
})

/** The usual folders, and those that `ldconfig` lists. */
const libraryFolders = (): ReadonlyArray<string> => [
  ...(process.env.LD_LIBRARY_PATH ?? "").split(":").filter((folder) => folder !== ""),
  "/usr/local/lib",
  "/usr/lib64",
  "/usr/lib",
  "/lib64",
  "/lib"
]

const libraryOf = Effect.fnUntraced(function*(name: string, known: string) {
  const found = yield* Effect.findFirst(libraryFolders().map((folder) => `${folder}/${name}`), exists)
  return Option.getOrUndefined(found) ??
    new RegExp(`^\\s*${name.replaceAll(".", "\\.")} .*=> (.*)$`, "m").exec(known)?.[1]
})

const knownLibraries = ChildProcessSpawner.use((spawner) =>
  spawner.string(ChildProcess.make("ldconfig", ["-p"], {
    env: { PATH: `${process.env.PATH ?? ""}:/sbin:/usr/sbin` },
    extendEnv: true,
    stderr: "ignore"
  }))
).pipe(Effect.orElseSucceed(() => ""))

/** Files of drivers, in folders or by their full names. */
const driversIn = (places: ReadonlyArray<string>, extension: string) =>
  Effect.map(
    Effect.forEach(places, (place) =>
      place.endsWith(extension) || place.endsWith(".so")
        ? Effect.filter([place], exists)
        : filesIn(place, (name) => name.endsWith(extension))),
    (found) => found.flat()
  )

interface Places {
  readonly places: ReadonlyArray<string>
  readonly variable: string | undefined
}

/** The first variable with a value, in the order of the loaders, else the usual folders. */
const placesOf = (variables: ReadonlyArray<string>, usual: ReadonlyArray<string>): Places => {
  const variable = variables.find((name) => (process.env[name] ?? "") !== "")
  return { places: variable === undefined ? usual : (process.env[variable] ?? "").split(":"), variable }
}

const vulkanPlaces = (): Places =>
  placesOf(["VK_DRIVER_FILES", "VK_ICD_FILENAMES"], [
    "/etc/vulkan/icd.d",
    "/usr/local/share/vulkan/icd.d",
    "/usr/share/vulkan/icd.d",
    `${homedir()}/.local/share/vulkan/icd.d`
  ])

const openClPlaces = (): Places => placesOf(["OCL_ICD_VENDORS", "OPENCL_VENDOR_PATH"], ["/etc/OpenCL/vendors"])

const partsOf = (library: string, found: Places, extension: string, known: string) =>
  Effect.map(
    Effect.all([libraryOf(library, known), driversIn(found.places, extension)]),
    ([loader, drivers]): SystemParts => ({ loader, drivers, ...found })
  )

/** Finds a package as this library would load it. */
const packageFolder = (name: string) =>
  Effect.try({ try: () => new URL(import.meta.resolve(name)), catch: () => undefined }).pipe(
    Effect.flatMap((entry) => Effect.flatMap(Path.Path, ({ fromFileUrl }) => fromFileUrl(entry))),
    Effect.map((entry) => new RegExp(`^.*node_modules.${name}`).exec(entry)?.[0]),
    Effect.orElseSucceed(() => undefined)
  )

const versions = process.versions as Readonly<Record<string, string | undefined>>

const runtime = (): string =>
  versions.deno !== undefined
    ? `Deno ${versions.deno}`
    : versions.bun !== undefined
    ? `Bun ${versions.bun}`
    : `Node ${versions.node}`

const backportsOf = Effect.fnUntraced(function*(codename: string | undefined) {
  if (codename === undefined) return false
  const files = ["/etc/apt/sources.list", ...(yield* filesIn("/etc/apt/sources.list.d", () => true))]
  const texts = yield* Effect.forEach(files, textOf)
  return texts.some((text) => new RegExp(`^[^#]*\\b${codename}-backports\\b`, "m").test(text))
})

/** Kubernetes sets this in every container: https://kubernetes.io/docs/tutorials/services/connect-applications-service/#environment-variables */
const isKubernetes = process.env.KUBERNETES_SERVICE_HOST !== undefined

const onLinux = Effect.gen(function*() {
  const known = yield* knownLibraries
  const distribution = parseRelease(yield* textOf("/etc/os-release"))
  return {
    distribution,
    system: distribution?.name ?? "Linux",
    isContainer: isKubernetes || (yield* exists("/.dockerenv")) || (yield* exists("/run/.containerenv")),
    hasBackports: yield* backportsOf(distribution?.codename),
    gpus: yield* gpusOf("/sys/bus/pci/devices"),
    denied: yield* deniedOf("/dev/dri"),
    vulkan: yield* partsOf("libvulkan.so.1", vulkanPlaces(), ".json", known),
    openCl: yield* partsOf("libOpenCL.so.1", openClPlaces(), ".icd", known)
  }
})

const elsewhere = Effect.sync(() => ({
  distribution: undefined,
  system: `${{ darwin: "macOS", win32: "Windows" }[process.platform as string] ?? systemName()} ${release()}`,
  isContainer: false,
  hasBackports: false,
  gpus: [],
  denied: [],
  vulkan: undefined,
  openCl: undefined
}))

export const readMachine = Effect.gen(function*(): Effect.fn.Return<
  Machine,
  never,
  ChildProcessSpawner | FileSystem.FileSystem | Path.Path
> {
  return {
    platform: process.platform,
    arch: process.arch,
    runtime: runtime(),
    canDetach: "transfer" in ArrayBuffer.prototype,
    isRoot: process.getuid?.() === 0,
    packageManager: yield* packageManagerOf(process.cwd(), process.env.npm_config_user_agent),
    packages: { webgpu: yield* packageFolder("webgpu"), koffi: yield* packageFolder("koffi") },
    ...(yield* process.platform === "linux" ? onLinux : elsewhere)
  }
}).pipe(Effect.withSpan("doctor.readMachine"))

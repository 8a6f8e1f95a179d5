/**
 * Which backends this machine offers, as a program sees them: `node scripts/backends.ts [name...]` prints a line for
 * each and exits non-zero when one is missing. The driver script ends with it, and the tests decide by it what runs.
 *
 * Each backend is looked at in a process of its own, as by `effect-gpu-pool doctor`. That opens devices and computes on
 * them, which takes longer than the tests' question before each file.
 */
import koffi from "koffi"
import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync, readdirSync, renameSync, writeFileSync } from "node:fs"
import { delimiter, join } from "node:path"
import { fileURLToPath } from "node:url"
import { answerOf, lastLine, printAnswer } from "../packages/cli/src/doctor/ChildAnswer.ts"

export const backends = [
  "webgpu",
  "opencl",
  "finegrain",
  "oclgrind",
  "pyopencl",
  "chromium",
  "prometheus",
  "postgres"
] as const

export type Backend = typeof backends[number]

export interface Presence {
  readonly available: boolean
  /** The device that answered, or why none did. */
  readonly detail: string
}

export const howToInstall: Record<Backend, string> = {
  webgpu: "npm run drivers (Debian, Ubuntu), or what `npm run doctor` says: a Vulkan driver that Dawn accepts",
  opencl: "npm run drivers (Debian, Ubuntu), or what `npm run doctor` says: a loader and an OpenCL driver",
  finegrain: "npm run drivers (Debian, Ubuntu), or an OpenCL driver with shared virtual memory of fine grain, as PoCL",
  oclgrind: "npm run drivers (Debian, Ubuntu), or Oclgrind and EFFECT_GPU_POOL_OCLGRIND=/path/to/liboclgrind-rt-icd.so",
  pyopencl: "npm run drivers (Debian, Ubuntu), or pyopencl for the interpreter that EFFECT_GPU_POOL_PYTHON names",
  chromium: "npm run drivers (Debian, Ubuntu), or a browser that EFFECT_GPU_POOL_CHROMIUM names",
  prometheus:
    "npm run drivers (Debian, Ubuntu), or the folder of prometheus and promtool in EFFECT_GPU_POOL_PROMETHEUS",
  postgres: "npm run drivers (Debian, Ubuntu), or the folder of initdb and pg_ctl in EFFECT_GPU_POOL_POSTGRES"
}

export const isBackend = (name: string): name is Backend => backends.some((backend) => backend === name)

/** The backends that must be there, as `EFFECT_GPU_POOL_REQUIRE` names them: separated by commas, or `all`. */
export const parseRequired = (value: string | undefined): ReadonlySet<Backend> => {
  const names = (value ?? "").split(",").map((name) => name.trim()).filter((name) => name !== "")
  if (names.includes("all")) return new Set(backends)
  const unknown = names.filter((name) => !isBackend(name))
  if (unknown.length > 0) {
    throw new Error(`EFFECT_GPU_POOL_REQUIRE names ${unknown.join(", ")}; known: all, ${backends.join(", ")}`)
  }
  return new Set(names.filter(isBackend))
}

const here = fileURLToPath(import.meta.url)
const cacheFolder = join(here, "../../node_modules/.cache/effect-gpu-pool")

const onPath = (...names: ReadonlyArray<string>): string | undefined =>
  (process.env.PATH ?? "").split(delimiter)
    .flatMap((folder) => names.map((name) => join(folder, name)))
    .find((file) => existsSync(file))

/**
 * The Python that has PyOpenCL. Distributions install it for their own interpreter, which a version manager may hide.
 */
export const python = (): string | undefined =>
  process.env.EFFECT_GPU_POOL_PYTHON ?? (existsSync("/usr/bin/python3") ? "/usr/bin/python3" : onPath("python3"))

/** A Chromium or Chrome to drive: the one that the environment names, one on the PATH, or Playwright's build. */
export const chromium = async (): Promise<string | undefined> => {
  const named = process.env.EFFECT_GPU_POOL_CHROMIUM ??
    onPath("chromium", "google-chrome", "google-chrome-stable", "chromium-browser")
  if (named !== undefined) return named
  const playwright = await import("playwright-core")
  const built = playwright.chromium.executablePath()
  return existsSync(built) ? built : undefined
}

/**
 * The environment of a process whose loader finds the OpenCL drivers of a folder and no others: Khronos' loader loads those
 * that `OCL_ICD_FILENAMES` names besides.
 */
export const openClDriversIn = (folder: string): NodeJS.ProcessEnv => ({
  OCL_ICD_VENDORS: folder,
  OCL_ICD_FILENAMES: undefined
})

/** Makes them those of this process, before it loads libOpenCL. */
export const useOpenClDriversIn = (folder: string): void => {
  process.env.OCL_ICD_VENDORS = folder
  delete process.env.OCL_ICD_FILENAMES
}

/**
 * A folder for `OCL_ICD_VENDORS` that makes Oclgrind the only OpenCL platform of a process. The loader reads the
 * variable once, so it must be set before libOpenCL is loaded. `undefined` when Oclgrind is not installed.
 */
export const oclgrindVendors = (): string | undefined => {
  const named = process.env.EFFECT_GPU_POOL_OCLGRIND
  const usual = [
    "/usr/lib/oclgrind/liboclgrind-rt-icd.so",
    "/usr/local/lib/oclgrind/liboclgrind-rt-icd.so",
    "/usr/local/lib/liboclgrind-rt-icd.so"
  ]
  // what is named and not there must not pass for another one
  const library = (named === undefined ? usual : [named]).find((file) => existsSync(file))
  if (library === undefined) return undefined
  const folder = join(cacheFolder, "oclgrind")
  mkdirSync(folder, { recursive: true })
  const icd = join(folder, "oclgrind.icd")
  // renamed into place, because another process may be reading it at this moment
  writeFileSync(`${icd}.${process.pid}`, library)
  renameSync(`${icd}.${process.pid}`, icd)
  return folder
}

/**
 * The folder that has `prometheus` and its `promtool`: the one that the environment names, one on the PATH, or that
 * where the driver script puts them. Its package would start a service, so the script only unpacks it.
 */
export const prometheus = (): string | undefined => {
  const named = process.env.EFFECT_GPU_POOL_PROMETHEUS
  const folders = named === undefined
    ? [...(process.env.PATH ?? "").split(delimiter), join(cacheFolder, "prometheus/usr/bin")]
    : [named]
  return folders.find((folder) => ["prometheus", "promtool"].every((name) => existsSync(join(folder, name))))
}

/**
 * The folder that has PostgreSQL's `initdb` and `pg_ctl`: the one that the environment names, one on the PATH, or the newest of Debian,
 * which has none of them on the PATH.
 */
export const postgres = (): string | undefined => {
  const named = process.env.EFFECT_GPU_POOL_POSTGRES
  const versions = "/usr/lib/postgresql"
  const ofDebian = existsSync(versions)
    ? readdirSync(versions).sort((one, other) => Number(other) - Number(one)).map((name) => join(versions, name, "bin"))
    : []
  const folders = named === undefined ? [...(process.env.PATH ?? "").split(delimiter), ...ofDebian] : [named]
  return folders.find((folder) => ["initdb", "pg_ctl", "postgres"].every((name) => existsSync(join(folder, name))))
}

const absent = (detail: string): Presence => ({ available: false, detail })
const present = (detail: string): Presence => ({ available: true, detail })

const webgpu = async (): Promise<Presence> => {
  const { create } = await import("webgpu")
  const gpu = create([])
  const adapter = await gpu.requestAdapter()
  if (adapter === null) return absent("Dawn accepts no Vulkan, Metal or D3D12 driver of this machine")
  const { description, device, vendor } = adapter.info
  return present([vendor, device, description].filter((part) => part !== "").join(", "))
}

const libOpenCl = { darwin: "/System/Library/Frameworks/OpenCL.framework/OpenCL", win32: "OpenCL.dll" }
const CL_PLATFORM_NAME = 0x0902
const CL_DEVICE_TYPE_ALL = 0xffffffff

const openClPlatforms = (): ReadonlyArray<string> => {
  const lib = koffi.load(libOpenCl[process.platform as keyof typeof libOpenCl] ?? "libOpenCL.so.1")
  const getPlatforms = lib.func("int clGetPlatformIDs(uint32_t, void*, void*)")
  const getInfo = lib.func("int clGetPlatformInfo(void*, uint32_t, size_t, void*, void*)")
  const getDevices = lib.func("int clGetDeviceIDs(void*, uint64_t, uint32_t, void*, void*)")
  const count = new Uint32Array(1)
  if (getPlatforms(0, null, count) !== 0) return []
  const ids = new BigUint64Array(count[0] ?? 0)
  getPlatforms(ids.length, ids, null)
  const hasDevice = (id: bigint) => getDevices(id, CL_DEVICE_TYPE_ALL, 0, null, count) === 0 && (count[0] ?? 0) > 0
  const nameOf = (id: bigint) => {
    const text = new Uint8Array(256)
    getInfo(id, CL_PLATFORM_NAME, text.length, text, null)
    return new TextDecoder().decode(text.subarray(0, text.indexOf(0)))
  }
  return [...ids].filter(hasDevice).map(nameOf)
}

const opencl = (): Presence => {
  const names = openClPlatforms()
  return names.length === 0 ? absent("the OpenCL loader finds no platform with a device") : present(names.join(", "))
}

/** Shared virtual memory of fine grain, which many GPUs lack: by the device that a program opens without a choice. */
const finegrain = async (): Promise<Presence> => {
  const { OpenCl, Svm } = await import("../src/opencl.ts")
  const { runPromise, map, provide, zip } = await import("effect/Effect")
  const capabilities = provide(zip(Svm.capabilities, map(OpenCl.OpenCl, ({ device }) => device.name)), OpenCl.layer())
  const [{ fineGrain, missing }, name] = await runPromise(capabilities)
  return fineGrain
    ? present(name)
    : absent(`${name}: ${missing ?? "its shared virtual memory is of coarse grain alone"}`)
}

const oclgrind = (): Presence => {
  const vendors = oclgrindVendors()
  if (vendors === undefined) {
    const named = process.env.EFFECT_GPU_POOL_OCLGRIND
    return absent(
      named === undefined
        ? "liboclgrind-rt-icd.so is not installed"
        : `EFFECT_GPU_POOL_OCLGRIND names ${named}, and there is no such file`
    )
  }
  useOpenClDriversIn(vendors)
  const names = openClPlatforms()
  return names.includes("Oclgrind") ? present(names.join(", ")) : absent("the OpenCL loader does not load Oclgrind")
}

const runOnce = (command: string | undefined, args: ReadonlyArray<string>, missing: string): Presence => {
  if (command === undefined) return absent(missing)
  const { error, status, stderr, stdout } = spawnSync(command, args, { encoding: "utf8" })
  if (error !== undefined) return absent(error.message)
  return status === 0 ? present(stdout.trim()) : absent(`${command}: ${lastLine(stderr)}`)
}

const pyOpenClReport = `
import pyopencl
names = [platform.name for platform in pyopencl.get_platforms() if platform.get_devices()]
assert names, "no platform has a device"
print(f"pyopencl {pyopencl.VERSION_TEXT} on {', '.join(names)}")
`

const probes: Record<Backend, () => Presence | Promise<Presence>> = {
  webgpu,
  opencl,
  finegrain,
  oclgrind,
  pyopencl: () => runOnce(python(), ["-c", pyOpenClReport], "no python3"),
  chromium: async () => runOnce(await chromium(), ["--version"], "no chromium or google-chrome on the PATH"),
  prometheus: () => {
    const folder = prometheus()
    const { detail, ...rest } = runOnce(
      folder === undefined ? undefined : join(folder, "promtool"),
      ["--version"],
      "no folder with prometheus and promtool"
    )
    return { ...rest, detail: detail.split("\n")[0] ?? "" }
  },
  postgres: () => {
    const folder = postgres()
    return runOnce(
      folder === undefined ? undefined : join(folder, "postgres"),
      ["--version"],
      "no folder with initdb and pg_ctl"
    )
  }
}

/** Looks at one backend, in a process of its own. Blocks until that answers, for a tenth of a second to a second. */
export const look = (backend: Backend): Presence => {
  const child = spawnSync(process.execPath, [here, "--in-process", backend], { encoding: "utf8", timeout: 60_000 })
  const { error, signal, status: code, stderr, stdout } = child
  const found = answerOf<Presence>({ stdout, stderr, code, signal, problem: error?.message })
  return "answer" in found ? found.answer : absent(found.why)
}

const lookInProcess = async (backend: Backend): Promise<void> =>
  printAnswer(await Promise.resolve().then(probes[backend]).catch((cause: unknown) => absent(String(cause))))

const report = (names: ReadonlyArray<Backend>): void => {
  for (const backend of names) {
    const { available, detail } = look(backend)
    console.log(`  ${backend.padEnd(10)} ${available ? "ok       " : "MISSING  "} ${detail}`)
    if (available) continue
    console.log(`             install: ${howToInstall[backend]}`)
    process.exitCode = 1
  }
}

const main = async (args: ReadonlyArray<string>): Promise<void> => {
  const names = args.filter(isBackend)
  const unknown = args.find((arg) => arg !== "--in-process" && !isBackend(arg))
  if (unknown !== undefined) throw new Error(`unknown backend ${unknown}; known: ${backends.join(", ")}`)
  const [first] = names
  if (args[0] === "--in-process" && first !== undefined) return lookInProcess(first)
  report(names.length === 0 ? backends : names)
}

if (import.meta.main) await main(process.argv.slice(2))

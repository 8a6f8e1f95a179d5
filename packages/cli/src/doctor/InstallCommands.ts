/**
 * The exact commands that install what a backend lacks, on this machine.
 *
 * @internal
 */
import type { Distribution, Machine, PackageManager, Vendor } from "./Machine.ts"

/** Commands in their order, and what the user must know or do where no command does it. */
export interface Remedy {
  readonly why: string
  readonly commands: ReadonlyArray<string>
  readonly advice?: string | undefined
}

type Commands = Omit<Remedy, "why">

/** Both packages fetch or build native code when installed, which some package managers only do when allowed to. */
const adding: Record<PackageManager, (name: string) => string> = {
  npm: (name) => `npm install ${name}`,
  pnpm: (name) => `pnpm add --allow-build=${name} ${name}`,
  yarn: (name) => `yarn add ${name}`,
  bun: (name) => `bun add --trust ${name}`,
  deno: (name) => `deno add npm:${name}`
}

export const npmPackage = (name: string, { packageManager }: Machine): Commands => ({
  commands: [adding[packageManager](name)]
})

type Family = "debian" | "fedora" | "arch" | "alpine"

/** The names of a distribution's packages: for each kind of GPU, and for machines without one. */
interface Packages {
  readonly loader: ReadonlyArray<string>
  /** A driver that computes on the processor. */
  readonly software: string
  readonly of: Partial<Record<Vendor, ReadonlyArray<string>>>
}

/** NVIDIA's libraries on Arch do not include the kernel module. */
const nvidiaModule = "nvidia-open"

/** npm webgpu is built for glibc, which Alpine has not. */
const vulkanPackages: Record<Exclude<Family, "alpine">, Packages> = {
  // Mesa's package has the drivers of AMD and Intel, and one for the processor.
  debian: { loader: ["libvulkan1"], software: "mesa-vulkan-drivers", of: { NVIDIA: ["nvidia-driver"] } },
  fedora: { loader: ["vulkan-loader"], software: "mesa-vulkan-drivers", of: { NVIDIA: ["akmod-nvidia"] } },
  arch: {
    loader: ["vulkan-icd-loader"],
    software: "vulkan-swrast",
    of: { NVIDIA: [nvidiaModule, "nvidia-utils"], AMD: ["vulkan-radeon"], Intel: ["vulkan-intel"] }
  }
}

const openClPackages: Record<Family, Packages> = {
  debian: {
    loader: ["ocl-icd-libopencl1"],
    software: "pocl-opencl-icd",
    of: { NVIDIA: ["nvidia-opencl-icd"], AMD: ["mesa-opencl-icd"], Intel: ["intel-opencl-icd"] }
  },
  fedora: {
    // The package's name differs between releases, but not the name that it provides.
    loader: ["'libOpenCL.so.1()(64bit)'"],
    software: "pocl",
    of: { NVIDIA: ["xorg-x11-drv-nvidia-cuda"], AMD: ["rocm-opencl"], Intel: ["intel-compute-runtime"] }
  },
  arch: {
    loader: ["ocl-icd"],
    software: "pocl",
    of: { NVIDIA: [nvidiaModule, "opencl-nvidia"], AMD: ["rocm-opencl-runtime"], Intel: ["intel-compute-runtime"] }
  },
  alpine: { loader: ["opencl-icd-loader"], software: "mesa-rusticl", of: {} }
}

const familyOf = (distribution: Distribution | undefined): Family | undefined => {
  const ids = distribution?.ids ?? []
  if (ids.includes("debian") || ids.includes("ubuntu")) return "debian"
  if (ids.includes("fedora") || ids.includes("rhel")) return "fedora"
  return ids.includes("arch") ? "arch" : ids.includes("alpine") ? "alpine" : undefined
}

const asRoot = ({ isRoot }: Machine, command: string): string => isRoot ? command : `sudo ${command}`

const installing: Record<Family, (packages: string) => string> = {
  debian: (packages) => `apt-get install --yes ${packages}`,
  fedora: (packages) => `dnf install --assumeyes ${packages}`,
  arch: (packages) => `pacman -S --needed ${packages}`,
  alpine: (packages) => `apk add ${packages}`
}

/** A driver for each GPU of the machine, or one for the processor where it has none. */
const packagesFor = ({ gpus }: Machine, { loader, of, software }: Packages): ReadonlyArray<string> => {
  const ofGpus = gpus.flatMap((vendor) => of[vendor] ?? [])
  return [...loader, ...ofGpus, ...(ofGpus.length < new Set(gpus).size || gpus.length === 0 ? [software] : [])]
}

const isUbuntu = ({ distribution }: Machine): boolean => distribution?.ids.includes("ubuntu") === true

/** The repositories of NVIDIA's packages, and the kernels that they are for. */
const ofNvidia = (machine: Machine, family: Family): string | undefined => {
  if (!machine.gpus.includes("NVIDIA")) return undefined
  if (machine.isContainer) {
    return "In a container NVIDIA's driver comes from the host: start it with --gpus all, or in " +
      "Kubernetes with nvidia.com/gpu among its limits, and with NVIDIA_DRIVER_CAPABILITIES=all."
  }
  switch (family) {
    case "debian":
      return isUbuntu(machine)
        ? undefined
        : "NVIDIA's packages are in the components contrib, non-free and, from Debian 12 on, non-free-firmware."
    case "fedora":
      return "NVIDIA's packages are in RPM Fusion's nonfree repository."
    case "arch":
      return `${nvidiaModule} is for the kernel linux and for GPUs from Turing on; another kernel needs ${nvidiaModule}-dkms.`
    default:
      return undefined
  }
}

/** Mesa's OpenCL driver has no device until the variable RUSTICL_ENABLE names one. */
const ofRusticl = (packages: ReadonlyArray<string>): string | undefined =>
  packages.some((name) => name === "mesa-opencl-icd" || name === "mesa-rusticl")
    ? "If no device is found then, set RUSTICL_ENABLE, to radeonsi for AMD, iris for Intel, llvmpipe for the processor."
    : undefined

/** Rebuilds of RHEL have fewer packages than Fedora. */
const ofRhel = ({ distribution }: Machine, family: Family): string | undefined =>
  family === "fedora" && distribution?.ids[0] !== "fedora" ? "What dnf does not find may be in EPEL." : undefined

const commandsFor = (machine: Machine, family: Family, packages: ReadonlyArray<string>): ReadonlyArray<string> => {
  const free = packages.filter((name) => !name.startsWith("nvidia-"))
  return free.length === packages.length || !isUbuntu(machine)
    ? [asRoot(machine, installing[family](packages.join(" ")))]
    : [
      asRoot(machine, installing[family]([...free, "ubuntu-drivers-common"].join(" "))),
      asRoot(machine, "ubuntu-drivers install")
    ]
}

const onLinux = (machine: Machine, from: Partial<Record<Family, Packages>>, otherwise: string): Commands => {
  const family = familyOf(machine.distribution)
  const known = family && from[family]
  if (family === undefined || known === undefined) return { commands: [], advice: otherwise }
  const packages = packagesFor(machine, known)
  const advice = [ofNvidia(machine, family), ofRusticl(packages), ofRhel(machine, family)].filter((one) =>
    one !== undefined
  )
  return {
    commands: commandsFor(machine, family, packages),
    advice: advice.length === 0 ? undefined : advice.join(" ")
  }
}

/** The oldest Mesa that Dawn accepts, and the releases whose Mesa is older. */
const leastMesa = 23
const olderMesa = { debian: ["10", "11", "12"], ubuntu: ["18.04", "20.04"] }

const isTooOld = ({ distribution }: Machine): boolean => {
  const { ids = [], version = "" } = distribution ?? {}
  return ids[0] === "debian" ? olderMesa.debian.includes(version) : olderMesa.ubuntu.includes(version)
}

/** Debian 12 has a new enough Mesa in its backports; older releases have none. */
const backported = (machine: Machine): Commands | undefined => {
  const { codename, version } = machine.distribution ?? {}
  if (!isTooOld(machine)) return undefined
  if (codename !== "bookworm" || version !== "12") {
    return {
      commands: [],
      advice: `WebGPU needs Mesa ${leastMesa} or newer, and ${machine.system} has an older one: use a newer release.`
    }
  }
  const suite = `${codename}-backports`
  const file = "/etc/apt/sources.list.d/backports.list"
  const source = `deb http://deb.debian.org/debian ${suite} main`
  return {
    commands: [
      ...(machine.hasBackports ? [] : [`echo '${source}' | ${asRoot(machine, `tee ${file}`)}`]),
      asRoot(machine, "apt-get update"),
      asRoot(machine, `apt-get install --yes --target-release ${suite} libvulkan1 mesa-vulkan-drivers`)
    ],
    advice: ofNvidia(machine, "debian")
  }
}

/** A driver for WebGPU. */
export const webGpuDriver = (machine: Machine): Commands => {
  switch (machine.platform) {
    case "linux":
      return backported(machine) ?? onLinux(
        machine,
        vulkanPackages,
        familyOf(machine.distribution) === "alpine"
          ? "npm webgpu is built for glibc, and Alpine has musl: use another distribution, or OpenCL."
          : `Install a Vulkan driver: your GPU's, or Mesa ${leastMesa} or newer.`
      )
    case "darwin":
      return {
        commands: [],
        advice: "macOS brings Metal. npm webgpu 0.6.2 is built for macOS 26: where it does not load, update macOS."
      }
    case "win32":
      return { commands: [], advice: "Install the driver of your GPU's vendor: WebGPU needs one with Direct3D 12." }
    default:
      return { commands: [], advice: "npm webgpu is built for Linux, macOS and Windows." }
  }
}

/** A driver for OpenCL, and the loader. */
export const openClDriver = (machine: Machine): Commands => {
  switch (machine.platform) {
    case "linux":
      return onLinux(
        machine,
        openClPackages,
        "Install an OpenCL loader (libOpenCL.so.1), and your GPU's OpenCL driver or PoCL."
      )
    case "darwin":
      return { commands: [], advice: "macOS brings OpenCL: this library uses it from the system's frameworks." }
    case "win32":
      return {
        commands: ["winget install --id 9NQPSL29BFFF --source msstore"],
        advice: "The driver of your GPU's vendor brings OpenCL; this is Microsoft's, over Direct3D 12."
      }
    default:
      return { commands: [], advice: "Install an OpenCL loader and a driver, such as PoCL." }
  }
}

/** The command that lets the user open the files of GPUs. */
export const access = (machine: Machine): Commands => ({
  commands: [`${asRoot(machine, "usermod --append --groups render,video")} "$USER"`],
  advice: "Then log in again."
})

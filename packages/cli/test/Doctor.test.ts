/** The command's report of this machine, and of machines that tests describe. */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Path from "effect/Path"
import * as PlatformError from "effect/PlatformError"
import { ChildProcessSpawner } from "effect/process/ChildProcessSpawner"
import { readFileSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"
import { commandTests } from "../../../test/support/command.ts"
import { describeWith, openClDriversIn } from "../../../test/support/required.ts"
import { answerOf, type ProbeResult } from "../src/doctor/ChildAnswer.ts"
import { diagnose } from "../src/doctor/Diagnosis.ts"
import type { Distribution, Machine, SystemParts, Vendor } from "../src/doctor/Machine.ts"
import { packageManagerOf, parseRelease, readMachine } from "../src/doctor/ReadMachine.ts"

const { home, run } = commandTests()

interface Report {
  readonly version: number
  readonly works: boolean
  readonly machine: Record<string, unknown>
  readonly backends: ReadonlyArray<{
    readonly backend: string
    readonly works: boolean
    readonly devices: ProbeResult
    readonly why: string | null
    readonly remedies: ReadonlyArray<{ readonly why: string; readonly commands: ReadonlyArray<string> }>
  }>
}

const reported = (stdout: string): Report => JSON.parse(stdout) as Report

/** Loaders that find no driver, whatever this machine has. */
const noDrivers = {
  VK_DRIVER_FILES: "/nowhere/icd.json",
  VK_ICD_FILENAMES: "/nowhere/icd.json",
  ...openClDriversIn("/nowhere")
}

describe("effect-gpu-pool doctor", () => {
  it.concurrent("reports what each backend has, and fails where none for GPUs works", async () => {
    const { code, stderr, stdout } = await run(["doctor", "--json"], noDrivers)
    const { backends, machine, version, works } = reported(stdout)
    deepStrictEqual([version, works, code], [1, false, 2], stderr)
    assert.hasAllKeys(machine, ["system", "platform", "arch", "runtime", "packageManager", "gpus"])
    deepStrictEqual(backends.map((each) => [each.backend, each.works]), [
      ["webgpu", false],
      ["opencl", false],
      ["host", true]
    ])
    for (const { works, why } of backends) strictEqual(why === null, works)
    assert.include(stderr, "No backend for GPUs works")
    assert.notMatch(stderr, /\n +at /)
  })

  it.concurrent("prints a report for people, without colours where no terminal is", async () => {
    const { code, stderr, stdout } = await run(["doctor"], noDrivers)
    strictEqual(code, 2)
    assert.match(stdout, /^webgpu +does not work {2}\S/m)
    assert.match(stdout, /^host +works {2}host:0:0 process memory \(cpu\)$/m)
    assert.notInclude(stdout + stderr, "\u001b[")
  })

  it.concurrent("has colours where they are asked for", async () => {
    const { stdout } = await run(["doctor"], { ...noDrivers, FORCE_COLOR: "1" })
    assert.include(stdout, "\u001b[32mworks\u001b[39m")
  })

  it.concurrent("outlives a driver that crashes, and reports what it did", async () => {
    const crashing = join(home, "crashing.mjs")
    writeFileSync(
      crashing,
      `const write = process.stdout.write.bind(process.stdout)
      process.stdout.write = (text, ...rest) => {
        write(text, ...rest)
        if (process.argv[1].includes("probeDevices") && String(text).includes("used host:0:0")) process.kill(process.pid, "SIGKILL")
      }`
    )
    const { NODE_OPTIONS = "" } = process.env
    const { code, stdout } = await run(["doctor", "--json"], {
      ...noDrivers,
      NODE_OPTIONS: `${NODE_OPTIONS} --import=${new URL(`file://${crashing}`).href}`
    })
    strictEqual(code, 2)
    const host = reported(stdout).backends.find(({ backend }) => backend === "host")
    deepStrictEqual([host?.works, host?.devices], [false, []])
    assert.match(host?.why ?? "", /ended the process.*SIGKILL.*, while it used host:0:0 process memory/)
  })
})

describeWith(["webgpu", "opencl"], "effect-gpu-pool doctor with drivers", () => {
  it("computes on their devices", async () => {
    const { code, stderr, stdout } = await run(["doctor", "--json"])
    strictEqual(code, 0, stderr)
    const { backends, works } = reported(stdout)
    strictEqual(works, true)
    deepStrictEqual(backends.filter(({ works }) => !works), [])
    for (const { devices } of backends) assert.isNotEmpty(devices.filter(({ why }) => why === null))
  })
})

const distribution = (
  id: string,
  version?: string,
  codename?: string,
  ...like: ReadonlyArray<string>
): Distribution => ({
  name: `${id} ${version}`,
  ids: [id, ...like],
  version,
  codename
})

const nothing: SystemParts = { loader: undefined, drivers: [], places: ["/etc/drivers"], variable: undefined }
const loaderOnly: SystemParts = { ...nothing, loader: "/usr/lib/loader.so" }
const complete: SystemParts = { ...loaderOnly, drivers: ["/etc/drivers/one.json", "/etc/drivers/two.json"] }

const machine = (own: Partial<Machine>): Machine => ({
  platform: "linux",
  arch: "x64",
  system: own.distribution?.name ?? "a system",
  runtime: "Node 24",
  canDetach: true,
  distribution: undefined,
  isRoot: false,
  isContainer: false,
  hasBackports: false,
  packageManager: "npm",
  gpus: [],
  denied: [],
  vulkan: nothing,
  openCl: nothing,
  packages: { webgpu: "/node_modules/webgpu", koffi: "/node_modules/koffi" },
  ...own
})

const noDevice: ProbeResult = [{ selector: "x", name: "", type: null, driver: "", why: "it finds none" }]
const working = (type: string): ProbeResult => [{ selector: "x:0:0", name: "device", type, driver: "", why: null }]

const commandsFor = (backend: string, own: Partial<Machine>, tried: ProbeResult | string = noDevice) =>
  diagnose(backend, machine(own), tried).remedies.flatMap(({ commands }) => commands)

const adviceFor = (backend: string, own: Partial<Machine>) =>
  diagnose(backend, machine(own), noDevice).remedies.map(({ advice }) => advice).join()

const debian12 = distribution("debian", "12", "bookworm")
const debian13 = distribution("debian", "13", "trixie")
const ubuntu = distribution("ubuntu", "24.04", "noble", "debian")
const fedora = distribution("fedora", "42")
const arch = distribution("arch")

const gpus = (...gpus: ReadonlyArray<Vendor>) => ({ gpus })

describe("what doctor says to install", () => {
  it.each<[string, Partial<Machine>, webgpu: ReadonlyArray<string>, opencl: ReadonlyArray<string>]>([
    [
      "Debian 13",
      { distribution: debian13 },
      ["sudo apt-get install --yes libvulkan1 mesa-vulkan-drivers"],
      ["sudo apt-get install --yes ocl-icd-libopencl1 pocl-opencl-icd"]
    ],
    [
      "Debian 12, whose own Mesa is too old, as root",
      { distribution: debian12, isRoot: true },
      [
        "echo 'deb http://deb.debian.org/debian bookworm-backports main' | tee /etc/apt/sources.list.d/backports.list",
        "apt-get update",
        "apt-get install --yes --target-release bookworm-backports libvulkan1 mesa-vulkan-drivers"
      ],
      ["apt-get install --yes ocl-icd-libopencl1 pocl-opencl-icd"]
    ],
    [
      "Debian 12 with backports",
      { distribution: debian12, hasBackports: true },
      [
        "sudo apt-get update",
        "sudo apt-get install --yes --target-release bookworm-backports libvulkan1 mesa-vulkan-drivers"
      ],
      ["sudo apt-get install --yes ocl-icd-libopencl1 pocl-opencl-icd"]
    ],
    ["Debian 11, which has no new enough Mesa", { distribution: distribution("debian", "11", "bullseye") }, [], [
      "sudo apt-get install --yes ocl-icd-libopencl1 pocl-opencl-icd"
    ]],
    [
      "Ubuntu with an NVIDIA GPU",
      { distribution: ubuntu, ...gpus("NVIDIA") },
      ["sudo apt-get install --yes libvulkan1 ubuntu-drivers-common", "sudo ubuntu-drivers install"],
      ["sudo apt-get install --yes ocl-icd-libopencl1 ubuntu-drivers-common", "sudo ubuntu-drivers install"]
    ],
    [
      "Debian with GPUs of AMD and NVIDIA",
      { distribution: debian13, ...gpus("AMD", "NVIDIA") },
      ["sudo apt-get install --yes libvulkan1 nvidia-driver mesa-vulkan-drivers"],
      ["sudo apt-get install --yes ocl-icd-libopencl1 mesa-opencl-icd nvidia-opencl-icd"]
    ],
    [
      "Alpine, which has no glibc",
      { distribution: distribution("alpine", "3.24"), isRoot: true },
      [],
      ["apk add opencl-icd-loader mesa-rusticl"]
    ],
    [
      "Arch with an NVIDIA GPU",
      { distribution: arch, ...gpus("NVIDIA") },
      ["sudo pacman -S --needed vulkan-icd-loader nvidia-open nvidia-utils"],
      ["sudo pacman -S --needed ocl-icd nvidia-open opencl-nvidia"]
    ],
    [
      "Fedora with an AMD GPU",
      { distribution: fedora, ...gpus("AMD") },
      ["sudo dnf install --assumeyes vulkan-loader mesa-vulkan-drivers"],
      ["sudo dnf install --assumeyes 'libOpenCL.so.1()(64bit)' rocm-opencl"]
    ],
    [
      "Arch with an Intel GPU",
      { distribution: arch, ...gpus("Intel") },
      ["sudo pacman -S --needed vulkan-icd-loader vulkan-intel"],
      ["sudo pacman -S --needed ocl-icd intel-compute-runtime"]
    ],
    [
      "Arch without a GPU",
      { distribution: arch },
      ["sudo pacman -S --needed vulkan-icd-loader vulkan-swrast"],
      ["sudo pacman -S --needed ocl-icd pocl"]
    ],
    ["a distribution that it does not know", { distribution: distribution("nixos") }, [], []],
    ["macOS", { platform: "darwin", vulkan: undefined, openCl: undefined }, [], []],
    ["Windows", { platform: "win32", vulkan: undefined, openCl: undefined }, [], [
      "winget install --id 9NQPSL29BFFF --source msstore"
    ]]
  ])("on %s", (_, own, webgpu, opencl) => {
    deepStrictEqual(commandsFor("webgpu", own), webgpu)
    deepStrictEqual(commandsFor("opencl", own), opencl)
    for (const backend of ["webgpu", "opencl"]) {
      assert.isTrue(commandsFor(backend, own).length > 0 || adviceFor(backend, own).length > 10, backend)
    }
  })

  it.each<[string, Partial<Machine>, says: RegExp]>([
    ["Debian", { distribution: debian13, ...gpus("NVIDIA") }, /contrib, non-free .*non-free-firmware/],
    ["Debian", { distribution: debian13, ...gpus("AMD") }, /RUSTICL_ENABLE, to radeonsi/],
    [
      "Fedora",
      { distribution: fedora, ...gpus("NVIDIA") },
      /^NVIDIA's packages are in RPM Fusion's nonfree repository\.$/
    ],
    ["Rocky", { distribution: distribution("rocky", "9", undefined, "rhel", "centos", "fedora") }, /^What .* EPEL\.$/],
    ["Arch", { distribution: arch, ...gpus("NVIDIA") }, /another kernel needs nvidia-open-dkms/],
    ["Alpine", { distribution: distribution("alpine", "3.24") }, /RUSTICL_ENABLE.*llvmpipe for the processor/],
    ["a container", { distribution: arch, isContainer: true, ...gpus("NVIDIA") }, /comes from the host/],
    ["Fedora", { distribution: fedora, ...gpus("AMD") }, /^$/]
  ])("says what to know of %s", (_, own, says) => {
    assert.match(adviceFor("opencl", own), says)
  })

  it("is what npm run drivers installs", () => {
    const script = readFileSync(join(import.meta.dirname, "../../../scripts/drivers.sh"), "utf8")
    const packages = [
      ...commandsFor("webgpu", { distribution: debian13 }),
      ...commandsFor("opencl", { distribution: debian13 })
    ]
      .flatMap((command) => command.replace("sudo apt-get install --yes ", "").split(" "))
    strictEqual(packages.length, 4)
    for (const name of packages) assert.match(script, new RegExp(`(?:ensure_package |package=|installed )${name}\\b`))
    const least = /minimum_mesa=(\d+)/.exec(script)?.[1]
    assert.include(
      adviceFor("webgpu", { distribution: distribution("debian", "11", "bullseye") }),
      `Mesa ${least} or newer`
    )
  })

  it.each(
    [
      ["npm", "npm install koffi"],
      ["pnpm", "pnpm add --allow-build=koffi koffi"],
      ["yarn", "yarn add koffi"],
      ["bun", "bun add --trust koffi"],
      ["deno", "deno add npm:koffi"]
    ] as const
  )("names the package and everything else that is missing, with %s", (packageManager, command) => {
    const own = { distribution: arch, packageManager, packages: {} }
    deepStrictEqual(commandsFor("opencl", own), [command, "sudo pacman -S --needed ocl-icd pocl"])
  })

  it.each([{}, { packages: {} }, { openCl: complete }, { openCl: complete, packages: {} }])(
    "names nothing to install for a runtime that is too old, with %j",
    (own) => {
      const { parts, remedies } = diagnose(
        "opencl",
        machine({ ...own, runtime: "Node 20.20.2", canDetach: false }),
        noDevice
      )
      deepStrictEqual(remedies, [{
        why: "Node 20.20.2 is too old for OpenCL: use Node 22.19 or newer, and run doctor with that",
        commands: []
      }])
      deepStrictEqual(parts[0], {
        name: "a newer runtime",
        found: false,
        detail: "Node 20.20.2: it has no ArrayBuffer.prototype.transfer"
      })
      const webGpu = diagnose("webgpu", machine({ packages: {}, vulkan: complete, canDetach: false }), noDevice)
      deepStrictEqual(webGpu.remedies.flatMap(({ commands }) => commands), ["npm install webgpu"])
    }
  )

  it("names the package alone where the rest is there", () => {
    deepStrictEqual(commandsFor("webgpu", { packages: {}, vulkan: complete }), ["npm install webgpu"])
  })

  it("says who may use a GPU", () => {
    const own = { distribution: fedora, openCl: complete, denied: ["/dev/dri/renderD128"], gpus: ["Intel" as const] }
    const command = `sudo usermod --append --groups render,video "$USER"`
    deepStrictEqual(commandsFor("opencl", own), [command])
    deepStrictEqual(commandsFor("opencl", own, working("cpu")), [command])
    deepStrictEqual(commandsFor("opencl", own, working("gpu")), [])
  })

  it("names a driver for a GPU that only the processor stands in for", () => {
    const own = { distribution: arch, vulkan: complete, gpus: ["AMD" as const] }
    deepStrictEqual(commandsFor("webgpu", own, working("cpu")), [
      "sudo pacman -S --needed vulkan-icd-loader vulkan-radeon"
    ])
    deepStrictEqual(commandsFor("webgpu", { ...own, gpus: [] }, working("cpu")), [])
  })

  it("tries drivers one by one after a crash", () => {
    deepStrictEqual(commandsFor("webgpu", { vulkan: complete }, "its driver ended the process"), [
      "VK_DRIVER_FILES=/etc/drivers/one.json npx @effect-gpu-pool/cli devices --select webgpu --verbose",
      "VK_DRIVER_FILES=/etc/drivers/two.json npx @effect-gpu-pool/cli devices --select webgpu --verbose"
    ])
  })

  it("has a folder for one OpenCL driver, which every loader takes", () => {
    const [first] = commandsFor("opencl", { openCl: complete }, "its driver ended the process")
    strictEqual(
      first,
      "folder=$(mktemp -d) && cp /etc/drivers/one.json $folder && OCL_ICD_VENDORS=$folder " +
        "npx @effect-gpu-pool/cli devices --select opencl --verbose"
    )
  })

  it("names the version of npm webgpu that is tested here", () => {
    const { devDependencies } = createRequire(import.meta.url)("../../../package.json") as {
      readonly devDependencies: { readonly webgpu: string }
    }
    const own = { platform: "darwin", vulkan: undefined, openCl: undefined }
    assert.include(adviceFor("webgpu", own), `npm webgpu ${devDependencies.webgpu} is built for macOS`)
  })

  it("names the variable that hides the drivers", () => {
    deepStrictEqual(commandsFor("webgpu", { vulkan: { ...loaderOnly, variable: "VK_DRIVER_FILES" } }), [
      "unset VK_DRIVER_FILES"
    ])
  })
})

const missing = (path: string) =>
  Effect.fail(
    PlatformError.systemError({ _tag: "NotFound", module: "FileSystem", method: "open", pathOrDescriptor: path })
  )

/** A machine with only these files; the user may not open one whose content begins with "denied". */
const withFiles = (files: Readonly<Record<string, string>>) => {
  const names = Object.keys(files)
  return Layer.mergeAll(
    Path.layer,
    FileSystem.layerNoop({
      exists: (path) => Effect.succeed(names.some((name) => name === path || name.startsWith(`${path}/`))),
      access: (path) => files[path]?.startsWith("denied") === false ? Effect.void : missing(path),
      readFileString: (path) => files[path] === undefined ? missing(path) : Effect.succeed(files[path]),
      readDirectory: (path) =>
        Effect.succeed([
          ...new Set(
            names.filter((name) => name.startsWith(`${path}/`)).map((name) =>
              name.slice(path.length + 1).split("/")[0]!
            )
          )
        ])
    }),
    Layer.mock(ChildProcessSpawner, {
      string: () => Effect.succeed("\tlibOpenCL.so.1 (libc6,x86-64) => /usr/lib/x86_64-linux-gnu/libOpenCL.so.1\n")
    })
  )
}

const found = (agent: string | undefined, files: Readonly<Record<string, string>>) =>
  Effect.provide(packageManagerOf("/project/src", agent), withFiles(files))

describe("how doctor reads a machine", () => {
  it("reads releases", () => {
    const text =
      `PRETTY_NAME="Linux Mint 22"\nID=linuxmint\nID_LIKE='ubuntu debian'\nVERSION_ID="22"\nUBUNTU_CODENAME=noble\n`
    deepStrictEqual(parseRelease(text), {
      name: "Linux Mint 22",
      ids: ["linuxmint", "ubuntu", "debian"],
      version: "22",
      codename: "noble"
    })
    strictEqual(parseRelease(""), undefined)
  })

  it.effect("finds the package manager of the project around, else the one that runs", () =>
    Effect.gen(function*() {
      strictEqual(yield* found("bun/1.3.0 npm/? node/v24", {}), "bun")
      strictEqual(yield* found(undefined, {}), "npm")
      strictEqual(yield* found("npm/11.0.0", { "/project/pnpm-lock.yaml": "" }), "pnpm")
    }))

  it.effect.runIf(process.platform === "linux")(
    "finds GPUs, drivers and sources of packages by their files",
    () =>
      Effect.gen(function*() {
        const { denied, distribution, gpus, hasBackports, isContainer, openCl, vulkan } = yield* readMachine
        deepStrictEqual([distribution?.version, hasBackports, isContainer], ["12", true, true])
        deepStrictEqual(gpus, ["NVIDIA", "another vendor"])
        deepStrictEqual(denied, ["/dev/dri/renderD129"])
        strictEqual(vulkan?.loader, "/usr/lib64/libvulkan.so.1")
        strictEqual(openCl?.loader, "/usr/lib/x86_64-linux-gnu/libOpenCL.so.1")
      }).pipe(Effect.provide(withFiles({
        "/.dockerenv": "",
        "/etc/os-release": "ID=debian\nVERSION_ID=\"12\"\nVERSION_CODENAME=bookworm\n",
        "/etc/apt/sources.list": "# deb http://deb.debian.org/debian bookworm-backports main\n",
        "/etc/apt/sources.list.d/more.list": "deb http://deb.debian.org/debian bookworm-backports main\n",
        "/sys/bus/pci/devices/0000:00:01.0/class": "0x020000\n",
        "/sys/bus/pci/devices/0000:00:01.0/vendor": "0x8086\n",
        "/sys/bus/pci/devices/0000:01:00.0/class": "0x030200\n",
        "/sys/bus/pci/devices/0000:01:00.0/vendor": "0x10de\n",
        "/sys/bus/pci/devices/0000:02:00.0/class": "0x030000\n",
        "/sys/bus/pci/devices/0000:02:00.0/vendor": "0x1af4\n",
        "/dev/dri/card0": "denied",
        "/dev/dri/renderD128": "",
        "/dev/dri/renderD129": "denied",
        "/usr/lib64/libvulkan.so.1": ""
      })))
  )

  it.each([
    [{ code: null, signal: "SIGSEGV" }, "SIGSEGV"],
    [{ code: 0xc0000005, signal: null }, "exit code 0xC0000005"],
    [{ code: 134, signal: null }, "exit code 134"],
    [{ code: null, signal: null, problem: "spawn ENOENT" }, "spawn ENOENT"]
  ])("reports how a child ended: %o", (ended, shown) => {
    const stdout = `effect-gpu-pool:answer {"ans`
    deepStrictEqual(answerOf({ stdout, stderr: "first\nlast\n", ...ended }), {
      why: `its driver ended the process that looked at it (${shown}): last`
    })
  })
})

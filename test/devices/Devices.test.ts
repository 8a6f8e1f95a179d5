import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import { BufferPool, CommandQueue, DeviceContext, type GpuError } from "effect-gpu-pool"
import type { Backend } from "effect-gpu-pool/backend"
import { Devices, DeviceSelector, type ListedDevice } from "effect-gpu-pool/devices"
import { Host } from "effect-gpu-pool/host"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as PlatformError from "effect/PlatformError"
import * as fc from "fast-check"
import { execFileSync } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { runs } from "../support/explore.ts"
import { type FakeDevice, onMachine, Watch } from "../support/fakeDevices.ts"
import { describeWith } from "../support/required.ts"

const open = <E>(layer: Layer.Layer<Devices.Services, E>) => Effect.scoped(Layer.build(layer))

const unavailable = <A, R>(effect: Effect.Effect<A, GpuError.GpuError, R>) =>
  Effect.map(Effect.flip(effect), ({ message, reason }) => {
    assert(reason._tag === "DeviceUnavailable", message)
    return reason
  })

const refused = <A, R>(effect: Effect.Effect<A, GpuError.GpuError, R>) =>
  Effect.map(Effect.flip(effect), ({ message, reason }) => {
    assert(reason._tag === "InvalidRequest", message)
    return reason
  })

const machine = {
  webgpu: { Dawn: [{ name: "fast" }, { name: "lavapipe", type: "cpu" }] },
  opencl: {
    "NVIDIA CUDA": [{ name: "RTX 3090" }, { name: "GTX 1080" }],
    "Portable Computing Language": [{ name: "cpu-i7", type: "cpu" }]
  },
  host: { JavaScript: [{ name: "process memory", type: "cpu" }] }
} as const

/** Runs a program on that machine with one more backend. */
const among = (mine: Backend.Backend) => <A, E, R>(program: Effect.Effect<A, E, R>) =>
  onMachine(machine)(
    Effect.flatMap(Devices.Backends, (all) => Effect.provideService(program, Devices.Backends, [...all, mine]))
  )

describe("listing", () => {
  it.effect("has what each backend has, and why one that cannot be loaded has nothing", () =>
    Effect.gen(function*() {
      const listed = yield* onMachine({ opencl: machine.opencl, host: machine.host })(Devices.list)
      deepStrictEqual(listed.map(({ backend, device, unusable }) => [backend, device?.name, unusable]), [
        ["webgpu", undefined, "npm webgpu: it is not installed"],
        ["opencl", "RTX 3090", undefined],
        ["opencl", "GTX 1080", undefined],
        ["opencl", "cpu-i7", undefined],
        ["host", "process memory", undefined]
      ])
    }))

  it.effect("selects all that fit, each once, in the order of the selection", () =>
    Effect.gen(function*() {
      const devices = yield* onMachine(machine)(Devices.select("opencl:portable;opencl:*:0;webgpu"))
      deepStrictEqual(devices.map(({ device }) => device?.name), ["cpu-i7", "RTX 3090", "fast", "lavapipe"])
    }))

  it.effect("loads no driver of a backend that the selection does not name", () =>
    Effect.gen(function*() {
      const watch = new Watch()
      const here = onMachine(machine, watch)
      const use = Effect.provide(DeviceContext.DeviceContext, Devices.layer("host;opencl:9"))
      yield* here(Effect.andThen(Devices.select("host"), use))
      deepStrictEqual(watch.listed, ["host", "opencl", "host"])
      yield* here(Devices.list)
      strictEqual(watch.listed.length, 6)
    }))

  it.effect("fails for each part of a selection that fits nothing, with all of them", () =>
    Effect.gen(function*() {
      const { hint, tried } = yield* unavailable(onMachine(machine)(Devices.select("opencl:0:0,7;host:nobody;webgpu")))
      deepStrictEqual(tried.map(({ backend, device }) => [backend, device]), [["opencl", "0:7"], ["host", "nobody"]])
      assert.match(hint, /@effect-gpu-pool\/cli devices/)
      const { operation, position } = yield* refused(onMachine(machine)(Devices.select("host;metal")))
      deepStrictEqual([operation, position], ["Devices.select", 5])
    }))
})

describe("opening", () => {
  it.effect("takes the first of a selection that opens, and leaves nothing of those that did not", () =>
    Effect.gen(function*() {
      const watch = new Watch()
      const broken = { ...machine, webgpu: { Dawn: [{ name: "fast", broken: "out of ids" }] } }
      yield* onMachine(broken, watch)(Effect.scoped(Effect.gen(function*() {
        yield* Layer.build(Devices.layer("webgpu;opencl:5;opencl:portable;host"))
        deepStrictEqual(watch.tried, ["webgpu:0:0", "opencl:1:0"])
        deepStrictEqual([...watch.open], ["opencl:1:0"])
      })))
      strictEqual(watch.open.size, 0)
    }))

  it.effect("fails with all that was tried, and says what was selected", () =>
    Effect.gen(function*() {
      const watch = new Watch()
      const broken = { ...machine, webgpu: { Dawn: [{ name: "fast", broken: "out of ids" }] } }
      const { hint, tried } = yield* unavailable(onMachine(broken, watch)(open(Devices.layer("webgpu;opencl:5"))))
      deepStrictEqual(tried.map(({ device, why }) => [device, why]), [
        ["0:0 fast", "webgpu:0:0: out of ids"],
        ["5", `no such platform; there are platforms 0 "NVIDIA CUDA", 1 "Portable Computing Language"`]
      ])
      assert.include(hint, `"webgpu;opencl:5", from code`)
      strictEqual(watch.open.size, 0)
    }))

  it.effect("refuses a text that is no selection", () =>
    Effect.gen(function*() {
      const { operation } = yield* refused(open(Devices.layer("vulkan:0")))
      strictEqual(operation, "Devices.layer")
    }))

  it.effect("says of a backend that is not there that it has no device", () =>
    onMachine(machine)(Effect.gen(function*() {
      const { tried } = yield* unavailable(Devices.select([{ backend: "cuda", platform: undefined, devices: [0] }]))
      deepStrictEqual(tried, [{ backend: "cuda", device: "*:0", why: "this machine has no cuda platform" }])
    })))

  describe("a backend from elsewhere", () => {
    const listed: ListedDevice.ListedDevice = {
      backend: "workers",
      platform: { index: 0, name: "threads", vendor: "elsewhere" },
      device: { index: 0, name: "four threads", vendor: "elsewhere" },
      type: "cpu",
      driver: "1.0",
      memoryBytes: undefined,
      unusable: undefined
    }
    const workers = (rank?: number): Backend.Backend => ({
      name: "workers",
      list: Effect.succeed([listed]),
      rank: () => rank,
      open: () => Host.layer({ capacityBytes: 4096 })
    })
    const memory = DeviceContext.info.pipe(Effect.map(({ limits }) => limits.memoryBytes))

    it.effect("is listed and named as the others are", () =>
      among(workers())(Effect.gen(function*() {
        deepStrictEqual((yield* Devices.list).at(-1), listed)
        for (const selector of ["workers", "WORKERS:threads", "workers:0:four", DeviceSelector.of(listed)]) {
          deepStrictEqual(yield* Devices.select(selector), [listed])
        }
        strictEqual(yield* Effect.provide(memory, Devices.layer("workers")), 4096)
        const { hint } = yield* refused(Devices.select("wrkers"))
        assert.include(hint, "where backend is webgpu, opencl, host or workers")
        const { devices } = yield* Devices.forTests({ selector: "workers" })
        deepStrictEqual(devices.map(({ name }) => name), ["workers:0:0 four threads"])
      })))

    it.effect("is chosen by the environment", () =>
      among(workers())(
        Effect.provide(
          Effect.map(Devices.selectDefault(), (chosen) => strictEqual(chosen, listed)),
          ConfigProvider.layer(ConfigProvider.fromUnknown({ GPU_POOL_DEVICE: "workers" }))
        )
      ))

    it.effect.each([[-1, "workers"], [0.5, "webgpu"], [undefined, "webgpu"]] as const)(
      "is tried at its rank %s where nobody chose",
      ([rank, first]) =>
        among(workers(rank))(
          Effect.provide(
            Effect.map(Devices.selectDefault({ home: "" }), ({ backend }) => strictEqual(backend, first)),
            ConfigProvider.layer(ConfigProvider.fromUnknown({}))
          )
        )
    )

    it.effect("is no word of this package's selections", () =>
      Effect.map(
        refused(Devices.select("workers")),
        ({ problem }) => assert.include(problem, `"workers" is no backend`)
      ))
  })

  const kinds: ReadonlyArray<readonly [backend: "webgpu" | "opencl", FakeDevice["type"]]> = [
    ["webgpu", "gpu"],
    ["opencl", "gpu"],
    ["opencl", "cpu"],
    ["webgpu", "cpu"]
  ]

  it.effect("takes, when nobody chose, hardware before software, WebGPU before OpenCL, and never the host", () =>
    Effect.promise(() =>
      fc.assert(fc.asyncProperty(fc.shuffledSubarray([...kinds.keys()]), fc.nat(4), (there, broken) => {
        const devicesOf = (name: string) =>
          there.filter((kind) => kinds[kind]![0] === name).map((kind): FakeDevice => ({
            name: `kind ${kind}`,
            type: kinds[kind]![1],
            broken: kind < broken ? "it is broken" : undefined
          }))
        const watch = new Watch()
        const some = { ...machine, webgpu: { Dawn: devicesOf("webgpu") }, opencl: { Any: devicesOf("opencl") } }
        const inOrder = [...there].sort()
        const firstThatWorks = inOrder.find((kind) => kind >= broken)
        return Effect.runPromise(
          onMachine(some, watch)(
            Effect.gen(function*() {
              const exit = yield* Effect.result(open(Devices.layerDefault({ home: "/nowhere" })))
              strictEqual(exit._tag, firstThatWorks === undefined ? "Failure" : "Success")
              strictEqual(
                watch.tried.length,
                inOrder.filter((kind) => kind < broken).length + (exit._tag === "Success" ? 1 : 0)
              )
              assert.isFalse(watch.tried.includes("host:0:0"))
              if (exit._tag === "Failure") assert.include(exit.failure.message, "GPU_POOL_DEVICE=host")
            }).pipe(Effect.provide(ConfigProvider.layer(ConfigProvider.fromUnknown({}))))
          )
        )
      }))
    ))
})

// Every place that can name a device, in order of precedence, with a text for it and what that means.
const places = [
  { at: "code", text: "host:0:0", means: "host:0:0" },
  { at: "GPU_POOL_DEVICE", text: "webgpu::laVApipe", means: "webgpu:*:laVApipe" },
  { at: ".gpu-pool-device", text: "opencl:1\r\nand notes", means: "opencl:1" },
  { at: "PYOPENCL_TEST", text: "0:1,0;1", means: "opencl:0:1" },
  { at: "PYOPENCL_CTX", text: "portable:0", means: "opencl:portable:0" },
  { at: "CUDA_DEVICE", text: "1", means: "opencl:nvidia:1" },
  { at: ".cuda-device", text: " 0 \n", means: "opencl:nvidia:0" },
  { at: ".cuda_device", text: "1\n", means: "opencl:nvidia:1" }
] as const

const home = "/home/somebody"

const notFound = (path: string) =>
  PlatformError.systemError({
    _tag: "NotFound",
    module: "FileSystem",
    method: "readFileString",
    pathOrDescriptor: path
  })

const isFile = (at: string) => at.startsWith(".")

/** An environment and a home directory in which only these places have a text. */
const withTexts = (texts: ReadonlyMap<string, string>) => {
  const variables = Object.fromEntries([...texts].filter(([at]) => !isFile(at)))
  const files = FileSystem.layerNoop({
    readFileString: (path) => {
      const text = texts.get(path.slice(home.length + 1))
      return text === undefined ? Effect.fail(notFound(path)) : Effect.succeed(text)
    }
  })
  const layer = Layer.merge(files, ConfigProvider.layer(ConfigProvider.fromUnknown(variables)))
  return <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E> => Effect.provide(effect, layer)
}

const optionsOf = (texts: ReadonlyMap<string, string>): Devices.DefaultOptions => ({
  home,
  selector: texts.get("code")
})

/** PyCUDA's default: the device number that the program passes, used if no place names a device. */
const withDefault = (texts: ReadonlyMap<string, string>, number: number): Devices.ChoiceOptions => ({
  ...optionsOf(texts),
  default: `opencl:nvidia:${number}`
})

const inFolder = <A, E>(use: (folder: string) => Effect.Effect<A, E>) =>
  Effect.acquireUseRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "effect-gpu-pool-"))),
    use,
    (folder) => Effect.sync(() => rmSync(folder, { recursive: true }))
  ).pipe(Effect.provide(ConfigProvider.layer(ConfigProvider.fromUnknown({}))))

type Choosing = ReturnType<typeof Devices.choice>

const fileSystems = [
  {
    title: "with a file system",
    brought: (choosing: Choosing): Choosing => Effect.provide(choosing, NodeServices.layer)
  },
  { title: "without one", brought: (choosing: Choosing): Choosing => choosing }
]

describe("who chooses", () => {
  it("is the first place that says something, whichever others do", async () => {
    const placesWithText = fc.subarray([...places])
    const empty = fc.constantFrom("", "  ", "\n")
    await fc.assert(
      fc.asyncProperty(placesWithText, fc.boolean(), empty, (saying, hasNvidia, empty) => {
        const texts = new Map<string, string>(saying.map(({ at, text }) => [at, text]))
        for (const { at } of places) if (!texts.has(at) && at !== "code") texts.set(at, empty)
        const here = hasNvidia ? machine : { ...machine, opencl: { Portable: [{ name: "cpu" }] } }
        const [expected] = saying
        return Effect.runPromise(
          onMachine(here)(
            withTexts(texts)(Effect.gen(function*() {
              const { selector, source } = yield* Devices.choice(optionsOf(texts))
              strictEqual(source.replace(`${home}/`, ""), expected?.at ?? "default")
              strictEqual(selector && DeviceSelector.format(selector), expected?.means)
            }))
          )
        )
      }),
      { numRuns: runs(300) }
    )
  })

  it.effect.each(places)(
    "$at opens its device, and says so when that fails",
    ({ at, means, text }) =>
      Effect.gen(function*() {
        const texts = new Map<string, string>([[at, text]])
        const watch = new Watch()
        yield* onMachine(machine, watch)(withTexts(texts)(open(Devices.layerDefault(optionsOf(texts)))))
        const [wanted] = yield* onMachine(machine)(
          Devices.select(yield* Effect.fromResult(DeviceSelector.parse(means)))
        )
        deepStrictEqual(watch.tried, [DeviceSelector.format(DeviceSelector.of(wanted!))])
        const nothing = { opencl: { "NVIDIA CUDA": [] } }
        const error = yield* Effect.flip(
          onMachine(nothing)(withTexts(texts)(open(Devices.layerDefault(optionsOf(texts)))))
        )
        assert.include(error.message, `from ${at.startsWith(".") ? `${home}/${at}` : at}`)
      })
  )

  it.effect.each(places.filter(({ means }) => means.startsWith("opencl")))(
    "$at never stands for another device, where the machine has no such platform",
    ({ at, means, text }) =>
      Effect.gen(function*() {
        const texts = new Map<string, string>([[at, text]])
        const options = { ...optionsOf(texts), default: "host" }
        const watch = new Watch()
        const opening = onMachine({ host: machine.host }, watch)(withTexts(texts)(open(Devices.layerDefault(options))))
        const { hint, tried } = yield* unavailable(opening)
        assert.include(hint, `"${means}", from ${isFile(at) ? `${home}/${at}` : at}`)
        deepStrictEqual([tried.length, watch.tried], [1, []])
        yield* unavailable(onMachine({ host: machine.host })(withTexts(texts)(Devices.selectDefault(options))))
      })
  )

  it.effect.each(places.filter(({ at }) => at !== "code"))(
    "$at is named by the error of a text that cannot be read",
    ({ at }) =>
      Effect.gen(function*() {
        const texts = new Map<string, string>([[at, "host:1:2:3:4"]])
        const { operation, position } = yield* refused(
          onMachine(machine)(withTexts(texts)(Devices.choice(optionsOf(texts))))
        )
        strictEqual(operation, at.startsWith(".") ? `${home}/${at}` : at)
        assert.isNumber(position)
      })
  )

  it.effect("reads no later place than it needs to, so that a mistake there is nobody's", () =>
    Effect.gen(function*() {
      const texts = new Map([["GPU_POOL_DEVICE", "host"], ["PYOPENCL_TEST", "0:1:2"], [".cuda-device", "x"]])
      const { source } = yield* onMachine(machine)(withTexts(texts)(Devices.choice(optionsOf(texts))))
      strictEqual(source, "GPU_POOL_DEVICE")
    }))

  it.effect("reads files from the disk where a program brings no file system", () =>
    inFolder((folder) =>
      Effect.gen(function*() {
        strictEqual((yield* Devices.choice({ home: folder })).source, "default")
        writeFileSync(join(folder, ".gpu-pool-device"), "\uFEFFhost:*:process\nopencl\n")
        const { selector, source } = yield* Devices.choice({ home: folder })
        deepStrictEqual([source, selector && DeviceSelector.format(selector)], [
          join(folder, ".gpu-pool-device"),
          "host:*:process"
        ])
      })
    ))

  it.effect("finds no files below what is no folder, with a file system or without", () =>
    inFolder((folder) =>
      Effect.gen(function*() {
        const home = join(folder, "null")
        writeFileSync(home, "")
        strictEqual((yield* Devices.choice({ home })).source, "default")
        const files = Effect.provide(Devices.choice({ home }), NodeServices.layer)
        strictEqual((yield* files).source, "default")
      })
    ))

  it.effect("fails for a file that is there and cannot be read", () =>
    inFolder((folder) =>
      Effect.gen(function*() {
        mkdirSync(join(folder, ".gpu-pool-device"))
        const { operation, problem } = yield* refused(Devices.choice({ home: folder }))
        strictEqual(operation, join(folder, ".gpu-pool-device"))
        assert.match(problem, /cannot be read: it is no regular file/)
      })
    ))

  it.effect.each(fileSystems)(
    "does not wait for the writer of a pipe $title",
    ({ brought }) =>
      inFolder((folder) =>
        Effect.gen(function*() {
          const pipe = join(folder, ".gpu-pool-device")
          execFileSync("mkfifo", [pipe])
          const { operation, problem } = yield* refused(brought(Devices.choice({ home: folder })))
          strictEqual(operation, pipe)
          assert.match(problem, /no regular file/)
        })
      )
  )

  it.effect.each(fileSystems)(
    "reads no more of a large file than its beginning, and shows none of it, $title",
    ({ brought }) =>
      inFolder((folder) =>
        Effect.gen(function*() {
          const file = join(folder, ".gpu-pool-device")
          writeFileSync(file, "opencl".repeat(100))
          truncateSync(file, 100_000_000)
          const error = yield* Effect.flip(brought(Devices.choice({ home: folder })))
          assert.match(error.message, /more than 65536 bytes/)
          assert.isBelow(error.message.length, 1000)
        })
      )
  )

  it.effect("reads no more of a file that reports a wrong size", () =>
    inFolder((folder) =>
      Effect.gen(function*() {
        // Linux reports 0 bytes for it, and it has megabytes.
        symlinkSync("/proc/kallsyms", join(folder, ".gpu-pool-device"))
        const error = yield* Effect.flip(Devices.choice({ home: folder }))
        assert.match(error.message, /more than 65536 bytes/)
      })
    ))

  it.effect.each(["GPU_POOL_DEVICE", "PYOPENCL_CTX", "PYOPENCL_TEST"])(
    "does not repeat what is no selection by its length: %s",
    (variable) =>
      Effect.gen(function*() {
        const text = "\n\u001b[31mERR".repeat(1_000_000)
        const error = yield* Effect.flip(withTexts(new Map([[variable, text]]))(Devices.choice({ home })))
        assert.match(error.message, /has 9000000 characters, more than 4096/)
        assert.isBelow(error.message.length, 1000)
      })
  )

  it.effect("shows of a long selection what is near the mistake, in one line", () =>
    Effect.gen(function*() {
      const text = `${"opencl:0:0;".repeat(300)}mars\u2028\u001b[31m;${"host;".repeat(100)}`
      const error = yield* Effect.flip(withTexts(new Map([["GPU_POOL_DEVICE", text]]))(Devices.choice({ home })))
      const [first, shown, carets] = error.message.split("\n")
      assert.match(first!, /"mars.* is no backend, at character 3301/)
      strictEqual(shown!.slice(carets!.indexOf("^"), carets!.indexOf("^") + 4), "mars")
      assert.isBelow(error.message.length, 1000)
      assert.notMatch(error.message, /(?!\n)[\p{Cc}\p{Zl}]/u)
    }))
})

/** Opens a device and uses it: it must be the one that the list has under this selector. */
const named = (selector: string) =>
  Effect.gen(function*() {
    const [listed] = yield* Devices.select(selector)
    const { info } = yield* DeviceContext.DeviceContext.pipe(Effect.provide(Devices.layer(selector)))
    deepStrictEqual([info.backend, info.name], [listed?.backend, listed?.device?.name])
    const sum = yield* BufferPool.use(16, (buffer) =>
      Effect.andThen(CommandQueue.fill(buffer, 7), CommandQueue.read(buffer, Uint32Array))).pipe(
        Effect.provide(BufferPool.layer()),
        Effect.provide(Devices.layer(selector, { kernelCacheCapacity: 2 }))
      )
    deepStrictEqual([...sum], [7, 7, 7, 7])
  })

const selected = (texts: ReadonlyMap<string, string>, options: Devices.ChoiceOptions, watch = new Watch()) =>
  onMachine(machine, watch)(withTexts(texts)(Devices.selectDefault(options)))

describe("the device of the user, without opening it", () => {
  // PyCUDA's get_default_device(default): CUDA_DEVICE, then ~/.cuda_device, then the number that the program gives.
  it.effect.each(
    [
      [{ CUDA_DEVICE: "1", ".cuda_device": "0" }, 0, "GTX 1080"],
      [{ ".cuda_device": "1" }, 0, "GTX 1080"],
      [{ ".cuda-device": "1" }, 0, "GTX 1080"],
      [{ CUDA_DEVICE: "" }, 0, "RTX 3090"],
      [{}, 0, "RTX 3090"],
      [{}, 1, "GTX 1080"]
    ] as const
  )("%j with the default %d is %s", ([written, number, name]) =>
    Effect.gen(function*() {
      const texts = new Map(Object.entries(written))
      const watch = new Watch()
      const { backend, device, unusable } = yield* selected(texts, withDefault(texts, number), watch)
      deepStrictEqual([backend, device?.name, unusable], ["opencl", name, undefined])
      deepStrictEqual(watch.tried, [])
    }))

  it.effect.each(places)(
    "is the one that $at names, whatever the default, and the one that opens",
    ({ at, text }) =>
      Effect.gen(function*() {
        const texts = new Map<string, string>([[at, text]])
        const options = { ...optionsOf(texts), default: "opencl:portable" }
        const device = yield* selected(texts, options)
        const watch = new Watch()
        yield* onMachine(machine, watch)(withTexts(texts)(open(Devices.layerDefault(options))))
        deepStrictEqual(watch.tried, [DeviceSelector.format(DeviceSelector.of(device))])
      })
  )

  it.effect("is the best that there is where nobody chose, not even a default", () =>
    Effect.gen(function*() {
      strictEqual((yield* selected(new Map(), { home })).device?.name, "fast")
      const watch = new Watch()
      yield* onMachine(machine, watch)(withTexts(new Map())(open(Devices.layerDefault({ home, default: "host" }))))
      deepStrictEqual(watch.tried, ["host:0:0"])
    }))

  it.effect("is reported with who chose it", () =>
    Effect.gen(function*() {
      const choice = yield* onMachine(machine)(
        withTexts(new Map())(Devices.choice({ home, default: "opencl:portable:0" }))
      )
      deepStrictEqual([choice.source, choice.text], ["default", "opencl:portable:0"])
    }))

  it.effect("fails as opening does, where there is no such device or no such selection", () =>
    Effect.gen(function*() {
      const missing = new Map([["CUDA_DEVICE", "7"]])
      const { hint, tried } = yield* unavailable(selected(missing, withDefault(missing, 0)))
      deepStrictEqual(tried.map(({ device }) => device), ["nvidia:7"])
      assert.include(hint, `"opencl:nvidia:7", from CUDA_DEVICE`)
      const mistakes = [{ default: "metal" }, { selector: "metal" }, { selector: "host", default: "metal" }]
      for (const options of mistakes) {
        const inSelect = yield* refused(onMachine(machine)(Devices.selectDefault(options)))
        deepStrictEqual([inSelect.operation, inSelect.position], ["Devices.selectDefault", 0])
        strictEqual((yield* refused(onMachine(machine)(Devices.choice(options)))).operation, "Devices.choice")
        strictEqual((yield* refused(open(Devices.layerDefault(options)))).operation, "Devices.layerDefault")
      }
      const nothing = yield* unavailable(onMachine({})(withTexts(new Map())(Devices.selectDefault({ home }))))
      assert.include(nothing.hint, "No selection was made")
    }))
})

const alignmentOf = (selector: string, options: Devices.OpenOptions) =>
  Effect.map(DeviceContext.info, ({ limits }) => limits.copyAlignment).pipe(
    Effect.provide(Devices.layer(selector, options))
  )

const byteGranular = (selector: string) =>
  Effect.gen(function*() {
    strictEqual(yield* alignmentOf(selector, {}), 4)
    strictEqual(yield* alignmentOf(selector, { byteGranular: true }), 1)
  })

describe("this machine", () => {
  it.live("lists every backend, and each device's own selector selects it", () =>
    Effect.gen(function*() {
      const listed = yield* Devices.list
      deepStrictEqual([...new Set(listed.map(({ backend }) => backend))], ["webgpu", "opencl", "host"])
      for (const entry of listed) {
        if (entry.device === undefined || entry.unusable !== undefined) {
          assert.isNotEmpty(entry.unusable ?? "")
          continue
        }
        const [again, ...others] = yield* Devices.select(DeviceSelector.of(entry))
        deepStrictEqual({ ...again }, { ...entry })
        deepStrictEqual(others, [])
      }
    }))

  it.live("opens the host", () => named("host"))

  it.live("opens the host for commands at any byte", () => byteGranular("host"))

  describeWith(["opencl"], "with OpenCL", () => {
    it.live("opens a device for commands at any byte", () => byteGranular("opencl"))

    it.live("opens a device by its indices, and by parts of its names", () =>
      Effect.gen(function*() {
        const [first] = yield* Devices.select("opencl")
        yield* named("opencl:0:0")
        yield* named(DeviceSelector.format([{
          backend: "opencl",
          platform: first?.platform?.name.toUpperCase(),
          devices: [first?.device?.name.slice(1).toLowerCase()]
        }]))
      }))
  })

  describeWith(["webgpu"], "with WebGPU", () => {
    it.live("opens the adapter that it lists", () => named("webgpu:0:0"))

    it.live("lists an adapter once, whichever requests it answers", () =>
      Effect.gen(function*() {
        const adapters = yield* Devices.select("webgpu")
        deepStrictEqual(adapters.map(({ device }) => device?.index), [...adapters.keys()])
        const identities = adapters.map(({ device, driver, type }) => JSON.stringify([device?.name, driver, type]))
        strictEqual(new Set(identities).size, adapters.length)
      }))
  })
})

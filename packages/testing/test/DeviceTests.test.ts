/** Tests per device in three frameworks: an array, node:test in a process of its own, and vitest. */
import { DeviceTests } from "@effect-gpu-pool/testing"
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import { BufferPool, CommandQueue, DeviceContext, Kernel, KernelArgument } from "effect-gpu-pool"
import { KernelCache } from "effect-gpu-pool/backend"
import { Devices } from "effect-gpu-pool/devices"
import { Host } from "effect-gpu-pool/host"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import { spawn } from "node:child_process"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { afterAll } from "vitest"
import { onMachine, Watch } from "../../../test/support/fakeDevices.ts"

class Recorded {
  readonly tests: Array<{ readonly title: string; readonly run: () => Promise<void> }> = []
  readonly #path: Array<string> = []

  readonly framework = {
    describe: (title: string, suite: () => void) => {
      this.#path.push(title)
      suite()
      this.#path.pop()
    },
    it: (title: string, run: () => Promise<void>) =>
      this.tests.push({ title: [...this.#path, title].join(" > "), run }),
    afterAll: () => undefined
  }

  /** The message of each test that failed, by its title. */
  async run(): Promise<Readonly<Record<string, string | undefined>>> {
    const ended: Array<readonly [string, string | undefined]> = []
    for (const { run, title } of this.tests) {
      ended.push([title, await run().then(() => undefined, (cause: Error) => cause.message)])
    }
    return Object.fromEntries(ended)
  }
}

const twoHosts = {
  devices: [{ name: "large", layer: Host.layer() }, { name: "small", layer: Host.layer({ capacityBytes: 64 }) }]
}

describe("tests on devices", () => {
  it("run once on each, under its name", async () => {
    const recorded = new Recorded()
    const { describeDevices, itDevices } = DeviceTests.make(recorded.framework, twoHosts, { over: BufferPool.layer() })
    describeDevices("memory", (it, { name }) => {
      it("holds 64 bytes", BufferPool.allocate(64))
      it(`is the one of ${name}`, BufferPool.allocate(65))
    })
    itDevices(
      "the device is named",
      ({ name }) =>
        Effect.map(
          DeviceContext.DeviceContext,
          ({ info }) => strictEqual(info.limits.memoryBytes === 64, name === "small")
        )
    )
    const outcomes = await recorded.run()
    deepStrictEqual(Object.keys(outcomes), [
      "memory on large > holds 64 bytes",
      "memory on large > is the one of large",
      "memory on small > holds 64 bytes",
      "memory on small > is the one of small",
      "the device is named on large",
      "the device is named on small"
    ])
    const failed = Object.entries(outcomes).filter(([, message]) => message !== undefined)
    deepStrictEqual(failed.map(([title]) => title), ["memory on small > is the one of small"])
    assert.match(failed[0]?.[1] ?? "", /can never fit|Out of memory/)
  })

  it("run once on each platform, on its first device", async () => {
    const recorded = new Recorded()
    const layer = Host.layer()
    const devices = [
      { name: "alone", layer: Host.layer({ capacityBytes: 64 }) },
      { name: "gpu 0", platform: "Vendor", layer: Host.layer({ capacityBytes: 32 }) },
      { name: "cpu 0", platform: "Portable", layer },
      { name: "gpu 1", platform: "Vendor", layer }
    ]
    const { describePlatforms, itPlatforms } = DeviceTests.make(recorded.framework, { devices })
    const memory: Array<number | undefined> = []
    const named: Array<ReadonlyArray<string>> = []
    const ask = DeviceContext.DeviceContext.useSync(({ info }) => memory.push(info.limits.memoryBytes))
    describePlatforms("a platform", (it, { devices }) => {
      named.push(devices.map(({ name }) => name))
      it("has a device", ask)
    })
    itPlatforms("asks", ask)
    itPlatforms(
      "knows its devices",
      ({ devices, name }) => Effect.sync(() => strictEqual(devices.length, name === "Vendor" ? 2 : 1))
    )
    const outcomes = await recorded.run()
    deepStrictEqual(outcomes, {
      "a platform on alone > has a device": undefined,
      "a platform on Vendor > has a device": undefined,
      "a platform on Portable > has a device": undefined,
      "asks on alone": undefined,
      "asks on Vendor": undefined,
      "asks on Portable": undefined,
      "knows its devices on alone": undefined,
      "knows its devices on Vendor": undefined,
      "knows its devices on Portable": undefined
    })
    deepStrictEqual(named, [["alone"], ["gpu 0", "gpu 1"], ["cpu 0"]])
    deepStrictEqual(memory.slice(0, 2), [64, 32])
    deepStrictEqual(memory.slice(3, 5), [64, 32])
  })

  it("have a device of their own, with nothing of the test before", async () => {
    const recorded = new Recorded()
    const watch = new Watch()
    const machine = { host: { JavaScript: [{ name: "process memory" }] } }
    const devices = await Effect.runPromise(onMachine(machine, watch)(Devices.forTests({ selector: "host" })))
    const { itDevices } = DeviceTests.make(recorded.framework, devices, { over: BufferPool.layer() })
    const seen: Array<unknown> = []
    const twice = Kernel.make({
      name: "twice",
      args: [KernelArgument.VectorArg("f32", "x")],
      body: {
        host: (from, to, { x }) => {
          for (let i = from; i < to; i++) x[i] = 2 * x[i]!
        }
      }
    })
    const use = Effect.gen(function*() {
      const device = yield* DeviceContext.DeviceContext
      const kernels = yield* KernelCache.KernelCache.use(({ stats }) => stats)
      const { hits } = yield* BufferPool.stats
      assert.isFalse(seen.includes(device.info))
      seen.push(device.info)
      deepStrictEqual([kernels.misses, hits], [0, 0])
      const x = yield* BufferPool.allocate(16)
      yield* CommandQueue.dispatch(twice, { x }, 4)
    })
    itDevices("first", use)
    itDevices("second", use)
    deepStrictEqual(Object.values(await recorded.run()), [undefined, undefined])
    strictEqual(watch.tried.length, 2)
    strictEqual(watch.open.size, 0)
  })

  it("fail when their device leaves something behind", async () => {
    const recorded = new Recorded()
    const leaking = Layer.provideMerge(
      Layer.effect(
        DeviceContext.DeviceContext,
        DeviceContext.DeviceContext.useSync((device) => {
          device.driverObjects.add("leak")
          return { ...device, destroyBufferUnsafe: () => Exit.void }
        })
      ),
      Host.layer()
    )
    const { itDevices } = DeviceTests.make(recorded.framework, { devices: [{ name: "leaking", layer: leaking }] })
    itDevices("does nothing", Effect.void)
    assert.match(Object.values(await recorded.run())[0] ?? "", /driver objects after the close.*leak/)
  })
})

const environment = (variables: Record<string, string>) => ConfigProvider.layer(ConfigProvider.fromUnknown(variables))

const selected = (variables: Record<string, string>) =>
  onMachine({
    webgpu: { Dawn: [{ name: "adapter" }, { name: "sick", unusable: "it has no compute" }] },
    opencl: { Portable: [{ name: "cpu 0" }, { name: "cpu 1" }], Other: [{ name: "gpu" }] },
    host: { JavaScript: [{ name: "process memory" }] }
  })(Effect.provide(Devices.forTests(), environment(variables)))

describe("the devices of tests", () => {
  it.effect.each(
    [
      [{}, "default", [
        "webgpu:0:0 adapter",
        "opencl:0:0 cpu 0",
        "opencl:0:1 cpu 1",
        "opencl:1:0 gpu",
        "host:0:0 process memory"
      ]],
      [{ GPU_POOL_TEST: "" }, "default", undefined],
      [{ GPU_POOL_TEST: "opencl::1;host", PYOPENCL_TEST: "1" }, "GPU_POOL_TEST", [
        "opencl:0:1 cpu 1",
        "host:0:0 process memory"
      ]],
      [{ PYOPENCL_TEST: "other;0=1,0" }, "PYOPENCL_TEST", ["opencl:1:0 gpu", "opencl:0:1 cpu 1", "opencl:0:0 cpu 0"]],
      [{ GPU_POOL_DEVICE: "host", PYOPENCL_CTX: "1" }, "default", undefined]
    ] as const
  )("are those of %j", ([variables, source, names]) =>
    Effect.gen(function*() {
      const tests = yield* selected(variables)
      deepStrictEqual([tests.source, tests.problem], [source, undefined])
      if (names !== undefined) deepStrictEqual(tests.devices.map(({ name }) => name), [...names])
    }))

  it.effect("have a platform, once for all devices that it has", () =>
    Effect.gen(function*() {
      const recorded = new Recorded()
      const tests = yield* selected({ GPU_POOL_TEST: "opencl:0:1;host;opencl;webgpu" })
      DeviceTests.make(recorded.framework, tests).itPlatforms("passes", Effect.void)
      deepStrictEqual(Object.keys(yield* Effect.promise(() => recorded.run())), [
        "passes on opencl:0 Portable",
        "passes on host:0 JavaScript",
        "passes on opencl:1 Other",
        "passes on webgpu:0 Dawn"
      ])
    }))

  it.effect.each(
    [
      [{ GPU_POOL_TEST: "opencl:7" }, 0, /GPU_POOL_TEST/],
      [{ GPU_POOL_TEST: "host;webgpu:0:1" }, 1, /webgpu 0:1: it has no compute[^]*from GPU_POOL_TEST/],
      [{ GPU_POOL_TEST: "host;metal" }, 0, /GPU_POOL_TEST: "metal" is no backend, at character 6/],
      [{ PYOPENCL_TEST: "nobody" }, 0, /opencl nobody: no such platform/]
    ] as const
  )("are a failing test with the reason for %j", ([variables, usable, reason]) =>
    Effect.gen(function*() {
      const tests = yield* selected(variables)
      strictEqual(tests.devices.length, usable)
      assert.match(tests.problem ?? "", reason)
      const recorded = new Recorded()
      const { itDevices } = DeviceTests.make(recorded.framework, tests)
      itDevices("passes", Effect.void)
      const outcomes = yield* Effect.promise(() => recorded.run())
      const failed = Object.values(outcomes).filter((message) => message !== undefined)
      deepStrictEqual(failed, [tests.problem])
      strictEqual(Object.keys(outcomes).length, usable + 1)
    }))

  it("are a failing test when there are none", async () => {
    const recorded = new Recorded()
    DeviceTests.make(recorded.framework, { devices: [] })
    deepStrictEqual(Object.values(await recorded.run()), ["no device was selected"])
  })
})

// A suite as a user writes it, in a framework without timeouts, fixtures or plugins.
const suiteInNode = `
  import { Effect } from "effect"
  import { BufferPool, CommandQueue } from "effect-gpu-pool"
  import { Devices } from "effect-gpu-pool/devices"
  import { DeviceTests } from "@effect-gpu-pool/testing"
  import assert from "node:assert/strict"
  import { after, describe, it } from "node:test"

  const framework = { describe, it, afterAll: after }
  const devices = await Effect.runPromise(Devices.forTests())
  const { itDevices } = DeviceTests.make(framework, devices, { over: BufferPool.layer() })
  itDevices("fills", Effect.gen(function*() {
    const x = yield* BufferPool.allocate(8)
    yield* CommandQueue.fill(x, 7)
    assert.deepEqual([...yield* CommandQueue.read(x, Uint32Array)], [7, 7])
  }))`

const inNode = async (selection: string) => {
  const child = spawn(process.execPath, ["--test-reporter=tap", "--input-type=module", "--eval", suiteInNode], {
    cwd: join(import.meta.dirname, "../../.."),
    env: { ...process.env, GPU_POOL_TEST: selection },
    stdio: ["ignore", "pipe", "pipe"]
  })
  const ended = new Promise<number | null>((resolve, reject) => {
    child.on("error", reject)
    child.on("close", resolve)
  })
  const [code, stdout, stderr] = await Promise.all([ended, text(child.stdout), text(child.stderr)])
  return { code, output: stdout + stderr }
}

describe("in node:test", () => {
  it.concurrent("tests run on the selected device", async () => {
    const { code, output } = await inNode("host")
    assert.match(output, /^ok 1 - fills on host:0:0 process memory$/m)
    strictEqual(code, 0, output)
  })

  it.concurrent("a selection that selects nothing fails the run, with the reason", async () => {
    const { code, output } = await inNode("host:99")
    assert.notStrictEqual(code, 0)
    assert.match(output, /^not ok 1 - the selection of devices selects some$/m)
    assert.match(output, /host 99: no such platform; there is platform 0 "JavaScript"/)
  })
})

/** The tests that ran, with their outcomes. */
const inVitest = async (...flags: ReadonlyArray<string>) => {
  const child = spawn(
    process.execPath,
    [
      join(import.meta.dirname, "../../../node_modules/vitest/vitest.mjs"),
      "run",
      `--config=${join(import.meta.dirname, "tagged/vitest.config.ts")}`,
      "--reporter=tap-flat",
      ...flags
    ],
    { env: { ...process.env, GPU_POOL_TEST: "host;host:99" }, stdio: ["ignore", "pipe", "inherit"] }
  )
  const lines = (await text(child.stdout)).matchAll(/^((?:not )?ok) \d+ - (.*?) #(.*)$/gm)
  return [...lines].filter(([, , , rest]) => rest !== " SKIP").map(([, outcome, title]) => `${outcome}: ${title}`)
}

describe("in vitest, tagged tests", () => {
  const onDevices = [
    "not ok: withAndWithout.ts > the selection of devices selects some",
    "ok: withAndWithout.ts > a queue on host:0:0 process memory > finishes",
    "ok: withAndWithout.ts > finishes on host:0 JavaScript"
  ]

  it.concurrent("can be left out", async () => {
    deepStrictEqual(await inVitest("--tags-filter=!gpu"), ["ok: withAndWithout.ts > needs no device"])
  })

  it.concurrent("can be chosen by tag, and by the backend that their titles name", async () => {
    deepStrictEqual(await inVitest("--tags-filter=gpu", "--testNamePattern= on host:|selection of"), onDevices)
  })
})

const here = await Effect.runPromise(Devices.forTests())
const { describeDevices, itDevices } = DeviceTests.make({ describe, it, afterAll }, here, { over: BufferPool.layer() })

describeDevices("on every device of this machine, a buffer", (it) => {
  it(
    "holds what is written",
    Effect.gen(function*() {
      const x = yield* BufferPool.allocate(12)
      yield* CommandQueue.write(x, Float32Array.of(1, 2, 3))
      deepStrictEqual([...yield* CommandQueue.read(x, Float32Array)], [1, 2, 3])
    })
  )

  it("is of a pool of its own", Effect.map(BufferPool.stats, ({ misses }) => strictEqual(misses, 0)))
})

itDevices(
  "the device has the name that the title says",
  ({ name }) => Effect.map(DeviceContext.DeviceContext, ({ info }) => assert.include(name, info.name))
)

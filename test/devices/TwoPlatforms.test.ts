/** The choice among two real OpenCL platforms: the machine's own, and Oclgrind beside it. */
import { DeviceTests } from "@effect-gpu-pool/testing"
import { assert, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import { DeviceContext } from "effect-gpu-pool"
import { Devices, DeviceSelector } from "effect-gpu-pool/devices"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import { bothPlatforms } from "../support/platforms.ts"
import { describeWith } from "../support/required.ts"

bothPlatforms()

const environment = (variables: Record<string, string>) => ConfigProvider.layer(ConfigProvider.fromUnknown(variables))

const nameOn = (variables: Record<string, string>) =>
  DeviceContext.DeviceContext.useSync(({ info }) => info.name).pipe(
    Effect.provide(Devices.layerDefault({ home: "/nowhere" })),
    Effect.provide(environment(variables))
  )

describeWith(["opencl", "oclgrind"], "two platforms", () => {
  const platforms = Effect.map(Devices.select("opencl"), (listed) => [...new Set(listed.map((one) => one.platform!))])

  it.live("are both listed, and each is selected by its index and by its name", () =>
    Effect.gen(function*() {
      const found = yield* platforms
      assert.isAtLeast(found.length, 2)
      for (const { index, name } of found) {
        for (const platform of [index, name, index - found.length]) {
          const devices = yield* Devices.select([{ backend: "opencl", platform, devices: [undefined] }])
          assert.isNotEmpty(devices)
          for (const device of devices) strictEqual(device.platform?.index, index)
        }
      }
    }))

  it.live("are chosen between by the environment", () =>
    Effect.gen(function*() {
      const simulator = yield* nameOn({ GPU_POOL_DEVICE: "opencl:oclgrind" })
      assert.match(simulator, /oclgrind/i)
      const found = yield* platforms
      const index = found.findIndex(({ name }) => /oclgrind/i.test(name))
      strictEqual(yield* nameOn({ PYOPENCL_CTX: `${index}:0` }), simulator)
      strictEqual(yield* nameOn({ PYOPENCL_TEST: "oclgrind=0" }), simulator)
      for (const other of [0, 1].filter((platform) => platform !== index)) {
        assert.notStrictEqual(yield* nameOn({ GPU_POOL_DEVICE: `opencl:${other}:0` }), simulator)
      }
    }))

  it.live("are both run on by tests, with the selection of PyOpenCL", () =>
    Effect.gen(function*() {
      const { devices, problem } = yield* Effect.provide(
        Devices.forTests(),
        environment({ PYOPENCL_TEST: "0:0;1:0" })
      )
      strictEqual(problem, undefined)
      const ran: Array<readonly [title: string, device: string]> = []
      const tests: Array<() => Promise<void>> = []
      const { itDevices } = DeviceTests.make({
        describe: (_, suite) => suite(),
        it: (_, test) => tests.push(test),
        afterAll: () => undefined
      }, { devices })
      itDevices("opens", (device) =>
        DeviceContext.DeviceContext.useSync(({ info }) => {
          ran.push([device.name, info.name])
        }))
      for (const test of tests) yield* Effect.promise(test)
      deepStrictEqual(ran.map(([title]) => title.slice(0, 10)), ["opencl:0:0", "opencl:1:0"])
      for (const [title, device] of ran) assert.include(title, device)
      assert.notStrictEqual(ran[0]?.[1], ran[1]?.[1])
    }))

  it.live("have selectors that no other device has", () =>
    Effect.gen(function*() {
      const selectors = (yield* Devices.list).map((device) => DeviceSelector.format(DeviceSelector.of(device)))
      strictEqual(new Set(selectors).size, selectors.length)
    }))
})

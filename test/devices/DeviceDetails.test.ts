/** The details of an opened device, and that the device is closed again. */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import { figuresOf } from "../../packages/cli/src/bench/DeviceFigures.ts"
import { Backends } from "../../src/devices/Backends.ts"
import { detailsOf } from "../../src/devices/DeviceDetails.ts"
import * as Devices from "../../src/devices/Devices.ts"
import { hostBackend } from "../../src/layers/Host/HostBackend.ts"
import * as DeviceContext from "../../src/services/device/DeviceContext.ts"
import { onMachine, Watch } from "../support/fakeDevices.ts"

const devices = { opencl: { "A platform": [{ name: "fine" }, { name: "bad", broken: "it burns" }] } }

describe("the details of a device", () => {
  it.effect("come from one opening, which ends", () => {
    const watch = new Watch()
    return Effect.gen(function*() {
      const [device] = yield* Devices.select("opencl")
      assert(device !== undefined)
      const { facts, images, info, severalQueues } = yield* detailsOf(device)
      deepStrictEqual([facts, severalQueues, info.backend], [{}, true, "host"])
      assert.includeMembers(Object.keys(images), ["1d", "2d", "3d"])
      deepStrictEqual([watch.tried, [...watch.open]], [["opencl:0:0"], []])
    }).pipe(onMachine(devices, watch))
  })

  it.effect("is the reason where it does not open, which leaves nothing", () => {
    const watch = new Watch()
    return Effect.gen(function*() {
      const bad = (yield* Devices.select("opencl"))[1]
      assert(bad !== undefined)
      assert.include((yield* Effect.flip(detailsOf(bad))).message, "it burns")
      assert.include((yield* Effect.flip(figuresOf(bad))).message, "it burns")
      deepStrictEqual([...watch.open], [])
    }).pipe(onMachine(devices, watch))
  })

  it.effect("has the facts of a backend from elsewhere, which asks the open device", () => {
    const facts = Effect.map(DeviceContext.info, ({ name }) => ({ name, limits: { answer: 42 } }))
    const backend = { ...hostBackend, name: "elsewhere", facts }
    return Effect.gen(function*() {
      const [device] = yield* hostBackend.list
      const details = yield* detailsOf({ ...device!, backend: "elsewhere" })
      deepStrictEqual(details.facts, { name: "process memory", limits: { answer: 42 } })
    }).pipe(Effect.provideService(Backends, [backend]))
  })

  it.effect("is nothing of a device that no backend has listed", () =>
    Effect.gen(function*() {
      const [device] = yield* hostBackend.list
      const error = yield* Effect.flip(detailsOf({ ...device!, backend: "nowhere" }))
      strictEqual(error.reason._tag, "DeviceUnavailable")
      assert.include(error.message, "There is no backend nowhere in this process.")
    }))
})

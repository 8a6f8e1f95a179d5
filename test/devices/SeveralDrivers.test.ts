/** Devices of real drivers, of the same backend and of different ones, in one service. */
import { it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import { Devices, DeviceSelector } from "../../src/devices.ts"
import * as BufferPools from "../../src/services/backend/several/BufferPools.ts"
import * as DeviceContext from "../../src/services/device/DeviceContext.ts"
import { tagOf } from "../support/hostPool.ts"
import { bothPlatforms } from "../support/platforms.ts"
import { work } from "../support/reconnecting.ts"
import { describeWith, describeWithPocl } from "../support/required.ts"
import { lawsOfSeveral } from "./SeveralLaws.ts"

bothPlatforms()

const open = (device: string) => Devices.layer(device)

const nameOn = (device: string) => BufferPools.on(device, Effect.map(DeviceContext.info, ({ name }) => name))

describeWithPocl(["oclgrind"], "two platforms of OpenCL", () => {
  lawsOfSeveral(open, ["opencl:portable", "opencl:oclgrind"])
})

describeWithPocl(["webgpu"], "WebGPU and OpenCL", () => {
  lawsOfSeveral(open, ["webgpu", "opencl:portable"])
})

describeWithPocl([], "OpenCL and the host", () => {
  lawsOfSeveral(open, ["opencl:portable", "host"])
})

describeWith(["webgpu"], "two devices of one WebGPU adapter", () => {
  lawsOfSeveral((device) => Devices.layer(device.slice(2)), ["1 webgpu", "2 webgpu"])
})

describeWithPocl([], "devices by selection", () => {
  it.live("are one for each selection, however that is written", () =>
    Effect.gen(function*() {
      const [listed] = yield* Devices.select("opencl:portable")
      const own = DeviceSelector.format(DeviceSelector.of(listed!))
      strictEqual(yield* nameOn(own), listed!.device!.name)
      strictEqual(yield* nameOn(` ${own} `), listed!.device!.name)
      yield* BufferPools.on("host", work)
      deepStrictEqual(yield* BufferPools.devices, [own, "host"])
      strictEqual(yield* tagOf(nameOn("opencl:no such platform")), "DeviceUnavailable")
      strictEqual(yield* tagOf(nameOn("quantum")), "InvalidRequest")
      deepStrictEqual(yield* BufferPools.devices, [own, "host"])
    }).pipe(Effect.provide(Devices.layerPools({ kernelCacheCapacity: 16, pool: { maxBytes: "1 MiB" } }))))
})

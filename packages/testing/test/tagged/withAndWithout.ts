/** A suite as a user writes it, with tests of a device beside others. */
import { DeviceTests } from "@effect-gpu-pool/testing"
import { CommandQueue } from "effect-gpu-pool"
import { Devices } from "effect-gpu-pool/devices"
import * as Effect from "effect/Effect"
import { afterAll, assert, describe, it } from "vitest"

const devices = await Effect.runPromise(Devices.forTests())
const { describeDevices, itPlatforms } = DeviceTests.make(
  DeviceTests.tagged({ describe, it, afterAll }, "gpu"),
  devices
)

describeDevices("a queue", (it) => it("finishes", CommandQueue.finish))
itPlatforms("finishes", CommandQueue.finish)

it("needs no device", () => assert.isArray(devices.devices))

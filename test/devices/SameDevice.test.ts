import { assert, it } from "@effect/vitest"
import { strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Host } from "../../src/host.ts"
import { hostBackend } from "../../src/layers/Host/HostBackend.ts"
import { sameDevice } from "../../src/services/backend/SameDevice.ts"
import { DeviceContext } from "../../src/services/device/DeviceContext.ts"

it.effect("refuses a device that was opened in place of the listed one, and closes it", () =>
  Effect.gen(function*() {
    const [host] = yield* hostBackend.list
    assert(host?.device !== undefined)
    let closed = 0
    const watched = Layer.provideMerge(
      Host.layer(),
      Layer.effectDiscard(Effect.addFinalizer(() => Effect.sync(() => closed++)))
    )
    const opened = Effect.provide(DeviceContext, sameDevice(host, watched))
    strictEqual((yield* opened).info.name, "process memory")
    const other = { ...host, device: { ...host.device, name: "another" } }
    const { reason } = yield* Effect.flip(Effect.provide(DeviceContext, sameDevice(other, watched)))
    assert(reason._tag === "DeviceUnavailable")
    assert.include(reason.message, `the driver opened "process memory" in its place`)
    strictEqual(closed, 2)
  }))

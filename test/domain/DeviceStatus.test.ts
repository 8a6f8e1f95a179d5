import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { DeviceStatus } from "../../src/domain/device/DeviceStatus.ts"
import type { GpuError } from "../../src/domain/GpuError.ts"

type Step = { readonly act: "listen" } | { readonly act: "stop"; readonly which: number } | { readonly act: "lose" }

const steps = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.constant<Step>({ act: "listen" }) },
    { weight: 3, arbitrary: fc.nat(20).map((which): Step => ({ act: "stop", which })) },
    { weight: 1, arbitrary: fc.constant<Step>({ act: "lose" }) }
  ),
  { maxLength: 30 }
)

/** The loss that each subscriber was called with, and whether it should have been called. */
interface ObservedMemory {
  readonly errors: Array<GpuError>
  readonly stop: () => void
  listening: boolean
  expected: boolean
}

describe("DeviceStatus", () => {
  it("is alive at first", () => {
    assert.isUndefined(new DeviceStatus("host").error)
  })

  it("keeps the first loss, with backend and detail", () => {
    const status = new DeviceStatus("host")
    const error = status.lose("unplugged")
    assert.strictEqual(status.lose("and again"), error)
    assert.strictEqual(status.error, error)
    assert.strictEqual(error.reason._tag, "DeviceLost")
    assert.include(error.message, "host")
    assert.include(error.message, "unplugged")
  })

  it("calls each listener exactly once, late ones at once, and none that stopped", () => {
    fc.assert(fc.property(steps, (all) => {
      const status = new DeviceStatus("host")
      const heard: Array<ObservedMemory> = []
      let lost = false
      for (const step of all) {
        if (step.act === "listen") {
          const errors: Array<GpuError> = []
          const stop = status.onLost((error) => errors.push(error))
          heard.push({ errors, stop, listening: true, expected: lost })
        } else if (step.act === "lose") {
          status.lose("gone")
          lost = true
          for (const each of heard) each.expected ||= each.listening
        } else {
          const each = heard[step.which]
          if (each === undefined) continue
          each.stop()
          each.listening = false
        }
        for (const { errors, expected } of heard) assert.deepStrictEqual(errors, expected ? [status.error!] : [])
      }
    }))
  })

  it("knows its error before it calls listeners, and calls none twice that is added meanwhile", () => {
    const status = new DeviceStatus("host")
    const seen: Array<GpuError | undefined> = []
    status.onLost((error) => {
      seen.push(status.error, status.lose("from within"))
      status.onLost((again) => seen.push(again))
      assert.strictEqual(status.error, error)
    })
    const error = status.lose("gone")
    assert.deepStrictEqual(seen, [error, error, error])
  })

  it("stops only the listener whose stop was called", () => {
    const status = new DeviceStatus("host")
    const heard: Array<string> = []
    const stop = status.onLost(() => heard.push("first"))
    status.onLost(() => heard.push("second"))
    stop()
    stop()
    status.lose("gone")
    assert.deepStrictEqual(heard, ["second"])
  })
})

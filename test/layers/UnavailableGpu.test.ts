import { assert, describe, it } from "@effect/vitest"
import { strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { doctor } from "../../src/domain/device/OptionalPackage.ts"
import type { GpuError } from "../../src/domain/GpuError.ts"
import { currentRuntime } from "../../src/layers/WebGpu/opening/Runtime.ts"
import * as Unavailable from "../../src/layers/WebGpu/opening/UnavailableGpu.ts"
import { WebGpu } from "../../src/webgpu.ts"

const says = ({ device, hint, why }: Unavailable.Unavailable, ...parts: ReadonlyArray<string>): void => {
  for (const part of parts) assert.include(`${device}: ${why}. ${hint}`, part)
}

const fails = (error: GpuError, ...parts: ReadonlyArray<string>): void => {
  strictEqual(error.reason._tag, "DeviceUnavailable")
  for (const part of parts) assert.include(error.message, part)
}

const page = { isNode: false, name: "Mozilla/5.0", isSecureContext: true, origin: "https://example.com" }

const noAdapter = (options: Parameters<typeof Unavailable.noDevice>[1]) =>
  Unavailable.noDevice(currentRuntime(), options, { adapter: undefined, message: undefined })

describe("without WebGPU", () => {
  it.effect("a GPU that is undefined is none of this runtime, on Node", () =>
    Effect.gen(function*() {
      for (const layer of [WebGpu.layerFrom(undefined), WebGpu.layerFrom((navigator as { readonly gpu?: GPU }).gpu)]) {
        const error = yield* Effect.flip(Effect.scoped(Layer.build(layer)))
        fails(
          error,
          "webgpu navigator.gpu: this runtime",
          "has no navigator.gpu",
          "WebGpu.layer(), which loads npm webgpu"
        )
      }
    }))

  it("an insecure page gets the reason, with its origin, and what to do", () => {
    const error = Unavailable.noNavigatorGpu({ ...page, isSecureContext: false, origin: "http://192.168.0.7:8080" })
    says(
      error,
      "this page has no navigator.gpu, because it is no secure context (http://192.168.0.7:8080)",
      "Serve it over https, or from http://localhost"
    )
    assert.notInclude(error.hint, "npm")
  })

  it("a secure page gets a reason about its browser", () => {
    for (const isSecureContext of [true, undefined]) {
      const error = Unavailable.noNavigatorGpu({ ...page, isSecureContext })
      says(
        error,
        "this page has no navigator.gpu: the browser has no WebGPU, or it is switched off",
        "Use a browser with"
      )
      assert.notInclude(error.hint, "npm")
    }
  })

  it("knows where it runs by what is there", () => {
    strictEqual(currentRuntime().isNode, true)
    const found = currentRuntime({
      navigator: { userAgent: "Mozilla/5.0" },
      isSecureContext: false,
      location: { origin: "http://example.com" }
    })
    assert.deepStrictEqual(found, {
      isNode: false,
      name: "Mozilla/5.0",
      isSecureContext: false,
      origin: "http://example.com"
    })
  })

  it("the advice is to install a package that is not installed, and not one that is broken", () => {
    const missing = "Cannot find package 'webgpu' imported from /app/main.js"
    says(Unavailable.noPackage(missing), "the package is not installed: npm install webgpu", doctor)
    const broken = "Cannot find module '/app/node_modules/webgpu/dist/sunos-x64/dawn.node'"
    const error = Unavailable.noPackage(broken)
    says(
      error,
      "the package is installed and does not load",
      "sunos-x64/dawn.node",
      "there is a build for this system",
      doctor
    )
    assert.notInclude(`${error.why} ${error.hint}`, "npm install webgpu")
  })

  it("an adapter that was narrowed down is advised to be left open, any other one to have a driver", () => {
    says(noAdapter({}), "requestAdapter found none that fits", "Dawn needs a graphics driver", doctor)
    assert.notInclude(noAdapter({}).hint, "checkout")
    says(noAdapter({ powerPreference: "low-power" }), `for powerPreference "low-power"`, "graphics driver")
    const software = noAdapter({ forceFallbackAdapter: true })
    says(software, "found none for forceFallbackAdapter", "Leave forceFallbackAdapter out")
    assert.notInclude(software.hint, "graphics driver")
    says(noAdapter({ flags: ["adapter=gtx"] }), `flags "adapter=gtx"`, `Leave the flag "adapter=gtx" out`)
  })

  it.effect("the flag of an adapter that is not there is named", () =>
    Effect.gen(function*() {
      const layer = WebGpu.layer({ flags: ["backend=null", "adapter=no such adapter"] })
      const error = yield* Effect.flip(Effect.scoped(Layer.build(layer)))
      fails(error, "adapter=no such adapter")
    }))
})

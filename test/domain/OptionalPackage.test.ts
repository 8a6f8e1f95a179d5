import { describe, it } from "@effect/vitest"
import { strictEqual } from "@effect/vitest/utils"
import { isMissing } from "../../src/domain/device/OptionalPackage.ts"

describe("isMissing", () => {
  it.each([
    ["Node", "Cannot find package 'koffi' imported from /app/main.js"],
    ["Node's require", "Cannot find module 'koffi'"],
    ["Deno", "Import \"koffi\" not a dependency"]
  ])("knows a package that %s does not find", (_, message) => {
    strictEqual(isMissing("koffi", message), true)
  })

  it.each(["Cannot find module '@koffi/linux-x64'", "Cannot find the native Koffi module"])(
    "knows one that is installed and does not load: %s",
    (message) => {
      strictEqual(isMissing("koffi", message), false)
    }
  )
})

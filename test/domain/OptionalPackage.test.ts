import { describe, it } from "@effect/vitest"
import { strictEqual } from "@effect/vitest/utils"
import { whyNotLoaded } from "../../src/domain/OptionalPackage.ts"

describe("whyNotLoaded", () => {
  it.each([
    ["Node", "Cannot find package 'koffi' imported from /app/main.js"],
    ["Node's require", "Cannot find module 'koffi'"],
    ["Deno", "Import \"koffi\" not a dependency"]
  ])("says how to install a package that %s does not find", (_, message) => {
    strictEqual(whyNotLoaded("koffi", new Error(message)), "the package is not installed: npm install koffi")
  })

  it.each(["Cannot find module '@koffi/linux-x64'", "Cannot find the native Koffi module"])(
    "keeps the reason of a package that is installed and does not load: %s",
    (message) => {
      strictEqual(whyNotLoaded("koffi", new Error(message)), message)
    }
  )
})

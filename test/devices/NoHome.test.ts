/** Users without a home directory: the choice of a device reads only the places that do not need one. */
import { describe, it } from "@effect/vitest"
import { strictEqual } from "@effect/vitest/utils"
import { Devices } from "effect-gpu-pool/devices"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import type * as os from "node:os"
import { vi } from "vitest"

/** What `os.homedir` answers; undefined stands for its error. */
const { user } = vi.hoisted(() => {
  const user: { home: string | undefined } = { home: undefined }
  return { user }
})

vi.mock("node:os", async (original: () => Promise<typeof os>) => ({
  ...await original(),
  homedir: () => {
    if (user.home === undefined) throw new Error("uv_os_homedir returned ENOENT")
    return user.home
  }
}))

const environment = (variables: Record<string, string>) => ConfigProvider.layer(ConfigProvider.fromUnknown(variables))

/** Every file is there, and names the host. */
const asked: Array<string> = []
const files = FileSystem.layerNoop({
  readFileString: (path) =>
    Effect.sync(() => {
      asked.push(path)
      return "host"
    })
})

const choice = (variables: Record<string, string>) =>
  Effect.provide(Effect.provide(Devices.choice(), environment(variables)), files)

describe("without a home directory", () => {
  it.effect.each([["no entry in the list of users", undefined], ["an empty HOME", ""]] as const)(
    "by %s, variables choose and no file is read",
    ([, home]) =>
      Effect.gen(function*() {
        user.home = home
        asked.length = 0
        strictEqual((yield* choice({})).source, "default")
        strictEqual((yield* choice({ PYOPENCL_CTX: "0" })).source, "PYOPENCL_CTX")
        strictEqual(asked.length, 0)
      })
  )

  it.effect("files are read again where there is one", () =>
    Effect.gen(function*() {
      user.home = "/home/somebody"
      strictEqual((yield* choice({})).source, "/home/somebody/.gpu-pool-device")
    }))
})

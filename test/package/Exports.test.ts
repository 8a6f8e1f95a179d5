/** The entry points of the package, and a path for each module that they export. */
import * as Arrays from "@effect-gpu-pool/arrays"
import * as DeviceArrayModule from "@effect-gpu-pool/arrays/DeviceArray"
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Root from "effect-gpu-pool"
import * as BufferPool from "effect-gpu-pool/BufferPool"
import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { folders } from "../../scripts/build.ts"

const root = join(import.meta.dirname, "../..")

describe("exports of package.json", () => {
  it("are what the entry points export", () => {
    const { status, stderr } = spawnSync(process.execPath, ["scripts/exports.ts", "--check"], {
      cwd: root,
      encoding: "utf8"
    })
    strictEqual(status, 0, stderr)
  })

  it("come with no script that an installation would run", () => {
    for (const folder of folders) {
      const { scripts = {} } = JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8")) as {
        readonly scripts?: Readonly<Record<string, string>>
      }
      const run = ["preinstall", "install", "postinstall", "prepublish", "preprepare", "prepare", "postprepare"]
      deepStrictEqual(run.filter((name) => name in scripts), [])
    }
  })

  it("have a path for each module", () => {
    strictEqual(BufferPool.allocate, Root.BufferPool.allocate)
    strictEqual(DeviceArrayModule.add, Arrays.DeviceArray.add)
    const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { exports: object }
    const modules = Object.keys(exports).filter((path) => /^\.\/[A-Z]/.test(path)).map((path) => path.slice(2))
    assert.includeMembers(modules, Object.keys(Root))
    assert.includeMembers(modules, [
      "Images",
      "WebGpu",
      "WebGpuApi",
      "OpenCl",
      "Host",
      "Devices"
    ])
  })

  it("give the root what programs need to have memory and use it, few enough to look over", () => {
    const relied = ["BufferPool", "CommandQueue", "Allocator", "DeviceContext", "SizePolicy", "GpuError"]
    assert.includeMembers(Object.keys(Root), relied)
    assert.isAtMost(Object.keys(Root).length, 25)
  })

  it("lead to modules without an export that is internal: such ones lie in modules without a path", () => {
    const tagged = /\/\*\*(?:(?!\*\/)[^])*@internal(?:(?!\*\/)[^])*\*\/\s*\nexport \w+ (\w+)/g
    const internal = folders.flatMap((folder) => {
      const { exports = {} } = JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8")) as {
        readonly exports?: Readonly<Record<string, string | { readonly "effect-gpu-pool:source": string }>>
      }
      return Object.values(exports).flatMap((target) => {
        if (typeof target === "string") return []
        const source = join(folder, target["effect-gpu-pool:source"])
        return [...readFileSync(join(root, source), "utf8").matchAll(tagged)].map(([, name]) => `${source}: ${name}`)
      })
    })
    deepStrictEqual(internal, [])
  })
})

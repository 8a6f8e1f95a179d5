import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual } from "@effect/vitest/utils"
import { survey } from "./EntryPoints.ts"
import { unfuzzed } from "./Unfuzzed.ts"

describe("entry points", () => {
  const { entryPoints, forgotten, stale } = survey()
  const ids = new Set(entryPoints.map(({ id }) => id))

  it("are each fuzzed, or left out with a reason", () => {
    deepStrictEqual(forgotten, [], "exports that the fuzzer cannot call and that Unfuzzed.ts does not list")
    deepStrictEqual(stale, [], "entries of Unfuzzed.ts for what is fuzzed, or is not exported any more")
    for (const [id, reason] of Object.entries(unfuzzed)) assert.isAbove(reason.length, 5, id)
  })

  it("are functions, effects, layers, members of services and methods of classes", () => {
    for (
      const id of [
        "BufferPool.allocate",
        "BufferPool.BufferPool#use",
        "CommandQueue.CommandQueue#readRectInto",
        "CommandQueue.flush",
        "Allocator.layerImmediate",
        "DeviceArray.add",
        "Expr.add",
        "Mapping.MappedArray#setUnsafe",
        "Svm.pointer",
        "Host.Host#bytes",
        "Devices.choice"
      ]
    ) {
      assert(ids.has(id), id)
    }
  })

  it("have the signatures that their sources declare", () => {
    const byId = new Map(entryPoints.map((entry) => [entry.id, entry]))
    const names = (id: string) => byId.get(id)?.signatures.map(({ parameters }) => parameters.map(({ name }) => name))
    deepStrictEqual(names("BufferPool.allocate"), [["size", "options"]])
    deepStrictEqual(names("CommandQueue.after"), [["events"], ["effect", "events"]])
    deepStrictEqual(names("Images.read"), [
      ["options"],
      ["type", "options"],
      ["source", "options"],
      ["source", "type", "options"]
    ])
    for (const { id, receiver, signatures, type, value } of entryPoints) {
      const runs = signatures.length > 0 || type !== undefined || value !== undefined || receiver !== undefined
      assert(runs, `${id} can neither be called nor run`)
    }
  })
})

import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import * as CommandLabel from "../../src/domain/arguments/CommandLabel.ts"

const labelled = fc.record({ label: fc.option(fc.string({ minLength: 1 }), { nil: undefined }) })
const shown = (object: { readonly label: string | undefined }): string => object.label ?? "(no label)"
const [x, y] = [{ label: "x" }, { label: "y" }]

describe("CommandLabel", () => {
  it("names the command, its bytes and its buffers", () => {
    const labels = [
      CommandLabel.write(8, x),
      CommandLabel.read(8, x),
      CommandLabel.copy(64, x, y),
      CommandLabel.fill(16, x),
      CommandLabel.touch(x),
      CommandLabel.migrate([x, y], "host"),
      CommandLabel.dispatch("scale", 100)
    ]
    assert.deepStrictEqual(labels.map((label) => label()), [
      "write 8 B -> x",
      "read 8 B x",
      "copy 64 B x -> y",
      "fill 16 B -> x",
      "touch x",
      "migrate x, y -> host",
      "dispatch scale (100 items)"
    ])
  })

  it("says so where a buffer has no label", () => {
    fc.assert(fc.property(fc.nat(), labelled, labelled, (bytes, x, y) => {
      assert.include(CommandLabel.touch(x)(), shown(x))
      assert.include(CommandLabel.copy(bytes, x, y)(), `${shown(x)} -> ${shown(y)}`)
      for (const command of [CommandLabel.write, CommandLabel.read, CommandLabel.fill]) {
        assert.include(command(bytes, x)(), shown(x))
        assert.include(command(bytes, x)(), `${bytes} B`)
      }
    }))
  })

  it("keeps the labels that the buffers have when it is made", () => {
    const [from, to] = [{ label: "from" }, { label: "to" }]
    const labels = [CommandLabel.copy(8, from, to), CommandLabel.migrate([from, to], "device")]
    from.label = "of the next owner"
    assert.deepStrictEqual(labels.map((label) => label()), ["copy 8 B from -> to", "migrate from, to -> device"])
  })

  it("keeps different commands on one buffer apart", () => {
    const labels = [
      CommandLabel.write(8, x),
      CommandLabel.read(8, x),
      CommandLabel.copy(8, x, x),
      CommandLabel.fill(8, x),
      CommandLabel.touch(x),
      CommandLabel.dispatch("x", 8)
    ]
    assert.strictEqual(new Set(labels.map((label) => label())).size, labels.length)
  })
})

import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import * as CommandLabel from "../../src/domain/arguments/CommandLabel.ts"

const label = fc.option(fc.string({ minLength: 1 }), { nil: undefined })
const shown = (name: string | undefined): string => name ?? "(no label)"

describe("CommandLabel", () => {
  it("names the command, its bytes and its buffers", () => {
    assert.deepStrictEqual([
      CommandLabel.write(8, "x"),
      CommandLabel.read(8, "x"),
      CommandLabel.copy(64, "x", "y"),
      CommandLabel.fill(16, "x"),
      CommandLabel.touch("x"),
      CommandLabel.dispatch("scale", 100)
    ], [
      "write 8 B -> x",
      "read 8 B x",
      "copy 64 B x -> y",
      "fill 16 B -> x",
      "touch x",
      "dispatch scale (100 items)"
    ])
  })

  it("says so where a buffer has no label", () => {
    fc.assert(fc.property(fc.nat(), label, label, (bytes, x, y) => {
      assert.include(CommandLabel.write(bytes, x), shown(x))
      assert.include(CommandLabel.read(bytes, x), shown(x))
      assert.include(CommandLabel.fill(bytes, x), shown(x))
      assert.include(CommandLabel.touch(x), shown(x))
      assert.include(CommandLabel.copy(bytes, x, y), `${shown(x)} -> ${shown(y)}`)
      for (const command of [CommandLabel.write, CommandLabel.read, CommandLabel.fill]) {
        assert.include(command(bytes, x), `${bytes} B`)
      }
    }))
  })

  it("tells different commands on one buffer apart", () => {
    const commands = [
      CommandLabel.write(8, "x"),
      CommandLabel.read(8, "x"),
      CommandLabel.copy(8, "x", "x"),
      CommandLabel.fill(8, "x"),
      CommandLabel.touch("x"),
      CommandLabel.dispatch("x", 8)
    ]
    assert.strictEqual(new Set(commands).size, commands.length)
  })
})

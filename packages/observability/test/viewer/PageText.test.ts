/** The bundled script and styles of the viewer's page are those of its sources, and stand in a document as they are. */
import { assert, describe, it } from "@effect/vitest"
import { strictEqual } from "@effect/vitest/utils"
import { spawnSync } from "node:child_process"
import { join } from "node:path"
import * as PageText from "../../src/viewer/PageText.ts"

describe("the page of the viewer", () => {
  it("is what its sources make", () => {
    const { status, stderr } = spawnSync(process.execPath, ["scripts/page.ts", "--check"], {
      cwd: join(import.meta.dirname, "../../../.."),
      encoding: "utf8"
    })
    strictEqual(status, 0, stderr)
  })

  it("has the license of the library in it, and nothing that ends its element", () => {
    assert.include(PageText.script, "Permission is hereby granted")
    assert.notMatch(PageText.script, /<\/script|<!--/i)
    assert.notMatch(PageText.style, /<\/style/i)
  })
})

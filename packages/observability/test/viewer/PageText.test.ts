/** The bundled script and styles of the viewer's page can be in an HTML document without escapes. */
import { assert, describe, it } from "@effect/vitest"
import * as PageText from "../../src/viewer/PageText.ts"

describe("the page of the viewer", () => {
  it("has the license of the library in it, and nothing that ends its element", () => {
    assert.include(PageText.script, "Permission is hereby granted")
    assert.notMatch(PageText.script, /<\/script|<!--/i)
    assert.notMatch(PageText.style, /<\/style/i)
  })
})

import { assert, describe, it } from "@effect/vitest"
import { strictEqual } from "@effect/vitest/utils"
import * as fc from "fast-check"
import {
  formatted,
  line,
  lines,
  list,
  thrownPlace,
  thrownText,
  withArticle
} from "../../src/domain/arguments/Format.ts"
import * as GpuError from "../../src/domain/GpuError.ts"

/** Characters that end a line, control a terminal or change the direction of text, and lone surrogates. */
const unfit = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u
const unfitButBreaks = /(?!\n)[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u

const char = fc.oneof(
  fc.constantFrom("\n", "\r", "\t", "\0", "\u001b", "\u0085", "\u009b", "\u2028", "\u202e", "\ud800", "\\", "\""),
  fc.string({ unit: "grapheme", minLength: 1, maxLength: 1 })
)
const text = fc.oneof(
  fc.array(char, { maxLength: 60 }).map((chars) => chars.join("")),
  fc.tuple(char, fc.integer({ min: 1, max: 100_000 })).map(([char, times]) => char.repeat(times))
)

const breaks = (text: string): number => text.split("\n").length

describe("texts from outside", () => {
  it("are on one line of a bounded length, whatever they hold", () => {
    fc.assert(fc.property(text, fc.integer({ min: 4, max: 500 }), (text, most) => {
      const written = line(text, most)
      assert.notMatch(written, unfit)
      // an escape is six characters, and the note of what is left out some more
      assert.isAtMost(written.length, most * 6 + 60)
      if (!unfit.test(text) && text.length <= most) strictEqual(written, text)
    }))
  })

  it("keep their line breaks where they are lines, and nothing else of control", () => {
    fc.assert(fc.property(text, (text) => {
      const written = lines(text)
      assert.notMatch(written, unfitButBreaks)
      if (text.length <= 8000) strictEqual(breaks(written), breaks(text))
    }))
    strictEqual(lines("<source>:1: error\r\n\tx = 1\u001b[0m"), "<source>:1: error\n  x = 1\\u001b[0m")
  })

  it("are counted from the seventeenth on in a list", () => {
    strictEqual(list(["a\n", "b"]), "a\\n, b")
    strictEqual(list(Array.from({ length: 20 }, (_, i) => i)).endsWith("15, and 4 more"), true)
  })

  it("show what is wrong with a text of another type", () => {
    strictEqual(line(Symbol("x\n")), "Symbol(x\\n)")
    strictEqual(line({}), "an object")
  })
})

describe("values", () => {
  const revoked = Proxy.revocable([], {})
  revoked.revoke()
  const throwing = {
    [Symbol.toPrimitive]: () => {
      throw new Error("unreadable")
    }
  }

  const cases: ReadonlyArray<readonly [unknown, string]> = [
    [revoked.proxy, "an object"],
    [throwing, "an object"],
    [[], "[]"],
    [[1, NaN, -0], "[1, NaN, -0]"],
    [[2n, undefined, true], "[2n, undefined, true]"],
    [[1, 2, 3, 4, 5], "an array"],
    [["a"], "an array"],
    [[[1]], "an array"],
    [
      new Proxy([1], {
        get: () => {
          throw new Error("unreadable")
        }
      }),
      "an array"
    ],
    [10n ** 100_000n, "a very large bigint"],
    [-7n, "-7n"],
    [-0, "-0"],
    ["\u2028", "\"\\u2028\""],
    [Symbol("a".repeat(1000)), `Symbol(${"a".repeat(23)}... (968 characters left out) ...${"a".repeat(9)})`]
  ]

  it("are shown in a few words", () => {
    for (const [value, expected] of cases) strictEqual(formatted(value), expected)
  })

  it("that were thrown are shown, error or not", () => {
    strictEqual(thrownText(new RangeError("a\nb")), "RangeError: a\\nb")
    strictEqual(thrownText(7), "7")
    strictEqual(thrownText(revoked.proxy), "something that cannot be read")
  })
})

const reasons = (text: string): ReadonlyArray<GpuError.Reason> => [
  new GpuError.InvalidRequest({ operation: text, problem: text, hint: text }),
  new GpuError.LimitExceeded({ operation: text, requested: 1, limitName: "maxBytes", limit: 0 }),
  new GpuError.DeviceUnavailable({ tried: [{ backend: text, device: text, why: text }], hint: text }),
  new GpuError.DeviceLost({ backend: text, detail: text }),
  new GpuError.Released({ operation: text, label: text, size: 1, why: "released" }),
  new GpuError.ForeignDevice({ operation: text, label: text, owner: text, expected: text }),
  new GpuError.Unsupported({ operation: text, backend: text, feature: text, hint: text }),
  new GpuError.DriverError({
    backend: text,
    call: text,
    codeName: undefined,
    code: 1,
    log: text,
    commands: Array.from({ length: 100 }, () => text),
    hint: text
  }),
  GpuError.outOfMemory(1).reason,
  new GpuError.OutOfMemory({
    ...(GpuError.outOfMemory(1).reason as GpuError.OutOfMemory),
    pooled: true,
    holders: [{ label: text, size: 1, capacity: 1, age: 1, callSite: text }],
    holderGroups: [{ label: text, callSite: text, leases: 1, bytes: 1 }]
  })
]

describe("messages", () => {
  it("of every reason hold no control character but line breaks, and are short", () => {
    fc.assert(fc.property(text, (text) => {
      for (const reason of reasons(text)) {
        const { message } = GpuError.make(reason)
        assert.notMatch(message, unfitButBreaks, reason._tag)
        assert.isBelow(message.length, 150_000, reason._tag)
      }
    }))
  })

  it("break no line for a label or an operation", () => {
    const forged = "x\nINFO all is well"
    for (const reason of reasons(forged)) {
      if (reason._tag === "Released" || reason._tag === "ForeignDevice" || reason._tag === "OutOfMemory") {
        assert.notInclude(reason.message, "\n", reason._tag)
      }
    }
    assert.match(reasons(forged)[4]!.message, /x\\nINFO all is well/)
  })
})

describe("a word", () => {
  it.each([
    ["OpenCL", "an OpenCL"],
    ["WGSL", "a WGSL"],
    ["host", "a host"],
    ["Int32Array", "an Int32Array"],
    ["Uint8Array", "a Uint8Array"],
    ["Float32Array", "a Float32Array"],
    ["f32", "an f32"],
    ["i32", "an i32"],
    ["u32", "a u32"],
    ["bool", "a bool"],
    ["object", "an object"],
    ["undefined", "an undefined"],
    ["image", "an image"],
    ["unit", "a unit"]
  ])("%s has its article", (word, expected) => {
    strictEqual(withArticle(word), expected)
  })
})

describe("a typed array", () => {
  it("is shown by its class, whatever a program puts on it", () => {
    strictEqual(formatted(new Float32Array(2)), "a Float32Array")
    strictEqual(formatted(new Int16Array(2)), "an Int16Array")
    strictEqual(
      formatted(Object.defineProperty(new Uint8Array(2), Symbol.toStringTag, { value: "nothing" })),
      "a Uint8Array"
    )
    strictEqual(formatted({ [Symbol.toStringTag]: "Float32Array" }), "an object")
    strictEqual(formatted(new DataView(new ArrayBuffer(2))), "an object")
  })
})

describe("what was thrown", () => {
  it("is shown with the place where it was, as far as it has one", () => {
    const here = thrownPlace(new RangeError("not today"))
    assert.match(here, /^RangeError: not today, at .*Format\.test\.ts.*:\d+:\d+$/)
    strictEqual(
      thrownPlace(Object.assign(new Error("x"), { stack: "f@http://a/b.js:1:2\ng@http://a/c.js:3:4" })),
      "Error: x, at http://a/b.js:1:2"
    )
    strictEqual(thrownPlace(Object.assign(new Error("x"), { stack: undefined })), "Error: x")
    strictEqual(thrownPlace("x"), `"x"`)
  })
})

import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import { flow, identity, pipe } from "effect/Function"
import type { AllocateOptions } from "../../src/services/Allocator.ts"
import * as CallSite from "../../src/services/CallSite.ts"
import { here, stacksDuring } from "../support/callSites.ts"

/** While somebody wants to know. */
const interested = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.acquireUseRelease(Effect.sync(CallSite.retain), () => effect, () => Effect.sync(CallSite.release))

const capture = (): string => CallSite.capture() ?? "unknown"

const at = (place: string, callSite: string | undefined): void => {
  assert.match(callSite ?? "unknown", /:\d+:\d+$/)
  strictEqual(callSite?.replace(/:\d+$/, ""), place)
}

const setLimit = (value: number, writable: boolean) =>
  Object.defineProperty(Error, "stackTraceLimit", { value, writable, configurable: true })

describe("a call site", () => {
  it.effect("is not looked for while nobody wants to know", () =>
    Effect.gen(function*() {
      const off = yield* stacksDuring(Effect.sync(() => [CallSite.capture(), CallSite.locate({}, capture)]))
      deepStrictEqual(off, [0, [undefined, {}]])
      const [stacks] = yield* interested(stacksDuring(Effect.sync(capture)))
      strictEqual(stacks, 1)
      strictEqual(CallSite.capture(), undefined)
    }))

  it.effect("is wanted until as many have gone as came", () =>
    Effect.gen(function*() {
      yield* interested(Effect.gen(function*() {
        yield* interested(Effect.void)
        assert.isDefined(CallSite.capture())
      }))
      strictEqual(CallSite.capture(), undefined)
    }))

  it.effect("is the caller's line, as a path", () =>
    interested(Effect.sync(() => {
      at(here(), CallSite.capture())
      assert.isFalse(here().startsWith("file:"))
      // through Effect's own functions and the engine's
      pipe([1], (numbers) => numbers.map(() => at(here(), CallSite.capture())))
      let deep: (entry: CallSite.Entry) => string | undefined = CallSite.capture
      for (let frames = 0; frames < 20; frames++) deep = flow(deep, identity)
      at(here(), deep(capture))
    })))

  it.effect("leaves the engine's limit of frames as it is", () =>
    interested(Effect.sync(() => {
      const { stackTraceLimit } = Error
      try {
        for (const writable of [true, false]) {
          setLimit(9, writable)
          at(here(), CallSite.capture())
          strictEqual(Error.stackTraceLimit, 9)
        }
      } finally {
        setLimit(stackTraceLimit, true)
      }
    })))

  it.effect("is found in any function that makes effects", () =>
    interested(Effect.gen(function*() {
      at(here(), yield* Effect.suspend(() => Effect.succeed(CallSite.capture())))
      yield* Effect.forEach([1, 2], () => Effect.succeed(at(here(), CallSite.capture())))
      yield* Effect.yieldNow
      at(here(), CallSite.capture())
    })))

  it.effect("is unknown where only Effect's run loop called, whoever resumed it", () =>
    interested(Effect.gen(function*() {
      const unknown = Effect.sync(CallSite.capture)
      strictEqual(yield* unknown, undefined)
      strictEqual(Effect.runSync(unknown), undefined)
    })))

  it.effect("is part of the options, unless they name one", () =>
    interested(Effect.sync(() => {
      const options: AllocateOptions = { label: "x" }
      const [located, place] = [CallSite.locate(options, capture), here()]
      at(place, located?.callSite)
      deepStrictEqual(located, { label: "x", callSite: located?.callSite })
      deepStrictEqual(options, { label: "x" })
      const named = { callSite: "mine:1:1" }
      strictEqual(CallSite.locate(named, capture), named)
      at(here(), CallSite.locate(undefined, capture)?.callSite)
    })))

  it("is remembered of an object", () => {
    const [known, unknown] = [{}, {}]
    CallSite.note(known, "a.ts:1:2")
    CallSite.note(unknown, undefined)
    deepStrictEqual([CallSite.of(known), CallSite.of(unknown), CallSite.of({})], ["a.ts:1:2", undefined, undefined])
  })
})

const own = (folder: string, extension = "js") => `    at captured (${folder}/services/CallSite.${extension}:80:30)`

/** What is found in a stack of these lines. */
const foundIn = (lines: ReadonlyArray<string>) =>
  interested(Effect.acquireUseRelease(
    Effect.sync(() => {
      const { prepareStackTrace } = Error
      Error.prepareStackTrace = () => lines.join("\n")
      return prepareStackTrace
    }),
    () => Effect.sync(() => CallSite.capture()),
    (prepareStackTrace) => Effect.sync(() => void (Error.prepareStackTrace = prepareStackTrace))
  ))

describe("stacks of other places", () => {
  const installed = "file:///app/node_modules/effect-gpu-pool/dist"
  const effect = "file:///app/node_modules/effect/dist"
  const runLoop = `    at FiberImpl.runLoop (${effect}/internal/effect.js:476:97)`
  const stacks: ReadonlyArray<readonly [name: string, lines: ReadonlyArray<string>, found: string | undefined]> = [
    [
      "of an installed package",
      [
        own(installed),
        `    at Module.zeros (${installed}/array/Creation.js:9:1)`,
        "    at file:///app/src/main.js:7:3"
      ],
      "/app/src/main.js:7:3"
    ],
    [
      "with a package manager's links",
      [
        own("file:///app/node_modules/.pnpm/effect-gpu-pool@0.1.0/node_modules/effect-gpu-pool/dist"),
        "    at pipe (file:///app/node_modules/.pnpm/effect@4.1.0/node_modules/effect/dist/Function.js:457:10)",
        "    at make (/app/with space (1)/main.ts:7:3)"
      ],
      "/app/with space (1)/main.ts:7:3"
    ],
    [
      "with source maps",
      [
        own("/app/node_modules/effect-gpu-pool/src", "ts"),
        "    at allocate (/app/node_modules/effect-gpu-pool/src/services/Allocator.ts:1:1)",
        "    at /app/node_modules/effect/src/Function.ts:4:5",
        "    at /app/src/dist/services/Mine.ts:7:3"
      ],
      "/app/src/dist/services/Mine.ts:7:3"
    ],
    [
      "with source maps, that end in the run loop",
      [
        own("/app/node_modules/effect-gpu-pool/src", "ts"),
        "    at evaluate (/app/node_modules/effect/src/internal/effect.ts:1026:12)",
        "    at main (/app/main.ts:7:3)"
      ],
      undefined
    ],
    [
      "of a function that is called as the run loop is",
      [own(installed), "    at Game.runLoop (file:///app/game.js:7:3)", runLoop],
      "/app/game.js:7:3"
    ],
    [
      "that end in the run loop",
      [own(installed), "    at Generator.next (<anonymous>)", runLoop, "    at main (file:///app/main.js:7:3)"],
      undefined
    ],
    [
      "of Windows",
      [own("file:///C:/app/node_modules/effect-gpu-pool/dist"), "    at async main (file:///C:/my%20app/main.js:7:3)"],
      "C:/my app/main.js:7:3"
    ],
    ["with a path that is badly encoded", [own(installed), "    at file:///100%/main.js:7:3"], "/100%/main.js:7:3"],
    [
      "of a development server",
      [
        own("http://localhost:5173/node_modules/effect-gpu-pool/src").replace(".js:", ".ts?t=1:"),
        "    at main (http://localhost:5173/main.ts?t=1:7:3)"
      ],
      "http://localhost:5173/main.ts?t=1:7:3"
    ],
    [
      "of other engines",
      [
        "captured@https://example.org/effect-gpu-pool/dist/services/CallSite.js:80:30",
        "allocate@https://example.org/effect-gpu-pool/dist/services/Allocator.js:1:2",
        "map@[native code]",
        "main/<@https://example.org/main@1.2.3.js:7:3",
        ""
      ],
      "https://example.org/main@1.2.3.js:7:3"
    ],
    [
      "of evaluated code",
      [
        own(installed),
        "    at eval (eval at f (file:///app/a.js:1:2), <anonymous>:1:1)",
        "    at f (file:///app/a.js:7:3)"
      ],
      "/app/a.js:7:3"
    ],
    ["of a bundle", ["    at x (file:///app/bundle.js:1:1)", "    at file:///app/bundle.js:7:3"], "/app/bundle.js:1:1"],
    [
      "of a bundle, that end in the run loop",
      ["    at ~effect/Effect/evaluate (file:///app/bundle.js:1:1)", "    at main (file:///app/bundle.js:7:3)"],
      undefined
    ],
    ["of nobody but the engine", [own(installed), "    at node:internal/modules/esm/module_job:561:25"], undefined],
    ["without any line", [], undefined]
  ]

  it.effect.each(stacks)(
    "%s",
    ([, lines, found]) => Effect.map(foundIn(lines), (callSite) => strictEqual(callSite, found))
  )

  it.effect("a stack that is no text", () =>
    Effect.gen(function*() {
      const { prepareStackTrace } = Error
      Error.prepareStackTrace = (_, sites) => sites
      const callSite = yield* interested(Effect.sync(() => CallSite.capture()))
      Error.prepareStackTrace = prepareStackTrace
      strictEqual(callSite, undefined)
    }))
})

import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { flow, identity, pipe } from "effect/Function"
import * as CallStack from "../../src/domain/CallStack.ts"
import type { AllocateOptions } from "../../src/services/buffers/Allocator.ts"
import * as CallSite from "../../src/services/calls/CallPlaces.ts"
import { here, stacksDuring } from "../support/callSites.ts"

const at = (place: string, options: CallSite.Located | undefined): void => {
  assert.match(options?.callSite ?? "unknown", /:\d+:\d+$/)
  strictEqual(options?.callSite?.replace(/:\d+$/, ""), place)
}

/** The entry point through which the caller came, for these tests. */
const entry: CallSite.Entry = () => undefined

/** A bound function adds no stack frame. */
const locate: () => CallSite.Located | undefined = CallSite.locate.bind(undefined, {}, entry)

const inner = (): string | undefined => locate()?.callSite

const outer = (): string | undefined => inner()

describe("a call site", () => {
  it.effect("is not looked for unless the running fiber tracks it", () =>
    Effect.gen(function*() {
      const found = Effect.sync(() => locate())
      const stacks = Effect.map(stacksDuring(found), ([stacks]) => stacks)
      const on = yield* Effect.forkChild(CallSite.track(Effect.andThen(Effect.yieldNow, stacks)))
      deepStrictEqual(yield* stacksDuring(found), [0, {}])
      strictEqual(yield* CallSite.track(stacks), 1)
      deepStrictEqual([yield* stacks, yield* Fiber.join(on), yield* stacks], [0, 1, 0])
    }))

  it("is unknown outside of any fiber", () => {
    deepStrictEqual(locate(), {})
  })

  it.effect("is the caller's line, as a path", () =>
    CallSite.track(Effect.sync(() => {
      at(here(), locate())
      assert.isFalse(here().startsWith("file:"))
      // through Effect's own functions and the engine's
      pipe([1], (numbers) => numbers.map(() => at(here(), locate())))
      let deep = locate
      for (let frames = 0; frames < 20; frames++) deep = flow(deep, identity)
      at(here(), deep())
    })))

  it.effect("leaves the engine's limit of frames as it is", () =>
    CallSite.track(Effect.sync(() => {
      const { stackTraceLimit } = Error
      try {
        Error.stackTraceLimit = 9
        at(here(), locate())
        strictEqual(Error.stackTraceLimit, 9)
      } finally {
        Error.stackTraceLimit = stackTraceLimit
      }
    })))

  it.effect("is found in any function that makes effects", () =>
    CallSite.track(Effect.gen(function*() {
      at(here(), yield* Effect.suspend(() => Effect.succeed(locate())))
      yield* Effect.forEach([1, 2], () => Effect.succeed(at(here(), locate())))
      yield* Effect.yieldNow
      at(here(), locate())
    })))

  it.effect("is unknown where only Effect's run loop called, whoever resumed it", () =>
    CallSite.track(Effect.gen(function*() {
      const unknown = Effect.sync(locate)
      deepStrictEqual(yield* unknown, {})
      deepStrictEqual(Effect.runSync(CallSite.track(unknown)), {})
    })))

  it.effect("is part of the options, unless they name one", () =>
    CallSite.track(Effect.sync(() => {
      const options: AllocateOptions = { label: "x" }
      const [located, place] = [CallSite.locate(options, entry), here()]
      at(place, located)
      deepStrictEqual(located, { label: "x", callSite: located?.callSite })
      deepStrictEqual(options, { label: "x" })
      const named = { callSite: "mine:1:1" }
      strictEqual(CallSite.locate(named, entry), named)
      at(here(), CallSite.locate(undefined, entry))
    })))

  it.effect("has its callers after it where they are asked for: functions, then those of Effect.fn and spans", () =>
    Effect.gen(function*() {
      const decode = Effect.fn("decode")(function*() {
        yield* Effect.yieldNow
        return outer()
      })
      const found = (frames: number) =>
        Effect.map(CallSite.trackFrames(decode(), frames), (callSite = "") => CallStack.framesOf(callSite))
      const all = yield* found(16)
      const [callSite, ...callers] = all
      assert.match(callSite!, /CallSite\.test\.ts:\d+:\d+$/)
      assert.match(callers[0]!, /^outer \(\/.*CallSite\.test\.ts:\d+:\d+\)$/)
      assert.isFalse(all.some((frame) => frame.includes("(definition)")))
      assert.isTrue(callers.some((frame) => /^decode \(\/.*CallSite\.test\.ts:\d+:\d+\)$/.test(frame)))
      for (const frames of [1, 2, 3]) deepStrictEqual(yield* found(frames), all.slice(0, frames))
      for (const odd of [0, -3, Number.NaN, 0.5]) deepStrictEqual(yield* found(odd), all.slice(0, 1))
    }))

  it("is remembered of an object", () => {
    const [known, unknown] = [{}, {}]
    CallSite.note(known, "a.ts:1:2")
    CallSite.note(unknown, undefined)
    deepStrictEqual([CallSite.of(known), CallSite.of(unknown), CallSite.of({})], ["a.ts:1:2", undefined, undefined])
  })
})

const own = (folder: string, extension = "js") =>
  `    at captured (${folder}/services/calls/CallPlaces.${extension}:80:30)`

/** What is found in a stack of these lines. */
const foundIn = (lines: ReadonlyArray<string>) =>
  CallSite.track(Effect.acquireUseRelease(
    Effect.sync(() => {
      const { prepareStackTrace } = Error
      Error.prepareStackTrace = () => lines.join("\n")
      return prepareStackTrace
    }),
    () => Effect.sync(() => locate()?.callSite),
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
        "captured@https://example.org/effect-gpu-pool/dist/services/calls/CallPlaces.js:80:30",
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
      const located = yield* CallSite.track(Effect.sync(() => locate()))
      Error.prepareStackTrace = prepareStackTrace
      deepStrictEqual(located, {})
    }))
})

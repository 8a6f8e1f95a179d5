/**
 * What the trace of a schedule shows: which lines of the program each fiber ran, in a column of its own, and where the
 * explorer stopped it.
 */
import { assert, describe, it } from "@effect/vitest"
import { strictEqual } from "@effect/vitest/utils"
import { Schedules } from "effect-schedules"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { runInThisContext } from "node:vm"
import { widthOf } from "../../packages/schedules/src/PrintedText.ts"
import * as Host from "../../src/layers/Host/Host.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import * as Lease from "../../src/services/lease/Lease.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"

const source = readFileSync(import.meta.filename, "utf8").split("\n")

/** The number of the line of this file that ends with the mark. */
const numberOf = (mark: string): number => {
  const index = source.findIndex((line) => line.endsWith(`// ${mark}`))
  assert.isAtLeast(index, 0, mark)
  return index + 1
}

/** That line as a trace shows it. */
const lineWith = (mark: string): string => `${numberOf(mark)}| ${source[numberOf(mark) - 1]!.trim()}`

const violationOf = (program: Effect.Effect<unknown, unknown>, options?: Schedules.ExploreOptions) =>
  Effect.flip(Schedules.explore(program, options))

const traceOf = (program: Effect.Effect<unknown, unknown>, options?: Schedules.ExploreOptions) =>
  Effect.map(violationOf(program, options), ({ trace }) => trace)

/** One row of a trace: the fiber of its column, and its text without line breaks. */
interface Cell {
  readonly fiber: string
  readonly text: string
}

const isHead = (line: string): boolean => /^ +steps {2}/.test(line)

/** Reads the columns of a trace, by where its heads begin. */
const cellsOf = (trace: string): ReadonlyArray<Cell> => {
  const lines = trace.split("\n")
  const head = lines.findIndex(isHead)
  const heads = [...lines[head]!.matchAll(/\S+(?: \S+)*/g)].slice(1)
  const cells: Array<{ readonly fiber: string; text: string }> = []
  for (const line of lines.slice(head + 1)) {
    const steps = line.slice(0, heads[0]!.index).trim()
    const rest = line.slice(heads[0]!.index).trim()
    const at = line.indexOf(rest, heads[0]!.index)
    const fiber = heads.filter(({ index }) => index <= at).at(-1)![0]
    if (/^\d+(?:-\d+)?$/.test(steps)) cells.push({ fiber, text: rest })
    else if (cells.length > 0 && rest !== "") cells.at(-1)!.text += ` ${rest}`
  }
  return cells
}

const squeezed = (text: string): string => text.replace(/\s/g, "")

/** In which row of the fiber each of these lines is first shown; -1 for one that is not. */
const shownIn = (cells: ReadonlyArray<Cell>, fiber: string, lines: ReadonlyArray<string>): ReadonlyArray<number> =>
  lines.map((line) => cells.findIndex((cell) => cell.fiber === fiber && squeezed(cell.text).includes(squeezed(line))))

const assertFits = (trace: string, width: number): void => {
  for (const line of trace.split("\n")) assert.isAtMost(widthOf(line), width, line)
}

const counted = Effect.suspend(() => {
  let count = 0
  const read = Effect.sync(() => count) // reads
  const increment = Effect.flatMap(read, (seen) =>
    Effect.sync(() => {
      count = seen + 1 // writes
    }))
  return Effect.all([increment, increment], { concurrency: "unbounded" }).pipe(
    Effect.andThen(Effect.suspend(() => count === 2 ? Effect.void : Effect.fail(`counted ${count}`)))
  )
})

const leased = Effect.gen(function*() {
  const buffer = yield* BufferPool.allocate(64)
  let isReleased = false
  yield* Schedules.withIntruder(
    Effect.gen(function*() {
      if (isReleased) return // checks
      yield* CommandQueue.fill(buffer, 7) // acts
    }),
    () =>
      Effect.suspend(() => {
        isReleased = true // ends it
        return Lease.release(buffer)
      })
  )
}).pipe(Effect.scoped, Effect.provide(BufferPool.layer()), Effect.provide(Host.layer()))

/** Fibers that each read a number in one step, and write it in another. */
const writers = (names: ReadonlyArray<string>) =>
  Effect.suspend(() => {
    let count = 0
    const write = Effect.gen(function*() {
      const seen = yield* Effect.sync(() => count)
      yield* Effect.yieldNow
      count = seen + 1
    })
    return Effect.gen(function*() {
      const fibers: Array<Fiber.Fiber<void>> = []
      for (const name of names) fibers.push(yield* Effect.forkChild(Schedules.named(write, name)))
      yield* Fiber.joinAll(fibers)
      if (count < names.length) return yield* Effect.fail(`${count} of ${names.length}`)
    })
  })

/** The counter that loses an update, as a script by itself. */
const racy = [
  "(Effect) => Effect.suspend(() => {",
  "  let count = 0",
  "  const increment = Effect.flatMap(Effect.sync(() => count), (seen) => Effect.sync(() => { count = seen + 1 }))",
  "  return Effect.andThen(",
  "    Effect.all([increment, increment], { concurrency: 2 }),",
  "    Effect.suspend(() => count === 2 ? Effect.void : Effect.fail(`counted ${count}`))",
  "  )",
  "})"
].join("\n")

const fromScript = (code: string, filename: string): Effect.Effect<void, string> =>
  (runInThisContext(code, { filename }) as (effect: typeof Effect) => Effect.Effect<void, string>)(Effect)

describe("the lines that raced", () => {
  it.effect("of a lost update stand in the columns of their fibers, in the order in which they ran", () =>
    Effect.gen(function*() {
      const { message, trace } = yield* violationOf(counted)
      const [reads, writes] = [lineWith("reads"), lineWith("writes")]
      const cells = cellsOf(trace)
      const [firstReads, firstWrites] = shownIn(cells, "fiber 2", [reads, writes])
      const [otherReads, otherWrites] = shownIn(cells, "fiber 3", [reads, writes])
      assert.isTrue(0 <= firstReads! && firstReads! < otherReads! && otherReads! <= otherWrites!, trace)
      assert.isBelow(otherWrites!, firstWrites!, trace)
      assert.include(cells[firstReads!]!.text, "-> stopped here (1:1)")
      assert.include(message, `Traces.test.ts:${numberOf("writes")} \`count = seen + 1`)
    }))

  it.effect("of a check and an act on a lease stand there too", () =>
    Effect.gen(function*() {
      const { message, trace } = yield* violationOf(leased, { width: 200 })
      const cells = cellsOf(trace)
      const [checks, acts] = shownIn(cells, "program (fiber 4)", [lineWith("checks"), lineWith("acts")])
      const [ends] = shownIn(cells, "intruder (fiber 3)", [lineWith("ends it")])
      const fails = cells.findIndex(({ text }) => text.includes("-> fails with GpuError"))
      assert.isTrue(0 <= checks! && checks === acts && acts! < ends! && ends! < fails, trace)
      assert.strictEqual(cells[fails]!.fiber, "program (fiber 4)")
      // Before the columns, in sentences.
      const sentences = message.slice(0, message.indexOf("\n    steps"))
      assert.include(sentences, `program (fiber 4) stopped at test/schedules/Traces.test.ts:${numberOf("checks")}-`)
      assert.include(sentences, `Traces.test.ts:${numberOf("ends it")}-`)
    }))

  it.effect("name the span in which they ran", () =>
    Effect.gen(function*() {
      const inSpan = Effect.fn("withdraw")(function*() {
        yield* Effect.void
        return yield* Effect.fail("empty") // in a span
      })
      const cells = cellsOf(yield* traceOf(inSpan()))
      const [row] = shownIn(cells, "main (fiber 1)", [lineWith("in a span")])
      assert.match(cells[row!]?.text ?? "", /^Traces\.test\.ts:\d+:\d+ in "withdraw"/)
    }))

  it.effect("are not those of functions that run later", () =>
    Effect.gen(function*() {
      const nested = Effect.gen(function*() {
        const seen = yield* Effect.yieldNow
        const later = (): string => {
          const never = typeof seen // never runs
          return never
        }
        return yield* Effect.fail(later.length) // after the function
      })
      const trace = yield* traceOf(nested)
      assert.include(squeezed(trace), squeezed(lineWith("after the function")))
      assert.notInclude(trace, "never runs")
    }))
})

describe("the columns", () => {
  it.effect("have the width that was asked for", () =>
    Effect.gen(function*() {
      for (const width of [60, 80, 120, 200]) {
        assertFits(yield* traceOf(counted, { width }), width)
        assertFits(yield* traceOf(leased, { width }), width)
      }
      const wide = cellsOf(yield* traceOf(counted, { width: 300 }))
      assert.isTrue(wide.some(({ text }) => text.includes(lineWith("reads"))))
    }))

  it.effect("are marks where there are too many for text", () =>
    Effect.gen(function*() {
      const names = Array.from({ length: 10 }, (_, index) => `writer ${index}`)
      const trace = yield* traceOf(writers(names), { deviations: 1 })
      assertFits(trace, 120)
      const lines = trace.split("\n")
      const head = lines.findIndex(isHead)
      const numbers = lines[head]!.trim().split(/\s+/).slice(1)
      assert.isAtLeast(numbers.length, 4)
      const rows = lines.slice(head + 1).filter((line) => /^ *\d/.test(line))
      for (const row of rows) {
        const marks = /^ *[\d-]+ +((?:[*|] *)+)/.exec(row)?.[1]?.trim().split(/\s+/) ?? []
        assert.strictEqual(marks.length, numbers.length, row)
        assert.strictEqual(marks.filter((mark) => mark === "*").length, 1, row)
        assert.include(row, `(fiber ${numbers[marks.indexOf("*")]})`)
      }
      const columns = cellsOf(yield* traceOf(writers(names), { deviations: 1, width: 500 }))
      assert.isTrue(columns.some(({ fiber }) => fiber === "writer 9 (fiber 11)"))
    }))

  it.effect("say who started each fiber, and where", () =>
    Effect.gen(function*() {
      const outer = Schedules.named("outer")(Effect.gen(function*() {
        const inner = yield* Effect.forkDetach(Effect.die("inner"), { startImmediately: true })
        yield* Fiber.await(inner)
      }))
      const program = Effect.gen(function*() {
        const fiber = yield* Effect.forkChild(outer) // starts the outer
        yield* Fiber.join(fiber)
      })
      const trace = yield* traceOf(program, { width: 300 })
      const [, origins = ""] = trace.split("\n").slice(trace.split("\n").findIndex(isHead))
      assert.include(origins, `from main (fiber 1) at Traces.test.ts:${numberOf("starts the outer")}`)
      assert.include(trace, "fiber 3")
      assert.include(trace, "-> dies of inner")
    }))

  it.effect("show labels whatever is in them", () =>
    Effect.gen(function*() {
      const names = ["red\u001b[31m\n\u202etext", "漢字".repeat(200), "👩‍👩‍👧".repeat(30)]
      const { message } = yield* violationOf(writers(names))
      assert.notMatch(message.replaceAll("\n", ""), /[\p{Cc}\u202a-\u202e]/u)
      assert.include(message, "red\\u001b[31m\\n\\u202et")
      const { trace } = yield* violationOf(writers(names.slice(1)))
      assertFits(trace, 120)
      assert.isBelow(trace.length, 20_000)
    }))
})

describe("a trace", () => {
  it.effect("says how fibers end, and where they wait", () =>
    Effect.gen(function*() {
      const stuck = Effect.gen(function*() {
        const never = yield* Deferred.make<void>()
        const sleeper = yield* Effect.forkChild(
          Schedules.named("sleeper")(Effect.gen(function*() {
            yield* Effect.yieldNow
            yield* Deferred.await(never) // sleeps
          }))
        )
        yield* Effect.sleep(1)
        yield* Fiber.interrupt(sleeper)
        yield* Deferred.await(never) // waits
      })
      const cells = cellsOf(yield* traceOf(stuck))
      const [waits] = shownIn(cells, "main (fiber 1)", [lineWith("waits")])
      assert.include(cells[waits!]?.text, "-> waits")
      const [sleeps] = shownIn(cells, "sleeper (fiber 2)", [lineWith("sleeps")])
      assert.isAtLeast(sleeps!, 0)
      assert.isTrue(cells.some(({ text }) => text.includes("-> is interrupted by main (fiber 1)")))
    }))

  it.effect("names the error that a fiber fails with or dies of, also one without a text", () =>
    Effect.gen(function*() {
      const unspeakable = Object.assign(new Error("no"), {
        toString: () => {
          throw new Error("no text")
        }
      })
      for (const odd of [Object.create(null), { toString: 7 }, unspeakable]) {
        for (const end of [Effect.fail(odd), Effect.die(odd)]) {
          const child = Effect.flatMap(Effect.forkChild(end), Fiber.await)
          const violation = yield* Effect.flip(
            Schedules.explore(Effect.andThen(child, Effect.andThen(Effect.yieldNow, end)))
          )
          assert.include(["failed", "defect"], violation.kind)
          assert.include(violation.trace, "main (fiber 1)")
        }
      }
      // One line of a message may be long.
      const long = new Error("x")
      long.stack = `   at ${"(".repeat(50_000)}`
      strictEqual((yield* Effect.flip(Schedules.explore(Effect.die(long)))).kind, "defect")
    }))

  it.effect("shows that time passed too early", () =>
    Effect.gen(function*() {
      const program = Effect.timeoutOrElse(Effect.yieldNow, { duration: 10, orElse: () => Effect.fail("too late") })
      const { message, path, trace } = yield* violationOf(program)
      assert.include(trace, `time passes: 10 ms (${path})`)
      assert.include(message, `${path}: time passed early, to 10 ms`)
    }))

  it.effect("of a script without a source map shows the script's lines", () =>
    Effect.gen(function*() {
      const wrongMaps = ["none.js.map", "data:application/json;base64,e30=", "data:,%", "http://none.test/map"]
      for (const end of ["", ...wrongMaps.map((address) => `\n//# sourceMappingURL=${address}`)]) {
        const { message } = yield* violationOf(fromScript(racy + end, "/without/a/map.js"))
        assert.include(message, "/without/a/map.js:3:")
        assert.include(message, "const increment =")
      }
      // The lines are not those of the file with this name.
      const { message } = yield* violationOf(fromScript(racy, join(import.meta.dirname, "../../package.json")))
      assert.include(message, "package.json (compiled):3:")
    }))

  it.effect("of a script in one long line shows what stands at each place", () =>
    Effect.gen(function*() {
      const bundle = `/*${"(".repeat(100_000)}*/ ${
        racy.replaceAll(/\n(?= {2}(?:const|return))/g, ";").replaceAll(/\s+/g, " ")
      }`
      const { message, trace } = yield* violationOf(fromScript(bundle, "/bundle.js"))
      assert.match(message, /\/bundle\.js:1:1\d{5} `\(seen\) => Effect\.sync/)
      assert.include(squeezed(trace), squeezed("() => { count = seen + 1 }"))
      assert.isBelow(message.length, 20_000)
    }))

  it.effect("of a compiled script shows what was written", () =>
    Effect.gen(function*() {
      const written = racy.replaceAll("count", "written")
      const map = {
        version: 3,
        sources: ["written.ts"],
        sourcesContent: [written],
        names: [],
        // The script has two lines more at its begin.
        mappings: `;;AAAA${";AACA".repeat(racy.split("\n").length - 1)}`
      }
      const comment = `//# sourceMappingURL=data:application/json;base64,${btoa(JSON.stringify(map))}`
      const { message } = yield* violationOf(fromScript(`\n\n${racy}\n${comment}\n// the end`, "/with/a/map.js"))
      assert.include(message, "/with/a/written.ts:3:1 `const increment = Effect.flatMap(Effect.sync(() => written)")
      assert.notInclude(message, "map.js")
    }))

  it.effect("shows functions by their text where the engine reports no places", () =>
    Effect.gen(function*() {
      const { getBuiltinModule } = process
      process.getBuiltinModule = () => undefined
      try {
        const { trace } = yield* violationOf(counted, { width: 300 })
        assert.match(trace, /Sync \(\) => count\b/)
        assert.match(trace, /Sync \(\) => \{ count = seen \+ 1/)
        assert.include(trace, "-> stopped here (1:1)")
      } finally {
        process.getBuiltinModule = getBuiltinModule
      }
    }))

  it.effect("of 100,000 steps, and of hundreds of deviations, is no longer than others", () =>
    Effect.gen(function*() {
      let turns = 0
      const turn = Effect.sync(() => turns++)
      const endless = Effect.all([Effect.forever(Effect.yieldNow), Effect.forever(turn)], { concurrency: 2 })
      const { kind, trace } = yield* violationOf(endless, { maxSteps: 100_000 })
      assert.strictEqual(kind, "endless")
      assert.isAtMost(trace.split("\n").length, 300)
      const path = Array.from({ length: 400 }, (_, decision) => `${decision}:1`).join(" ")
      const program = writers(Array.from({ length: 200 }, (_, index) => `writer ${index}`))
      const busy = yield* Effect.match(Schedules.replay(program, path, { maxSteps: 100_000 }), {
        onFailure: (violation) => violation.trace,
        onSuccess: (text) => text
      })
      assert.isAtMost(busy.split("\n").length, 1_200)
      assert.match(busy, /^\.\.\. \d+ more$/m)
    }))

  it.effect("is of the same run as without it", () =>
    Effect.gen(function*() {
      const orders: Array<string> = []
      const program = Effect.gen(function*() {
        const order: Array<string> = []
        const say = (word: string) => Effect.sync(() => void order.push(word))
        const sleeper = yield* Effect.forkChild(Effect.andThen(Effect.sleep(5), say("slept")))
        const worker = yield* Effect.forkChild(
          Effect.onInterrupt(Effect.andThen(say("works"), Effect.never), () => say("over"))
        )
        yield* Effect.all([say("a"), Effect.andThen(Effect.yieldNow, say("b"))], { concurrency: 2 })
        yield* Effect.race(Effect.sleep(3), Fiber.join(sleeper))
        yield* Fiber.interrupt(worker)
        orders.push(order.join())
      })
      for (let decision = 0; decision < 20; decision++) {
        orders.length = 0
        yield* Schedules.replay(program, `${decision}:1 ${decision + 3}:1`)
        assert.strictEqual(new Set(orders).size, 1, orders.join(" | "))
        assert.strictEqual(orders.length, 2)
      }
    }))

  it.effect("is refused in lines of no width", () =>
    Effect.gen(function*() {
      for (const width of [59, 0, 70.5, Number.NaN]) {
        assert.include(String(yield* Effect.exit(Schedules.explore(Effect.void, { width }))), "width")
        assert.include(String(yield* Effect.exit(Schedules.replay(Effect.void, "", { width }))), "width")
      }
    }))
})

import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual } from "@effect/vitest/utils"
import * as fc from "fast-check"
import { readFileSync } from "node:fs"
import { type RequestState, transitions } from "../../src/domain/pool/machine/Request.ts"
import { World, type WorldOptions } from "../support/machineWorld.ts"

const anyOptions: fc.Arbitrary<WorldOptions> = fc.record({
  maxBytes: fc.constantFrom(64, 100, 1000),
  driverBytes: fc.constantFrom(40, 100, 100_000),
  maxBypasses: fc.constantFrom(0, 2, 16),
  clears: fc.boolean(),
  hasHandlers: fc.boolean()
})

describe("the machine of a pool", () => {
  it("counts every byte once, whatever comes in, and lets every request end, as the memory does too", () => {
    fc.assert(
      fc.property(
        anyOptions,
        fc.array(fc.nat(2 ** 31 - 1), { minLength: 1, maxLength: 300 }),
        fc.constantFrom(undefined, "close" as const, "lose" as const),
        (options, choices, end) => {
          const world = new World(options)
          for (const choice of choices) {
            world.step(choice)
            world.check()
          }
          if (end !== undefined) world.end(end)
          world.check()
          world.drain()
          world.checkEmpty()
        }
      ),
      { numRuns: 2000, verbose: 1 }
    )
  })

  it("has the states and transitions that its page draws", () => {
    const page = readFileSync(new URL("../../docs/machine.md", import.meta.url), "utf8")
    const drawn = Array.from(page.matchAll(/^ {2}(\w+) --> (\w+)/gm), ([, from, to]) => `${from} --> ${to}`)
    const all = Object.entries(transitions) as ReadonlyArray<[RequestState, ReadonlyArray<RequestState>]>
    deepStrictEqual(drawn.sort(), all.flatMap(([from, to]) => to.map((one) => `${from} --> ${one}`)).sort())
    for (const [state] of all) assert.match(page, new RegExp(`^\\| \`${state}\` +\\|`, "m"))
  })
})

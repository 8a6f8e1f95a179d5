/** Random programs of several libraries on one device, in a page of their own. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { bundle, FreshPages } from "../../../../../test/browser/Chromium.ts"
import { modulesOfNode } from "../inPage.ts"
import type { Case } from "./Program.ts"
import type { Answer, Order } from "./run.ts"

declare global {
  var openPrograms: (order: Order) => Promise<void>
  var runPrograms: (one: Case) => Promise<Answer>
}

const contents = `
import { openPrograms } from "./run.ts"
globalThis.openPrograms = async (order) => { globalThis.runPrograms = await openPrograms(navigator.gpu, order) }
`

/** Bundles the libraries. */
export const programsPage = async (): Promise<string> =>
  (await bundle({ stdin: { contents, resolveDir: import.meta.dirname }, external: modulesOfNode })).code

/** A fresh page with libraries on one device: what runs a case there. */
export const programsInPage = (
  script: string,
  order: Order,
  complaints: Array<string>
): Effect.Effect<(one: Case) => Promise<Answer>, never, FreshPages | Scope.Scope> =>
  Effect.gen(function*() {
    const page = yield* (yield* FreshPages).open(script, complaints)
    yield* Effect.promise(() => page.evaluate((order) => globalThis.openPrograms(order), order))
    return (one) => page.evaluate((one) => globalThis.runPrograms(one), one)
  })

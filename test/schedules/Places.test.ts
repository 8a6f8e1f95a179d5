/** Which schedules with one deviation the intruders of a scene have. */
import { assert, describe, it } from "@effect/vitest"
import { Schedules } from "effect-schedules"
import * as Effect from "effect/Effect"
import { ScheduledRun } from "../../packages/schedules/src/ScheduledRun.ts"
import { format } from "../../packages/schedules/src/SchedulePath.ts"
import { everySchedule, type Search } from "../../packages/schedules/src/Search.ts"
import { oneDeviation } from "./Places.ts"

/** Who did a step, in their order. */
let order: Array<string> = []

const steps = (name: string, count: number) =>
  Effect.replicateEffect(Effect.andThen(Effect.sync(() => order.push(name)), Effect.yieldNow), count, { discard: true })

/** Two fibers, a timer and an intruder. */
const program = Schedules.withIntruder(
  Effect.all([steps("one", 3), Effect.andThen(Effect.sleep("1 millis"), steps("other", 3))], { concurrency: 2 }),
  () => Effect.all([steps("intruder", 1), steps("beside it", 1)], { concurrency: 2 })
)

interface Ran {
  readonly path: string
  /** Whether the deviation runs the intruder, or comes after it has begun. */
  readonly intrudes: boolean
  readonly order: ReadonlyArray<string>
  readonly steps: number
}

const runAll = (search: Search): ReadonlyArray<Ran> => {
  const ran: Array<Ran> = []
  for (let trial = search.next(); trial.done !== true;) {
    order = []
    const run = new ScheduledRun({ choose: trial.value.choose, maxSteps: 1_000 })
    assert.isUndefined(run.execute(program))
    const intrudes = run.deviations.some(({ decision, option }) => [0, option].includes(run.intrusions[decision]!))
    if (!trial.value.repeated) ran.push({ path: format(run.deviations), intrudes, order, steps: run.steps })
    trial = search.next(run)
  }
  return ran
}

const intruding = (ran: ReadonlyArray<Ran>) => ran.filter(({ intrudes }) => intrudes)

const others = (ran: ReadonlyArray<Ran>) => ran.filter(({ intrudes }) => !intrudes)

const all = runAll(everySchedule(1)).slice(1)

const parts = (of: number, mostSteps: number) =>
  Array.from({ length: of }, (_, nth) => {
    const [usual, ...rest] = runAll(oneDeviation({ nth, of, mostSteps }))
    assert.strictEqual(usual?.path, "")
    return rest
  })

const paths = (ran: ReadonlyArray<Ran>) => ran.map(({ path }) => path).sort()

describe("places of a scene", () => {
  it("knows the deviations that run the intruder, and those among its own fibers", () => {
    const places = new Set(intruding(all).map(({ order }) => order.indexOf("intruder")))
    assert.deepStrictEqual([...places].sort(), [0, 1, 2, 3, 4, 5, 6, 7])
    for (const { order } of others(all)) assert.strictEqual(order.indexOf("intruder"), 6)
    assert.isTrue(intruding(all).some(({ order }) => order.indexOf("beside it") < order.indexOf("intruder")))
  })

  it("runs every intruder at each of its places, and each other deviation with one of them", () => {
    const each = parts(3, Infinity)
    for (const part of each) assert.deepStrictEqual(paths(intruding(part)), paths(intruding(all)))
    assert.isAbove(others(all).length, 10)
    assert.deepStrictEqual(paths(each.flatMap(others)), paths(others(all)))
    for (const part of each) assert.isAtMost(others(part).length, Math.ceil(others(all).length / 3))
  })

  it("runs all of them with the only intruder", () => {
    assert.deepStrictEqual(paths(parts(1, Infinity)[0]!), paths(all))
  })

  it("spreads the places where they would be too many steps, and takes others with the next intruder", () => {
    const sum = all.reduce((total, { steps }) => total + steps, 0)
    assert.strictEqual(parts(1, sum * 2)[0]!.length, all.length)
    const [first, second] = parts(2, sum / 4)
    const [one, other] = [paths(intruding(first!)), paths(intruding(second!))]
    assert.isAbove(one.length, 1)
    assert.isBelow(one.length, intruding(all).length / 2)
    assert.isEmpty(one.filter((path) => other.includes(path)))
    for (const part of [first!, second!]) {
      assert.isBelow(part.reduce((total, { steps }) => total + steps, 0), sum / 4 * 1.2)
    }
  })
})

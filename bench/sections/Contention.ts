/** More fibers than blocks: what waiting costs, and who waits. */
import { Effect } from "effect"
import * as Contender from "../Contender.ts"
import * as Contention from "../contenders/contention.ts"
import * as Fairness from "../contenders/fairness.ts"
import * as Crowd from "../Crowd.ts"
import * as Measure from "../Measure.ts"
import * as Report from "../Report.ts"
import * as Rounds from "../Rounds.ts"
import * as Section from "../Section.ts"

const processes = 3
const leases = ["pool.use", "scoped(pool.allocate)"]
const rival = "Semaphore.withPermit"

/** Fibers that only yield, fibers that are parked and resumed, and fibers that wait for a pool. */
const waiting = [Rounds.loop, Contention.bareLine, ...leases]

/** The crowd in which pool and semaphore are compared: a round of the semaphore takes seconds. */
const rivalry = { contenders: [Rounds.loop, ...leases, rival], crowds: [10_000], pairsEach: 2, rounds: 1 }

const pooled = (runs: ReadonlyArray<Rounds.Nanos>, name: string): ReadonlyArray<number> =>
  runs.flatMap((run) => run[name]!)

const micros = (runs: ReadonlyArray<Rounds.Nanos>, name: string): Measure.Measure =>
  Measure.scale(Measure.make("ns", pooled(runs, name)), "µs", 1e-3)

const pairsPerSecond = (nanos: ReadonlyArray<number>): Measure.Measure =>
  Measure.make("/s", nanos.map((nanos) => 1e9 / nanos))

/** How many times as long as another, round by round. */
const ratio = (over: ReadonlyArray<number>, under: ReadonlyArray<number>): Measure.Measure =>
  Measure.make("x", over.map((nanos, round) => nanos / under[round]!))

const againstSemaphore = Effect.map(
  Effect.replicateEffect(Contender.run(Contention.contender, rivalry), processes),
  (all) => {
    const runs = all.map(([crowd]) => crowd!)
    const toSemaphore = (name: string) => ratio(pooled(runs, rival), pooled(runs, name))
    return Section.findings({
      tables: [{
        title: `${rivalry.crowds[0]} fibers, ${Crowd.blocks} blocks or permits`,
        columns: ["pairs", "a pair", "to the semaphore"],
        rows: rivalry.contenders.map((name) => ({
          name: name === Rounds.loop ? "the crowd itself (Effect.yieldNow)" : name,
          cells: [
            pairsPerSecond(pooled(runs, name)),
            micros(runs, name),
            leases.includes(name) ? toSemaphore(name) : null
          ]
        }))
      }],
      checks: leases.map((name) => ({ name: `pairs of ${name} / ${rival}`, figure: toSemaphore(name), atLeast: 20 }))
    })
  }
)

const [fewest, ...others] = Crowd.counts

/** How many times as much a pair costs in the large crowd, round by round. */
const growth = (few: ReadonlyArray<Rounds.Nanos>, many: ReadonlyArray<Rounds.Nanos>, name: string): Measure.Measure =>
  ratio(pooled(many, name), pooled(few, name))

/** The same growth, relative to that of parked fibers without a pool, whose memory is the runtime's. */
const ownGrowth = (
  few: ReadonlyArray<Rounds.Nanos>,
  many: ReadonlyArray<Rounds.Nanos>,
  name: string
): Measure.Measure => Measure.ratioToMiddle(growth(few, many, name), growth(few, many, Contention.bareLine))

/** A large crowd with the smallest one, turn by turn, so that both meet the same machine. */
const grown = (fibers: number) =>
  Effect.map(
    Effect.replicateEffect(
      Contender.run(Contention.contender, {
        contenders: waiting,
        crowds: [fewest, fibers],
        pairsEach: 4,
        rounds: fibers > 10_000 ? 1 : 3
      }),
      processes
    ),
    (all) => ({ fibers, few: all.map(([few]) => few!), many: all.map(([, many]) => many!) })
  )

const byWaiters = Effect.map(Effect.forEach(others, grown), (crowds) => {
  const rows = [
    { fibers: fewest, runs: crowds.flatMap(({ few }) => few) },
    ...crowds.map(({ fibers, many }) => ({ fibers, runs: many }))
  ]
  return Section.findings({
    tables: [{
      title: "a contended pair by waiters",
      columns: ["the crowd itself", Contention.bareLine, ...leases],
      rows: rows.map(({ fibers, runs }) => ({
        name: `${fibers} fibers`,
        cells: waiting.map((name) => micros(runs, name))
      }))
    }, {
      title: `a contended pair against one with ${fewest} fibers`,
      columns: ["the crowd itself", Contention.bareLine, ...leases],
      rows: crowds.map(({ few, fibers, many }) => ({
        name: `${fibers} fibers`,
        cells: waiting.map((name) => growth(few, many, name))
      }))
    }],
    checks: leases.flatMap((name) =>
      crowds.map(({ few, fibers, many }) => ({
        name: `a pair of ${name} with ${fibers} / with ${fewest} fibers, over the same of ${Contention.bareLine}`,
        figure: ownGrowth(few, many, name),
        atLeast: 0.5,
        atMost: 1.5
      }))
    )
  })
})

const defaultMaxBypasses = 16
const seeds = [1, 2, 3]

const lines = [
  { sizes: "equal", maxBypasses: defaultMaxBypasses },
  { sizes: "mixed", maxBypasses: 0 },
  { sizes: "mixed", maxBypasses: 1 },
  { sizes: "mixed", maxBypasses: 4 },
  { sizes: "mixed", maxBypasses: defaultMaxBypasses }
] as const

const line = ({ maxBypasses, sizes }: typeof lines[number]) =>
  Effect.map(
    Contender.run(Fairness.contender, { fibers: 2000, maxBypasses, seeds, sizes }),
    (most) => ({ name: `${sizes} sizes, maxBypasses ${maxBypasses}`, maxBypasses, most: Measure.make("", most) })
  )

const fairness = Effect.map(Effect.forEach(lines, line), (rows) =>
  Section.findings({
    tables: [{
      title: "the most that a waiter was passed",
      columns: ["bound", "measured"],
      rows: rows.map(({ maxBypasses, most, name }) => ({ name, cells: [Measure.make("", [maxBypasses]), most] }))
    }],
    checks: rows.map(({ maxBypasses, most, name }) => ({
      name: `bypasses of one waiter, ${name}`,
      figure: Measure.make("", [Measure.most(most)]),
      atMost: maxBypasses
    }))
  }))

export const section: Section.Section = {
  name: "contention",
  title: `fibers that wait for blocks on the host backend, ${processes} processes; fairness with ${seeds.length} seeds`,
  run: Effect.map(
    Effect.all([Section.orReason(againstSemaphore), Section.orReason(byWaiters), Section.orReason(fairness)]),
    Report.merge
  )
}

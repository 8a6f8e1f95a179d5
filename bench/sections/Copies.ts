/** What recording a copy costs, and what a lease for it adds. */
import { Effect } from "effect"
import * as Contender from "../Contender.ts"
import { contender, type Device } from "../contenders/copies.ts"
import * as Measure from "../Measure.ts"
import * as Rounds from "../Rounds.ts"
import * as Section from "../Section.ts"

const processes = 5

/** What each contender is held against. */
const rivals: Readonly<Record<string, string>> = {
  copy: "raw calls",
  "pool.use and copy": "raw calls",
  "scoped(pool.allocate) and copy": "raw calls",
  "pool.use and raw call": "raw calls",
  "scoped(pool.allocate) and raw call": "raw calls",
  "pool.use with options": "pool.use"
}

interface Limit {
  readonly over: string
  readonly under: string
  readonly atMost: number
}

const withOptions = { over: "pool.use with options", under: "pool.use", atMost: 1.1 }

/** The null device's calls are so short that the lease, not the copy, makes most of a ratio to them. */
const limits: { readonly [D in Device]: ReadonlyArray<Limit> } = {
  null: [
    withOptions,
    ...["pool.use", "scoped(pool.allocate)"].map((lease) => ({
      over: `${lease} and copy`,
      under: `${lease} and raw call`,
      atMost: 1.25
    }))
  ],
  driver: [
    { over: "pool.use and copy", under: "raw calls", atMost: 1.35 },
    { over: "scoped(pool.allocate) and copy", under: "raw calls", atMost: 1.6 }
  ]
}

const titles: { readonly [D in Device]: string } = { null: "Dawn's null device", driver: "the driver" }

const measuredOn = (device: Device) =>
  Effect.map(Effect.replicateEffect(Contender.run(contender, { device }), processes), (runs) => {
    const ratio = (over: string, under: string) =>
      Measure.make("x", runs.map((run) => Rounds.netRatio(run, over, under)))
    const on = `on ${titles[device]}`
    return {
      table: {
        title: `a copy of 256 B, 64 in a submit, ${on}, without the loop's share`,
        columns: ["each", "to its rival"],
        rows: Object.keys(runs[0]!).map((name) => ({
          name,
          cells: [
            Measure.make("ns", runs.map((run) => Rounds.net(run, name))),
            rivals[name] === undefined ? null : ratio(name, rivals[name])
          ]
        }))
      },
      checks: limits[device].map(({ atMost, over, under }) => ({
        name: `${over} / ${under}, ${on}`,
        figure: ratio(over, under),
        atMost
      }))
    }
  })

const measured = Effect.map(Effect.all([measuredOn("null"), measuredOn("driver")]), (devices) =>
  Section.findings({
    tables: devices.map(({ table }) => table),
    checks: devices.flatMap(({ checks }) => checks)
  }))

export const section: Section.Section = {
  name: "copies",
  title: `recorded copies on WebGPU, medians of ${processes} processes`,
  run: Section.orReason(measured)
}

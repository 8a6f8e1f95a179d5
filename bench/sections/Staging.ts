/** What reads cost with and without a pool of staging memory, and streams against one transfer of all bytes. */
import { Effect } from "effect"
import * as Backend from "../Backend.ts"
import * as Contender from "../Contender.ts"
import { contender } from "../contenders/staging.ts"
import { contender as streaming } from "../contenders/streaming.ts"
import * as Measure from "../Measure.ts"
import * as Report from "../Report.ts"
import * as Section from "../Section.ts"

const sizes = [65_536, 1_048_576, 16_777_216]

/** Only WebGPU reads through staging memory: elsewhere the driver writes into the program's array itself. */
const targets: Partial<Record<Backend.Name, { readonly pooled: number; readonly inPlace: number }>> = {
  webgpu: { pooled: 0.5, inPlace: 0.2 }
}

const reads = (backend: Backend.Name) =>
  Effect.map(Contender.run(contender, { backend, sizes }), (bySize) => {
    const rows = bySize.map((rounds, index) => {
      const figure = (way: "fresh" | "pooled" | "inPlace") => Measure.make("ms", rounds.map((round) => round[way]))
      const ratio = (way: "pooled" | "inPlace") => Measure.make("x", rounds.map((round) => round[way] / round.fresh))
      return {
        name: `${sizes[index]! / 1024} KiB`,
        cells: [figure("fresh"), figure("pooled"), figure("inPlace")],
        ratios: { pooled: ratio("pooled"), inPlace: ratio("inPlace") }
      }
    })
    const target = targets[backend]
    const { ratios } = rows.at(-1)!
    return Section.findings({
      tables: [{
        title: `${backend}, one read`,
        columns: ["no pool", "with a pool", "in place (readView)"],
        rows: rows.map(({ cells, name }) => ({ name, cells }))
      }],
      checks: target === undefined ? [] : [
        { name: "16 MiB, with a pool / without", figure: ratios.pooled, atMost: target.pooled },
        { name: "16 MiB, in place / without a pool", figure: ratios.inPlace, atMost: target.inPlace }
      ]
    })
  })

const stream = { bytes: 512 * 2 ** 20, chunkBytes: 4 * 2 ** 20, inFlight: 2, limit: 64 * 2 ** 20 }

/** The rate of a stream, as a part of that of one transfer. The host's write is a single copy: it has no staging memory. */
const leastRate: Partial<Record<Backend.Name, number>> = { webgpu: 0.8, opencl: 0.8 }

const ways = [
  { name: "to the device", bulk: "write", streamed: "upload" },
  { name: "from it", bulk: "read", streamed: "download" },
  { name: "through it", bulk: "both", streamed: "through" }
] as const

const streams = (backend: Backend.Name) =>
  Effect.map(Contender.run(streaming, { backend, ...stream }), ({ peak, rounds }) => {
    const rows = ways.map(({ bulk, name, streamed }) => ({
      name,
      cells: [
        Measure.make("ms", rounds.map((round) => round[bulk])),
        Measure.make("ms", rounds.map((round) => round[streamed])),
        Measure.make("x", rounds.map((round) => round[bulk] / round[streamed]))
      ] as const
    }))
    const memory = Measure.make("x", [peak.managed / stream.limit])
    const atLeast = leastRate[backend]
    return Section.findings({
      tables: [
        {
          title: `${backend}, 512 MiB in chunks of 4 MiB, 2 under way`,
          columns: ["one transfer", "a stream", "rate, stream / one"],
          rows
        },
        {
          title: `${backend}, the same through pools with a limit of 64 MiB`,
          columns: ["most managed", "managed / limit", "the process grew by"],
          rows: [{
            name: "peak",
            cells: [
              Measure.make("MiB", [peak.managed / 2 ** 20]),
              memory,
              Measure.make("MiB", [peak.grown / 2 ** 20])
            ]
          }]
        }
      ],
      checks: [
        ...atLeast === undefined ? [] : rows.map(({ cells, name }) => ({
          name: `${backend}, a stream ${name} / one transfer`,
          figure: cells[2],
          atLeast
        })),
        { name: `${backend}, memory of a stream / limit`, figure: memory, atMost: 1.1 }
      ]
    })
  })

export const section: Section.Section = {
  name: "staging",
  title: "reads and streams through staging memory, turn by turn in one process",
  run: Effect.map(
    Effect.forEach(
      [...Backend.Name.literals.map(reads), ...Backend.Name.literals.map(streams)],
      (part) => Section.orReason(part)
    ),
    Report.merge
  )
}

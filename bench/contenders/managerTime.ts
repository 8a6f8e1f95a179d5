/**
 * How long the calls of a manager of buffers take on the main thread, on Dawn with a driver: it takes turns with `createBuffer` and `destroy`
 * on a second device. No command uses the buffers.
 */
import { Effect, Schema } from "effect"
import { median } from "simple-statistics"
import { openShared } from "../../packages/interop/test/workloads/Workload.ts"
import * as Contender from "../Contender.ts"
import * as Managers from "../peers/Managers.ts"
import * as PageGpu from "../peers/PageGpu.ts"
import * as Requests from "../peers/Requests.ts"
import type { Step } from "../Traces.ts"

const rounds = { warmUp: 2, measured: 7 }

const stepsPerTurn = 128

const Samples = Schema.Array(Schema.Finite)

/** For each round: microseconds for a buffer, and how many times as long as raw calls. Both are the median of its turns. */
const Figures = Schema.Struct({ micros: Samples, overRaw: Samples })

const turnsOf = (steps: ReadonlyArray<Step>): ReadonlyArray<ReadonlyArray<Step>> =>
  Array.from(
    { length: Math.ceil(steps.length / stepsPerTurn) },
    (_, turn) => steps.slice(turn * stepsPerTurn, (turn + 1) * stepsPerTurn)
  )

const millis = <E, R>(effect: Effect.Effect<void, E, R>) =>
  Effect.suspend(() => {
    const from = performance.now()
    return Effect.map(effect, () => performance.now() - from)
  })

/** Memory that was destroyed comes back after a submit. */
const settle = ({ queue }: GPUDevice) =>
  Effect.promise(() => {
    queue.submit([])
    return queue.onSubmittedWorkDone()
  })

const opened = async (gpu: GPU): Promise<GPUDevice> => {
  const adapter = await gpu.requestAdapter()
  if (adapter === null) throw new Error("Dawn finds no adapter")
  return adapter.requestDevice()
}

const swapped = <A>([one, other]: readonly [A, A]): readonly [A, A] => [other, one]

const measure = Effect.fnUntraced(function*(manager: Managers.Name, requests: Requests.Name) {
  const gpu = PageGpu.provide()
  // Before everybody gets the shared one.
  const alone = yield* Effect.promise(() => opened(gpu))
  const device = yield* Effect.promise(() => openShared(gpu))
  const plays = { manager: yield* Managers.open(manager, device), raw: Managers.raw(alone) }
  const figures = { micros: Array<number>(), overRaw: Array<number>() }
  for (let round = -rounds.warmUp; round < rounds.measured; round++) {
    // Each round has a seed of its own, so that a manager which keeps every size does not meet the same ones again.
    const steps = Requests.steps(requests, round + rounds.warmUp)
    const turns = { micros: Array<number>(), overRaw: Array<number>() }
    for (const [at, turn] of turnsOf([...steps, ...Requests.endOf(steps)]).entries()) {
      const manager = millis(plays.manager(turn))
      const raw = millis(plays.raw(turn))
      // Who comes first finds the driver at rest.
      const [ofManager, ofRaw] = at % 2 === 0
        ? yield* Effect.all([manager, raw])
        : swapped(yield* Effect.all([raw, manager]))
      yield* Effect.forEach([device, alone], settle)
      const { buffers } = Requests.asked(turn)
      if (buffers === 0) continue
      turns.micros.push(ofManager * 1000 / buffers)
      turns.overRaw.push(ofManager / ofRaw)
    }
    if (round < 0) continue
    figures.micros.push(median(turns.micros))
    figures.overRaw.push(median(turns.overRaw))
  }
  return figures
}, Effect.scoped)

export const contender = Contender.make({
  module: import.meta.url,
  input: Schema.Struct({ manager: Managers.Name, requests: Requests.Name }),
  figures: Figures,
  measure: ({ manager, requests }) => measure(manager, requests)
})

if (import.meta.main) Contender.main(contender)

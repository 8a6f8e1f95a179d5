/** What the driver has to make for a manager of buffers, and what it holds, on Dawn with a driver. Counts and bytes are exact. */
import { Effect, Schema } from "effect"
import { Driver, openShared } from "../../packages/interop/test/workloads/Workload.ts"
import * as Contender from "../Contender.ts"
import * as Managers from "../peers/Managers.ts"
import * as PageGpu from "../peers/PageGpu.ts"
import * as Requests from "../peers/Requests.ts"

const Figures = Schema.Struct({
  creates: Schema.Int,
  peakBytes: Schema.Finite,
  /** What is held when the program has given all back. */
  heldBytes: Schema.Finite
})

const measure = Effect.fnUntraced(function*(manager: Managers.Name, requests: Requests.Name) {
  const device = yield* Effect.promise(() => openShared(PageGpu.provide()))
  const driver = new Driver(device)
  const play = yield* Managers.open(manager, device)
  const before = { creates: driver.creates, bytes: driver.liveBytes }
  const steps = Requests.steps(requests, 0)
  yield* play(steps)
  yield* play(Requests.endOf(steps))
  return {
    creates: driver.creates - before.creates,
    peakBytes: driver.peakBytes - before.bytes,
    heldBytes: driver.liveBytes - before.bytes
  }
}, Effect.scoped)

export const contender = Contender.make({
  module: import.meta.url,
  input: Schema.Struct({ manager: Managers.Name, requests: Requests.Name }),
  figures: Figures,
  measure: ({ manager, requests }) => measure(manager, requests)
})

if (import.meta.main) Contender.main(contender)

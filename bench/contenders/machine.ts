/** The machine of a pool by itself: random inputs of programs, a driver and handlers, without a fiber. */
import { Effect, Schema } from "effect"
import { World } from "../../test/support/machineWorld.ts"
import * as Contender from "../Contender.ts"
import * as Random from "../Random.ts"

const inputsOfWorld = 5000

const measure = (worlds: number): number => {
  const random = Random.make(1)
  const from = performance.now()
  for (let index = 0; index < worlds; index++) {
    const world = new World({
      maxBytes: [64, 100, 1000][index % 3]!,
      driverBytes: [40, 100, 100_000][Math.floor(index / 3) % 3]!,
      maxBypasses: [0, 2, 16][index % 3]!,
      clears: index % 2 === 0,
      splits: false,
      hasHandlers: index % 5 === 0,
      hasQueues: index % 7 === 0,
      trims: index % 4 === 0,
      closes: false
    })
    for (let input = 0; input < inputsOfWorld; input++) world.step(Math.floor(random() * 2 ** 31))
    world.drain()
    world.checkEmpty()
  }
  return worlds * inputsOfWorld / (performance.now() - from) * 1000
}

export const contender = Contender.make({
  module: import.meta.url,
  input: Schema.Struct({ worlds: Schema.Int }),
  figures: Schema.Finite,
  measure: ({ worlds }) => Effect.sync(() => measure(worlds))
})

if (import.meta.main) Contender.main(contender)

import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual } from "@effect/vitest/utils"
import * as fc from "fast-check"
import { readFileSync } from "node:fs"
import { noQueue } from "../../src/domain/pool/machine/NoQueue.ts"
import { type RequestState, transitions } from "../../src/domain/pool/machine/Request.ts"
import { Reservation } from "../../src/domain/pool/machine/Reservation.ts"
import { waitQueue } from "../../src/domain/pool/machine/WaitQueue.ts"
import { runs } from "../support/explore.ts"
import { waiter, World, type WorldOptions } from "../support/machineWorld.ts"

const anyOptions: fc.Arbitrary<WorldOptions> = fc.record({
  maxBytes: fc.constantFrom(64, 100, 1000),
  driverBytes: fc.constantFrom(40, 100, 100_000),
  maxBypasses: fc.constantFrom(0, 2, 16),
  clears: fc.boolean(),
  splits: fc.boolean(),
  hasHandlers: fc.boolean(),
  hasQueues: fc.boolean(),
  trims: fc.boolean(),
  closes: fc.boolean()
})

/** A memory whose limit is no obstacle, and a driver that has little. */
const shortOfDriver: WorldOptions = {
  maxBytes: 1000,
  driverBytes: 40,
  maxBypasses: 0,
  clears: false,
  splits: false,
  hasHandlers: false,
  hasQueues: false,
  trims: false,
  closes: true
}

/** A request continues after its reservation has ended, and still has some of its bytes, for which others wait. */
const outlivedReservations: Array<[WorldOptions, Array<number>, undefined]> = [
  [1688786190, 2057010332, 1308026850, 652962160, 522573086, 0],
  [425182914, 1520597702, 229088934, 529068514, 909461020],
  [283545678, 1739160280, 520636090, 799991058, 218082332, 1588685874, 0]
].map((choices) => [shortOfDriver, choices, undefined])

/** A request that is tried while no other waits gets bytes, and the driver refuses it again while others ask. */
const refusedAgain: [WorldOptions, Array<number>] = [
  shortOfDriver,
  [
    [859207908, 219245780, 827271588, 147472494, 1510991280, 1471471603, 173253684, 1739936988, 1379653268],
    [1429873198, 1008575860, 0, 0, 0, 606979756, 0, 631797725, 0, 558501378]
  ].flat()
]

describe("the machine of a pool", () => {
  it("counts every byte once, whatever comes in, and lets every request end, as the memory does too", () => {
    fc.assert(
      fc.property(
        anyOptions,
        fc.array(fc.nat(2 ** 31 - 1), { minLength: 1, maxLength: 300, size: "max" }),
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
      { numRuns: runs(5000), examples: outlivedReservations }
    )
  })

  it("decides for requests that fail at once as if they had a wait queue, where they have none", () => {
    const options = anyOptions.map((options) => ({ ...options, hasHandlers: false }))
    fc.assert(
      fc.property(options, fc.array(fc.nat(2 ** 31 - 1), { maxLength: 300, size: "max" }), (options, choices) => {
        const world = new World({ ...options, queueOfFailing: noQueue })
        const queued = new World({ ...options, queueOfFailing: waitQueue })
        for (const choice of choices) {
          for (const one of [world, queued]) one.step(choice)
          world.check()
          deepStrictEqual(world.outputs, queued.outputs)
          deepStrictEqual(world.machine.core.stats(), queued.machine.core.stats())
        }
        world.drain()
        world.checkEmpty()
      }),
      { numRuns: runs(3000), examples: [refusedAgain] }
    )
  })

  it("keeps those at the head of a queue that go first before an older request that waits again", () => {
    const { machine } = new World({
      maxBytes: 1,
      driverBytes: 1,
      maxBypasses: 0,
      clears: false,
      splits: false,
      hasHandlers: false,
      hasQueues: false,
      trims: false,
      closes: false
    })
    const { memory: { queue }, state } = machine
    machine.core.addPending(1)
    const none = { parent: undefined, budgets: [], label: undefined, fiberId: 0, sequence: 0 }
    const section = new Reservation({ owner: machine, memory: state, ...none })
    section.open(0, 0)
    const old = waiter(undefined)
    const first = waiter(section)
    for (const request of [old, first]) queue.enter(request, "queued")
    deepStrictEqual(queue.parked(), [first, old])
    queue.leave(old)
    queue.enter(old, "queued")
    deepStrictEqual(queue.parked(), [first, old])
  })

  it("has the states and transitions that its page draws", () => {
    const page = readFileSync(new URL("../../docs/machine.md", import.meta.url), "utf8")
    const drawn = Array.from(page.matchAll(/^ {2}(\w+) --> (\w+)/gm), ([, from, to]) => `${from} --> ${to}`)
    const all = Object.entries(transitions) as ReadonlyArray<[RequestState, ReadonlyArray<RequestState>]>
    deepStrictEqual(drawn.sort(), all.flatMap(([from, to]) => to.map((one) => `${from} --> ${one}`)).sort())
    for (const [state] of all) assert.match(page, new RegExp(`^\\| \`${state}\` +\\|`, "m"))
  })
})

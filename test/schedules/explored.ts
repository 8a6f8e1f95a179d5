/**
 * Explores the scenes of a group, each with every intruder: the schedules with one deviation that `Places.ts` names, and as many
 * random ones as `EFFECT_GPU_POOL_EXPLORE` says. With less than `.ci/run` sets, only random ones, which deviate anywhere in a
 * program.
 */
import { describe, it } from "@effect/vitest"
import { Schedules } from "effect-schedules"
import * as Effect from "effect/Effect"
import { appendFileSync } from "node:fs"
import { inject } from "vitest"
import * as Exploration from "../../packages/schedules/src/Exploration.ts"
import * as Expect from "../../packages/testing/src/Expect.ts"
import * as PoolStrategy from "../../src/domain/pool/PoolStrategy.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import * as LazyModule from "../../src/services/calls/LazyModule.ts"
import { isWhole, portion, runs } from "../support/explore.ts"
import { intruded, intruders } from "./Intruders.ts"
import { oneDeviation } from "./Places.ts"
import { scenes } from "./scenes/index.ts"
import type { Scene } from "./Stage.ts"

const intrudersOf = ({ sharedBytes, without }: Scene) =>
  intruders.filter(({ name, needsImages }) =>
    without?.includes(name) !== true && (needsImages !== true || sharedBytes !== undefined)
  )

const programs = Object.values(scenes).flat().reduce((sum: number, scene: Scene) => sum + intrudersOf(scene).length, 0)

/** Schedules of one scene with one intruder. */
const share = Math.ceil(runs(200_000) / programs)

/** If the share is large enough, all schedules with up to two deviations are tried before random ones. */
const isDeep = share > 4_000

/** About how many steps the schedules with one deviation may have together. Only programs of more than 900 steps have more. */
const mostSteps = 1_000_000 * portion

/** Slabs of two units, so that leases of a scene share some. */
const arena = PoolStrategy.arena({ unitBytes: 16, slabBytes: 32 })

/** The same program whose pools split slabs, under a few random schedules. */
const exploreArena = (program: Effect.Effect<void, unknown>) =>
  Effect.map(
    Schedules.random(Effect.provideService(program, BufferPool.DefaultStrategy, arena), {
      schedules: Math.max(10, Math.ceil(share / 4))
    }),
    ({ schedules }) => schedules
  )

/** Of each schedule, as `Schedules.explore` has them. */
const limits = { maxSteps: 10_000, maxSchedules: Infinity, seed: undefined, width: 120 }

/** Explores a scene with the nth of its intruders and returns the number of schedules. */
const exploreOne = Effect.fnUntraced(function*(program: Effect.Effect<void, unknown>, nth: number, of: number) {
  yield* Effect.orDie(LazyModule.all)
  if (!isWhole) return (yield* Schedules.random(program, { schedules: Math.max(30, share) })).schedules
  const { schedules } = isDeep
    ? yield* Schedules.explore(program, { deviations: 2, maxSchedules: Math.ceil(share / 2) })
    : yield* Exploration.explore(program, oneDeviation({ nth, of, mostSteps }), limits)
  const rest = yield* Schedules.random(program, { schedules: Math.max(100, share - schedules) })
  return schedules + rest.schedules
})

/** One test for each scene of the group. */
export const exploreScenes = (group: keyof typeof scenes): void => {
  describe(group, () => {
    for (const scene of scenes[group]) {
      it.live(scene.name, () =>
        Effect.gen(function*() {
          const all = intrudersOf(scene)
          for (const [nth, intruder] of all.entries()) {
            const program = intruded(scene, intruder)
            const schedules = yield* Effect.mapError(
              Effect.all([exploreOne(program, nth, all.length), exploreArena(program)]),
              (violation) =>
                new Expect.Mismatch({ message: `${scene.name}, with ${intruder.name}: ${violation.message}` })
            )
            appendFileSync(inject("scheduleCounts"), `${schedules[0] + schedules[1]}\n`)
          }
        }), { timeout: 300_000 * Math.max(1, portion) })
    }
  })
}

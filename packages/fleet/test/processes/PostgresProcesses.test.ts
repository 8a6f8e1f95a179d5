/** Hosts as processes that find each other by PostgreSQL. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { isWhole, some } from "../../../../test/support/explore.ts"
import { describeWith } from "../../../../test/support/required.ts"
import { combinations } from "./losses.ts"
import { lose, manyJobs } from "./scenarios.ts"
import { postgreSql } from "./storages.ts"
import * as TestedFleet from "./TestedFleet.ts"

const timing = { heartbeat: 200, hostTimeout: 5_000, brokerTimeout: 2_000 }

const fleet = TestedFleet.layer({
  storage: postgreSql,
  timing,
  capacities: { a: 1_000, b: 2_000, c: 4_000 },
  isProxied: true
})

/**
 * A database has to do with who has the broker next. How the others lose a host does not depend on it: SQLite has both. The short run
 * begins with another loss than there.
 */
const withBroker = combinations.filter(([, ofBroker]) => ofBroker)
const tried = [...withBroker.slice(2), ...withBroker.slice(0, 2)]

describeWith(["postgres"], "hosts on PostgreSQL", () => {
  layer(fleet, { excludeTestServices: true })((it) => {
    it.effect("serve many jobs of four clients fairly", () => manyJobs(isWhole ? 1_000 : 200))

    for (const [loss, ofBroker] of some(tried)) {
      it.effect(`go on when one ${loss.title}${ofBroker ? ", and the broker with it" : ""}`, () =>
        Effect.map(lose(loss, ofBroker), (told) => assert.isBelow(told, 3 * timing.hostTimeout)))
    }
  })
})

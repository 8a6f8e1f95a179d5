/** Scenes of other groups with recorded events, which must agree with the pool's counters. */
import type { Scene } from "../Stage.ts"
import { handlers } from "./Handlers.ts"
import { leases } from "./Leases.ts"
import { reservations } from "./Reservations.ts"
import { waiting } from "./Waiting.ts"

const meant = [
  "requests wait on a slow device",
  "requests wait for a driver that has no more",
  "a request waits no longer than it may",
  "reservations within reservations and budgets",
  "leases are asked for together of a driver that refuses one",
  "allocations that the driver refuses",
  "idle memory goes as time passes",
  "a handler gives its cache back"
]

export const recorded: ReadonlyArray<Scene> = [...handlers, ...leases, ...reservations, ...waiting]
  .filter(({ name }) => meant.includes(name))
  .map((scene) => ({ ...scene, isRecorded: true }))

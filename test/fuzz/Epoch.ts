import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Scope from "effect/Scope"
import { inspect } from "node:util"
import { DeviceContext } from "../../src/services/device/DeviceContext.ts"
import { Arguments } from "./Arguments.ts"
import { type Backend, layerOf } from "./Backends.ts"
import { perform, prepare } from "./Calls.ts"
import type { EntryPoint } from "./EntryPoints.ts"
import { mixed, Random } from "./Random.ts"
import type { Breach } from "./Verdict.ts"
import { populate } from "./World.ts"

/** The address of a call: the same numbers make the same call after the same earlier calls. */
export interface Address {
  readonly backend: Backend
  readonly seed: number
  /** An epoch is the life of one device: a fresh one, some calls, and its end. */
  readonly epoch: number
  readonly call: number
}

export const callsPerEpoch = 100

/** Receives progress during a run, so that the last call of a crashed process is known. */
export interface Reporter {
  readonly begin: (address: Address, id: string, args: () => string) => void
  readonly breach: (address: Address, id: string, args: () => string, breach: Breach) => void
}

/** Never throws, and calls no method of the values. */
const described = (args: ReadonlyArray<unknown>): string =>
  args.map((value) => {
    try {
      return inspect(value, {
        depth: 2,
        maxArrayLength: 5,
        maxStringLength: 40,
        showProxy: true,
        breakLength: Infinity
      })
        .slice(0, 300)
    } catch (thrown) {
      return `(a value that cannot be shown: ${thrown instanceof Error ? thrown.name : typeof thrown})`
    }
  }).join(", ")

/** Opens a device, makes its calls (all, or those that are named), closes it, and checks what is left. */
export const run = async (
  at: Omit<Address, "call">,
  only: ReadonlySet<number> | undefined,
  entryPoints: ReadonlyArray<EntryPoint>,
  reporter: Reporter
): Promise<void> => {
  const scope = Scope.makeUnsafe()
  const opened = await Effect.runPromiseExit(
    Layer.buildWithScope(Layer.mergeAll(layerOf(at.backend), Logger.layer([])), scope)
  )
  if (Exit.isFailure(opened)) throw new Error(`no device for ${at.backend}: ${String(opened.cause)}`)
  const context: Context.Context<never> = opened.value
  const device = Context.get(opened.value, DeviceContext)
  const world = await Effect.runPromiseWith(opened.value)(Scope.provide(populate(scope), scope))
  const inner = Scope.makeUnsafe()
  const makes = new Arguments(world, inner)
  for (let call = 0; call < callsPerEpoch; call++) {
    if (only !== undefined && !only.has(call)) continue
    const seed = mixed(at.seed, at.epoch, call)
    const random = new Random(seed)
    const entry = random.pick(entryPoints)
    const prepared = prepare(entry, seed, random, world, makes)
    if (prepared === undefined) continue
    const address = { ...at, call }
    const args = (): string => described(prepared.args)
    reporter.begin(address, entry.id, args)
    if (random.chance(0.1)) world.thief.take(random.pick(world.lent), "the world")
    const breach = await perform(prepared, seed, context, inner, world, makes) ?? world.thief.look()
    if (breach !== undefined) reporter.breach(address, entry.id, args, breach)
  }
  const address = { ...at, call: callsPerEpoch }
  reporter.begin(address, "closing", () => "")
  for (const each of [inner, scope]) await Effect.runPromise(Scope.close(each, Exit.void))
  const touched = world.thief.look()
  if (touched !== undefined) reporter.breach(address, "closing", () => "", touched)
  const left = JSON.stringify(device.driverObjects.liveByKind)
  if (left !== "{}") {
    reporter.breach(address, "closing", () => "", { kind: "left behind", detail: left, place: "" })
  }
}

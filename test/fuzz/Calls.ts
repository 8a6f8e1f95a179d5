import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import type { Arguments } from "./Arguments.ts"
import { resolve, type Signature, type Written } from "./DeclaredType.ts"
import type { EntryPoint } from "./EntryPoints.ts"
import { mixed, type Random } from "./Random.ts"
import { type Breach, ofAnswer, ofExit, ofThrown } from "./Verdict.ts"
import type { World } from "./World.ts"

/** One call, ready to be made. */
export interface Call {
  readonly entry: EntryPoint
  readonly signature: Signature | undefined
  readonly args: ReadonlyArray<unknown>
  readonly make: () => unknown
}

/** The call of a seed; `undefined` if the world has no receiver for it. */
export const prepare = (
  entry: EntryPoint,
  seed: number,
  random: Random,
  world: World,
  makes: Arguments
): Call | undefined => {
  const receivers = entry.receiver === undefined ? [] : world.of(entry.receiver)
  if (entry.receiver !== undefined && receivers.length === 0) return undefined
  const receiver = entry.receiver === undefined ? undefined : random.pick(receivers)
  const target = entry.receiver === undefined ? entry.value : Reflect.get(receiver as object, entry.member)
  if (typeof target !== "function" || entry.signatures.length === 0) {
    return { entry, signature: undefined, args: [], make: () => target }
  }
  const signature = random.pick(entry.signatures)
  const args = makes.make(seed, signature)
  return { entry, signature, args, make: () => Reflect.apply(target, receiver, args) as unknown }
}

/** How many turns of the event loop a call gets before it is interrupted: a request may rightly wait. */
const mostTurns = 40

/** Makes a call, runs the effect that it returns, and adds the results to the world. */
export const perform = async (
  call: Call,
  seed: number,
  context: Context.Context<never>,
  scope: Scope.Closeable,
  world: World,
  makes: Arguments
): Promise<Breach | undefined> => {
  const result = call.signature?.result
  let answer: unknown
  let type = result
  try {
    answer = call.make()
    const resolved = type === undefined ? undefined : resolve(type)
    if (typeof answer === "function" && resolved?.tag === "function") {
      const [self] = resolved.signature.parameters
      answer = (answer as (self: unknown) => unknown)(made(() => makes.one(mixed(seed, 3), self?.type)))
      type = resolved.signature.result
    }
  } catch (thrown) {
    return ofThrown(thrown)
  }
  if (isLayer(answer)) return ofExit(await settle(Effect.scoped(Layer.build(answer)), context))
  if (!isEffect(answer)) {
    harvest(world, type, answer)
    return ofAnswer(answer)
  }
  const inScope = Scope.provide(answer, scope)
  const exit = await settle(inScope, context)
  if (Exit.isSuccess(exit)) harvest(world, successOf(type), exit.value)
  return ofExit(exit)
}

/** `undefined` if an argument cannot be made, as a typed array of nested arrays: that is no mistake of the call. */
const made = (make: () => unknown): unknown => {
  try {
    return make()
  } catch {
    return undefined
  }
}

/** The result may be one of the odd values, which throw when they are read. */
const safely = (look: () => boolean): boolean => {
  try {
    return look()
  } catch {
    return false
  }
}

/** Services of other backends are missing; `Verdict` accepts that. */
const isEffect = (value: unknown): value is Effect.Effect<unknown, unknown, Scope.Scope> =>
  safely(() => Effect.isEffect(value))

const isLayer = (value: unknown): value is Layer.Layer<unknown, unknown> => safely(() => Layer.isLayer(value))

const turn = (index: number): Promise<void> =>
  new Promise((done) => index < mostTurns / 2 ? setImmediate(done) : setTimeout(done, 2))

/** The most turns of 2 ms that an interruption may take: only an effect that never ends reaches it. */
const lastResort = 5000

/** Runs an effect, and interrupts it if it waits for too long. */
const settle = async (
  effect: Effect.Effect<unknown, unknown>,
  context: Context.Context<never>
): Promise<Exit.Exit<unknown, unknown>> => {
  // a step of its own, so that the fiber never starts within this call
  const fiber = Effect.runForkWith(context)(Effect.andThen(Effect.yieldNow, effect))
  for (let index = 0; index < mostTurns; index++) {
    const exit = fiber.pollUnsafe()
    if (exit !== undefined) return exit
    await turn(index)
  }
  fiber.interruptUnsafe()
  for (let index = 0; index < lastResort; index++) {
    const exit = fiber.pollUnsafe()
    if (exit !== undefined) return exit
    await turn(mostTurns)
  }
  return Exit.die(new Error("hang: an interruption does not end it"))
}

const successOf = (type: Written | undefined): Written | undefined => {
  const resolved = type === undefined ? undefined : resolve(type)
  return resolved?.tag === "foreign" ? resolved.args[0] : undefined
}

/** Adds the values that later calls may use. */
const harvest = (world: World, type: Written | undefined, value: unknown): void => {
  if (type === undefined || typeof value !== "object" || value === null) return
  const resolved = resolve(type)
  if (resolved.tag === "declared") world.put(resolved.key, value)
}

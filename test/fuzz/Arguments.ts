import * as Config from "effect/Config"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as SizePolicy from "../../src/domain/pool/SizePolicy.ts"
import {
  callsOf,
  type DeclaredType,
  propertiesOf,
  type Property,
  resolve,
  type Signature,
  type Written
} from "./DeclaredType.ts"
import { oddValue, OwnFailure } from "./OddValues.ts"
import { mixed, Random } from "./Random.ts"
import type { World } from "./World.ts"

const numbers = [0, 1, 2, 3, 4, 4, 8, 8, 16, 16, 64, 64, 100, 255, 256, 1024, 4096, 65_536, 0.5]
const texts = ["x", "y", "a", "name", "f32", "i32", "read", "write", "1 KiB", "10 millis", "opencl", "host", "label"]
const typedArrays = [Float32Array, Float64Array, Int32Array, Uint32Array, Uint8Array, Int8Array, Uint16Array]

const deepest = 6

/**
 * Makes arguments of the types that the source declares: valid ones, ones with one wrong part, and arbitrary ones. The
 * same seed in the same world makes the same arguments.
 */
export class Arguments {
  readonly #world: World
  readonly #scope: Scope.Scope
  #random = new Random(0)
  /** The number of parts made so far, and of the part that is to be wrong. */
  #parts = 0
  #wrong = -1

  constructor(world: World, scope: Scope.Scope) {
    this.#world = world
    this.#scope = scope
  }

  /** Arguments for one of the signatures. */
  make(seed: number, { parameters }: Signature): ReadonlyArray<unknown> {
    // a separate random stream: the seed's first number chose the entry point
    const random = new Random(mixed(seed, 0))
    const kind = random.next()
    const build = (wrong: number): ReadonlyArray<unknown> => {
      this.#random = new Random(mixed(seed, 1))
      this.#parts = 0
      this.#wrong = wrong
      return this.#list(parameters)
    }
    if (kind < 0.35) return build(-1)
    if (kind < 0.85) {
      build(-1)
      return build(random.below(Math.max(1, this.#parts)))
    }
    this.#random = random
    this.#wrong = -1
    return parameters.map(({ type }) => isEffectful(type) ? this.#right(type, 0) : this.#anything())
  }

  /** A value of a type: the argument of a function that a data-last call returned. */
  one(seed: number, type: Written | undefined): unknown {
    this.#random = new Random(mixed(seed, 2))
    this.#wrong = -1
    return type === undefined ? this.#anything() : this.#right(type, 0)
  }

  #list(parameters: Signature["parameters"]): ReadonlyArray<unknown> {
    const given: Array<unknown> = []
    for (const { optional, rest, type } of parameters) {
      if (optional && this.#random.chance(0.3)) break
      if (rest && type !== undefined) {
        const spread = this.#right(type, 0)
        if (isPlainArray(spread)) given.push(...spread.slice(0, 100))
        continue
      }
      given.push(type === undefined ? this.#anything() : this.#right(type, 0))
    }
    return given
  }

  #anything(): unknown {
    return this.#random.chance(0.2) ? this.#world.any(this.#random) : oddValue(this.#random)
  }

  #right(written: Written, depth: number): unknown {
    const type = resolve(written)
    if (this.#parts++ === this.#wrong) {
      if (isEffectful(written)) return this.#random.pick(oddEffects)
      return this.#anything()
    }
    return this.#ofType(type, depth)
  }

  #ofType(type: DeclaredType, depth: number): unknown {
    switch (type.tag) {
      case "plain":
        return this.#plain(type.name)
      case "literal":
        return type.value
      case "union":
        return this.#right(this.#random.pick(type.members), depth + 1)
      case "intersection":
        return joined(type.members.map((member) => this.#right(member, depth + 1)))
      case "tuple":
        return type.elements.map((element) => this.#right(element, depth + 1))
      case "record":
        return type.calls[0] === undefined ? this.#record(type.properties, depth) : this.#callback(type.calls[0], depth)
      case "function":
        return this.#callback(type.signature, depth)
      case "declared":
        return this.#declared(type, depth)
      case "foreign":
        return this.#foreign(type.name, type.args, depth)
      case "unknown":
        return this.#random.chance(0.5) ? this.#world.any(this.#random) : oddValue(this.#random)
    }
  }

  #plain(name: (DeclaredType & { readonly tag: "plain" })["name"]): unknown {
    const random = this.#random
    switch (name) {
      case "number":
        return random.pick(numbers)
      case "string":
        return random.pick(texts)
      case "boolean":
        return random.chance(0.5)
      case "bigint":
        return BigInt(random.below(16))
      case "symbol":
        return Symbol.for("fuzz")
      case "undefined":
        return undefined
      case "null":
        return null
    }
  }

  #record(properties: ReadonlyArray<Property>, depth: number): object {
    const made: Record<string, unknown> = {}
    for (const { name, optional, type } of properties) {
      if (optional && (depth > deepest || this.#random.chance(0.6))) continue
      made[name] = this.#right(type, depth + 1)
    }
    return made
  }

  /** Answers the same value each time, as made now. */
  #callback({ result }: Signature, depth: number): (...args: ReadonlyArray<unknown>) => unknown {
    const answer = result === undefined || depth > deepest ? undefined : this.#right(result, depth + 1)
    const fails = this.#random.chance(0.05)
    const steals = this.#random.chance(0.1)
    return (...args) => {
      if (steals) { for (const value of args) this.#world.thief.take(value, "a call of the program's function") }
      if (fails) throw new OwnFailure("the program's function")
      return answer
    }
  }

  #declared(type: DeclaredType & { readonly tag: "declared" }, depth: number): unknown {
    const special = this.#special(type.key)
    if (special !== undefined) return special
    const known = this.#world.of(type.key)
    if (known.length > 0 && this.#random.chance(0.95)) return this.#random.pick(known)
    if (type.declaration.type === "ClassDeclaration" || depth > deepest) return this.#world.any(this.#random)
    const [call] = callsOf(type)
    return call === undefined ? this.#record(propertiesOf(type), depth) : this.#callback(call, depth)
  }

  /** Types that only a compiler could make values of. */
  #special(key: string): unknown {
    const random = this.#random
    switch (key) {
      case "src/services/queue/DispatchArguments.ts#DispatchArguments": {
        const lease = () => random.pick(this.#world.of("src/services/buffers/PooledBuffer.ts#PooledBuffer"))
        return random.pick([() => ({ x: lease(), a: 2 }), () => ({ x: lease(), y: lease() }), () => ({})])()
      }
      case "src/domain/data/ElementClass.ts#ElementType":
        return random.pick(typedArrays)
      case "src/layers/OpenCl/OpenClApi.ts#OpenClApi":
        // functions that never answer do not make a driver
        return random.pick([{}, [], 7, Symbol("api"), { clGetPlatformIDsAsync: 1 }])
      case "src/domain/pool/SizePolicy.ts#SizePolicy":
        return random.pick([SizePolicy.exact, SizePolicy.leadingBits(4), SizePolicy.sizeClasses(3)])
      default:
        return undefined
    }
  }

  #foreign(name: string, args: ReadonlyArray<Written>, depth: number): unknown {
    const random = this.#random
    const argument = (): unknown => args[0] === undefined ? this.#anything() : this.#right(args[0], depth + 1)
    const typed = typedArrays.find((type) => type.name === name)
    if (typed !== undefined) return this.#numbersIn(typed)
    switch (name) {
      case "Array":
      case "ReadonlyArray":
      case "Iterable":
        return Array.from({ length: depth > deepest ? 0 : random.below(4) }, argument)
      case "Set":
      case "ReadonlySet":
        return new Set([argument()])
      case "Record":
        return { x: args[1] === undefined ? 1 : this.#right(args[1], depth + 1) }
      case "ArrayBuffer":
      case "ArrayBufferLike":
        return new ArrayBuffer(random.pick([0, 4, 64]))
      case "ArrayBufferView":
        return this.#numbersIn(random.pick(typedArrays))
      case "DataView":
        return new DataView(new ArrayBuffer(16))
      case "effect/Effect.Effect":
        return random.chance(0.1) ? Effect.fail(new OwnFailure("the program's effect")) : Effect.succeed(argument())
      case "effect/Layer.Layer":
        return Layer.empty
      case "effect/Scope.Scope":
        return random.chance(0.5) ? this.#scope : closedScope()
      case "effect/Duration.Input":
        return random.pick([0, 1, "1 millis", "10 millis", 5])
      case "effect/Config.Config":
        return Config.succeed(argument())
      case "effect/Context.Context":
        return Context.empty()
      default:
        return random.chance(0.5) ? this.#world.any(random) : oddValue(random)
    }
  }

  #numbersIn(type: typeof typedArrays[number]): ArrayBufferView {
    return new type(this.#random.pick([0, 1, 4, 16, 64]))
  }
}

const isPlainArray = (value: unknown): value is ReadonlyArray<unknown> => {
  try {
    return Array.isArray(value) && Array.prototype.slice.call(value, 0, 1).length <= 1
  } catch {
    return false
  }
}

/** Effect itself runs and inspects effects, so an effect is only replaced by other effects. */
const isEffectful = (written: Written | undefined): written is Written => {
  const type = written === undefined ? undefined : resolve(written)
  if (type?.tag === "foreign") return type.name === "effect/Effect.Effect"
  const signature = type?.tag === "function" ? type.signature : undefined
  return signature !== undefined && isEffectful(signature.result)
}

const oddEffects = [
  Effect.never,
  Effect.interrupt,
  Effect.die(new OwnFailure("the program's effect")),
  Effect.fail(new OwnFailure("the program's effect"))
]

/** One object with the members of all; if a part cannot be read, the result is that part. */
const joined = (parts: ReadonlyArray<unknown>): unknown => {
  let made: object = {}
  for (const part of parts) {
    try {
      made = { ...made, ...(part as object) }
    } catch {
      return part
    }
  }
  return made
}

const closedScope = (): Scope.Scope => {
  const scope = Scope.makeUnsafe()
  Effect.runSync(Scope.close(scope, Effect.runSync(Effect.exit(Effect.void))))
  return scope
}

/**
 * Asks the engine where functions and generators stand in its scripts. V8's inspector answers for existing values, so
 * neither the program nor Effect has to be changed. Other engines, and a Node built without the inspector, give no
 * answer.
 *
 * @internal
 */

/** A place in a script as the engine runs it. Lines and columns count from 0. */
export interface Position {
  readonly script: string
  readonly line: number
  readonly column: number
}

/** A script as the engine runs it: what a compiler made of a file, or the file itself. */
export interface Script {
  readonly url: string
  readonly source: () => string
}

/** Where a generator waits, and where the function that made it begins. */
export interface GeneratorPlace {
  readonly at: Position
  readonly begin: Position | undefined
}

interface Property {
  readonly name: string
  readonly value?: { readonly value?: unknown; readonly objectId?: string }
}

/** The members of `node:inspector` that are used here. */
interface Session {
  connect(): void
  disconnect(): void
  on(event: string, listener: (message: { readonly params: unknown }) => void): void
  post(method: string, parameters: object, done: (error: unknown, result: unknown) => void): void
}

interface Process {
  [key: symbol]: unknown
  getBuiltinModule?: (name: string) => unknown
}

const process = (globalThis as unknown as { readonly process?: Process }).process

/** A module of Node, where there is one. */
export const builtin = <Module>(name: string): Module | undefined => {
  try {
    return process?.getBuiltinModule?.(name) as Module | undefined
  } catch {
    // Bun throws for modules that it does not have.
    return undefined
  }
}

/** Where the inspector finds a value. `process` is the same object in every context of a thread, unlike `globalThis`. */
const carrier = "effect-schedules/Inspector"

export class Inspector {
  readonly #session: Session
  readonly #functions = new Map<object, Position | undefined>()

  private constructor(session: Session) {
    this.#session = session
  }

  /** Opens an inspector, which the caller must close. `undefined` if the engine has none. */
  static open(): Inspector | undefined {
    const { Session } = builtin<{ readonly Session?: new() => Session }>("node:inspector") ?? {}
    if (Session === undefined) return undefined
    try {
      const session = new Session()
      session.connect()
      const inspector = new Inspector(session)
      if (inspector.functionAt(Inspector.open) !== undefined) return inspector
      inspector.close()
    } catch {
      // Node's permissions and other runtimes refuse the inspector with various errors.
    }
    return undefined
  }

  close(): void {
    this.#session.disconnect()
  }

  /** Where a function begins; `undefined` for one of the engine. */
  functionAt(value: object): Position | undefined {
    if (this.#functions.has(value)) return this.#functions.get(value)
    const position = positionIn(this.#internals(value), "[[FunctionLocation]]")
    this.#functions.set(value, position)
    return position
  }

  /**
   * Where a generator waits. `known` is an earlier answer for the same generator; with it, only the current place is
   * asked for.
   */
  generatorAt(value: object, known?: GeneratorPlace): GeneratorPlace | undefined {
    const internals = this.#internals(value)
    const at = positionIn(internals, "[[GeneratorLocation]]")
    if (at === undefined) return undefined
    if (known !== undefined) return { ...known, at }
    const made = internals.find(({ name }) => name === "[[GeneratorFunction]]")?.value
    const begin = made?.objectId === undefined
      ? undefined
      : positionIn(this.#internalsOf(made.objectId), "[[FunctionLocation]]")
    return { at, begin }
  }

  /** The scripts of the program by their ids. From now on no code of the program may run, or it could stop in a debugger. */
  scripts(): ReadonlyMap<string, Script> {
    const found = new Map<string, Script>()
    const sourceOf = (scriptId: string) =>
      this.#ask<{ readonly scriptSource: string }>("Debugger.getScriptSource", { scriptId })?.scriptSource ?? ""
    this.#session.on("Debugger.scriptParsed", ({ params }) => {
      const { scriptId, url } = params as { readonly scriptId: string; readonly url: string }
      found.set(scriptId, { url, source: () => sourceOf(scriptId) })
    })
    this.#ask("Debugger.enable", {})
    return found
  }

  /** Releases the object ids that the engine has given to values. */
  forget(): void {
    this.#ask("Runtime.releaseObjectGroup", { objectGroup: carrier })
  }

  #internals(value: object): ReadonlyArray<Property> {
    if (process === undefined) return []
    const key = Symbol.for(carrier)
    process[key] = value
    try {
      const objectId = this.#ask<{ result: { objectId?: string } }>("Runtime.evaluate", {
        expression: `process[Symbol.for(${JSON.stringify(carrier)})]`,
        objectGroup: carrier
      })?.result.objectId
      return objectId === undefined ? [] : this.#internalsOf(objectId)
    } finally {
      delete process[key]
    }
  }

  #internalsOf(objectId: string): ReadonlyArray<Property> {
    return this.#ask<{ internalProperties?: ReadonlyArray<Property> }>("Runtime.getProperties", {
      objectId,
      ownProperties: true,
      nonIndexedPropertiesOnly: true
    })?.internalProperties ?? []
  }

  /** The answer is synchronous, because the session inspects its own thread. `undefined` if the engine refuses. */
  #ask<Result>(method: string, parameters: object): Result | undefined {
    let answer: unknown
    this.#session.post(method, parameters, (error, result) => {
      if (error === null) answer = result
    })
    return answer as Result | undefined
  }
}

const positionIn = (properties: ReadonlyArray<Property>, name: string): Position | undefined => {
  const found = properties.find((property) => property.name === name)?.value?.value
  if (found === undefined) return undefined
  const { columnNumber, lineNumber, scriptId } = found as {
    readonly scriptId: string
    readonly lineNumber: number
    readonly columnNumber: number
  }
  return { script: scriptId, line: lineNumber, column: columnNumber }
}

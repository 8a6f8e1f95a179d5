/**
 * Loads the effect that a module of the user exports.
 *
 * @internal
 */
import { line, list } from "effect-gpu-pool/Format"
import type * as CliError from "effect/cli/CliError"
import * as Effect from "effect/Effect"
import * as Path from "effect/Path"
import { failing } from "../Ending.ts"
import { failureOf } from "../Printable.ts"

/** The exports that are tried if the user names none. */
const usual = ["default", "program"]

export interface Loaded {
  readonly program: Effect.Effect<unknown, unknown, unknown>
}

/** Loads the module, and returns the export of that name, or else the default export or `program`. */
export const load = Effect.fn("ProgramFile.load")(
  function*(file: string, name?: string | undefined): Effect.fn.Return<Loaded, CliError.UserError, Path.Path> {
    const path = yield* Path.Path
    const unloadable = (cause: unknown) =>
      failing(`${line(file)} cannot be loaded: ${failureOf(cause)}. Give a module that node can run.`, cause)
    const { href } = yield* Effect.mapError(path.toFileUrl(path.resolve(file)), unloadable)
    const module = yield* Effect.tryPromise({
      try: () => import(href) as Promise<Readonly<Record<string, unknown>>>,
      catch: unloadable
    })
    const names = name === undefined ? usual : [name]
    const program = names.map((each) => module[each]).find((value) => Effect.isEffect(value))
    return program === undefined ? yield* failing(noEffect(file, names, module)) : { program }
  }
)

const noEffect = (file: string, names: ReadonlyArray<string>, module: object): string => {
  const exported = Object.keys(module)
  return `${line(file)} exports no effect as ${names.join(" or ")}; it exports ${
    exported.length === 0 ? "nothing" : list(exported)
  }. Export the effect to plan, or name its export: --export NAME.`
}

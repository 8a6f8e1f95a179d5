/** Scripts of `contenders` in Python, in a process of their own. */
import { Effect, type Schema } from "effect"
import { join } from "node:path"
import { python } from "../scripts/backends.ts"
import * as ChildProgram from "./ChildProgram.ts"

/** Runs a script, which answers with such figures. */
export const run = <A, I>(file: string, request: object, figures: Schema.Codec<A, I>) =>
  Effect.suspend(() => {
    const interpreter = python()
    const json = JSON.stringify(request)
    return interpreter === undefined
      ? new ChildProgram.Missing({ why: `${file}: no python3` })
      : ChildProgram.run(
        `${file} ${json}`,
        interpreter,
        [join(import.meta.dirname, "contenders", file), json],
        figures
      )
  })

/** What a test tells the program `leaver.ts`. */
import * as Schema from "effect/Schema"
import { HostArguments } from "./HostArguments.ts"
import { Repeatable } from "./jobs.ts"

export const LeaverArguments = Schema.Struct({
  id: Schema.String,
  input: Repeatable.input,
  storage: Schema.String,
  secret: Schema.String,
  timing: HostArguments.fields.timing
})

export type LeaverArguments = typeof LeaverArguments.Type

/**
 * A process that fuzzes one backend: `child.ts '{"backend":"host","seed":1,"from":0,"to":9}'`. It writes a line of JSON
 * before each call and one for each breach to file descriptor 3, so that the address of the last call is known however
 * the process ends.
 */
import { writeSync } from "node:fs"
import { isBackend } from "./Backends.ts"
import { survey } from "./EntryPoints.ts"
import { type Address, type Reporter, run } from "./Epoch.ts"
import { ofUncaught } from "./Verdict.ts"

export interface Task {
  readonly backend: string
  readonly seed: number
  /** The first epoch, and the one after the last. */
  readonly from: number
  readonly to: number
  /** Calls of each epoch to make, all without it. */
  readonly only?: ReadonlyArray<number> | undefined
  /** Report the arguments of each call. */
  readonly verbose?: boolean | undefined
  /** Fuzz only entry points whose name begins with this. */
  readonly match?: string | undefined
}

const task = JSON.parse(process.argv[2] ?? "{}") as Task

/** Line separators that JSON does not escape. */
const separators = /[\u0085\u2028\u2029]/g

const tell = (line: object): void => {
  writeSync(3, `${JSON.stringify(line).replace(separators, " ")}\n`)
}

let last: { readonly address: Address; readonly id: string } | undefined

const reporter: Reporter = {
  begin: (address, id, args) => {
    last = { address, id }
    tell({ ...last, ...(task.verbose === true ? { args: args() } : {}) })
  },
  breach: (address, id, args, breach) => tell({ address, id, args: args(), breach })
}

const uncaught = (thrown: unknown): void => {
  const breach = ofUncaught(thrown)
  if (breach !== undefined) tell({ ...last, args: "", breach })
}
process.on("uncaughtException", uncaught)
process.on("unhandledRejection", uncaught)

const main = async ({ backend, from, match = "", only, seed, to }: Task): Promise<void> => {
  if (!isBackend(backend)) throw new Error(`there is no backend ${JSON.stringify(backend)}`)
  const chosen = survey().entryPoints.filter(({ id }) => id.startsWith(match))
  for (let epoch = from; epoch < to; epoch++) {
    await run({ backend, seed, epoch }, only === undefined ? undefined : new Set(only), chosen, reporter)
  }
  tell({ done: true })
}

try {
  await main(task)
  process.exit(0)
} catch (thrown) {
  process.stderr.write(`${thrown instanceof Error ? String(thrown.stack) : "the fuzzer failed"}\n`)
  process.exit(70)
}

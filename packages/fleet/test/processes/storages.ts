/** Databases, each as `storageLayer` takes it, by which the processes of a test find each other. */
import * as Effect from "effect/Effect"
import { spawnSync } from "node:child_process"
import { chmodSync, chownSync } from "node:fs"
import { join } from "node:path"
import { postgres } from "../../../../test/support/required.ts"
import { temporaryFolder } from "../support/temporary.ts"
import { freePorts } from "./Proxy.ts"

/** A SQLite file of this test alone. */
export const sqlite = Effect.map(temporaryFolder, (folder) => join(folder, "fleet.db"))

/** A number of the user that Debian's package makes. */
const idOf = (option: string): number => Number(spawnSync("id", [option, "postgres"], { encoding: "utf8" }).stdout)

/** PostgreSQL does not run as root. */
const owner = (): { readonly uid: number; readonly gid: number } | undefined => {
  if (process.getuid?.() !== 0) return undefined
  return { uid: idOf("-u"), gid: idOf("-g") }
}

/** A PostgreSQL server of this test alone. */
export const postgreSql = Effect.gen(function*() {
  const folder = yield* temporaryFolder
  const [port] = yield* freePorts(1)
  const data = join(folder, "data")
  const user = owner()
  if (user !== undefined) chownSync(folder, user.uid, user.gid)
  chmodSync(folder, 0o700)
  const run = (name: string, ...args: ReadonlyArray<string>): void => {
    // Its output goes to files: a server that it starts would keep a pipe open.
    const child = spawnSync(join(postgres() ?? "", name), args, { stdio: "ignore", cwd: folder, ...user })
    if (child.status !== 0) throw child.error ?? new Error(`${name} ${args.join(" ")} ended with ${child.status}`)
  }
  yield* Effect.acquireRelease(
    Effect.sync(() => {
      run("initdb", "-D", data, "-A", "trust", "-U", "fleet", "--no-sync")
      const server = [`-p ${port}`, "-c listen_addresses=127.0.0.1", "-c unix_socket_directories=", "-c fsync=off"]
      run("pg_ctl", "-D", data, "-w", "-l", join(folder, "log"), "-o", server.join(" "), "start")
    }),
    () => Effect.sync(() => run("pg_ctl", "-D", data, "-w", "-m", "immediate", "stop"))
  )
  return `postgres://fleet@127.0.0.1:${port}/postgres`
})

/** Files and folders of a test, gone when its scope closes. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** An empty folder. */
export const temporaryFolder: Effect.Effect<string, never, Scope.Scope> = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "effect-gpu-pool-fleet-"))),
  (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
)

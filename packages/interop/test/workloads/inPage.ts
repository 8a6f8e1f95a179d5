/** Workloads in pages of their own, on Chromium's WebGPU. */
import type { InstallOptions } from "@effect-gpu-pool/interop/install"
import * as Effect from "effect/Effect"
import { bundle, type File, FreshPages } from "../../../../test/browser/Chromium.ts"
import type { Course, Run } from "./Workload.ts"

declare global {
  var runWorkload: (options: InstallOptions | undefined, course: Course | undefined) => Promise<Run>
}

/** What libraries import nowhere but in Node. */
export const modulesOfNode = ["module", "node:*", "worker_threads"]

/** Bundles `workload` of a file of this folder with what measures it. */
export const pageOf = async (file: string): Promise<string> => {
  const contents = [
    `import { workload } from "./${file}"`,
    `import { measure } from "./Workload.ts"`,
    `globalThis.runWorkload = (options, course) => measure(navigator.gpu, workload, options, course)`
  ].join("\n")
  return (await bundle({ stdin: { contents, resolveDir: import.meta.dirname }, external: modulesOfNode })).code
}

/** What a workload did in a fresh page, with a pool where there are options of one; and what the page complained about. */
export const inPage = (
  script: string,
  options?: InstallOptions,
  assets?: Readonly<Record<string, File>>,
  course?: Course
): Effect.Effect<Run & { readonly complaints: ReadonlyArray<string> }, never, FreshPages> =>
  Effect.scoped(Effect.gen(function*() {
    const complaints: Array<string> = []
    const page = yield* (yield* FreshPages).open(script, complaints, assets)
    const run = yield* Effect.promise(() =>
      page.evaluate(([options, course]) => globalThis.runWorkload(options, course), [options, course] as const)
    )
    return { ...run, complaints }
  }))

/**
 * Checks the imports against the levels of CONTRIBUTING.md: a file imports only from levels below its own, no backend
 * imports another, and only the backend of a driver package imports that package. The library imports none of the
 * packages around it; these import only what the library and the other packages export.
 */
import { assert, describe, it } from "@effect/vitest"
import { readdirSync, readFileSync } from "node:fs"
import { dirname, join, normalize } from "node:path"
import { type ImportedModule, importedModules } from "./support/imports.ts"
import { packages, root, sourceOf } from "./support/packages.ts"

interface Source {
  readonly path: string
  readonly code: string
  readonly imports: ReadonlyArray<ImportedModule>
}

/** What files of one part of the tree may import: folders or files of `src`, and packages, each by its first segments. */
interface Rule {
  readonly part: string
  readonly inside: ReadonlyArray<string>
  readonly packages: ReadonlyArray<string>
}

const services = ["src/domain", "src/services"]
/** The levels within `src/services`, the lowest first. */
const serviceFloors = [
  "calls",
  "lease",
  "device",
  "pool",
  "buffers",
  "images",
  "queue",
  "staging",
  "backend"
]
  .map((name) => `src/services/${name}`)
/** Decorators depend only on the allocator, so that they can be stacked in any order under any pool. */
const underDecorators = [
  "src/domain",
  "src/services/calls",
  "src/services/device",
  "src/services/buffers/Allocator.ts",
  // Which bytes of a pool's call are already charged.
  "src/services/pool/CurrentReservations.ts"
]
const backends = ["src/layers/WebGpu", "src/layers/OpenCl", "src/layers/Host"]
/** A bundler leaves a computed import alone, so that is how npm `webgpu` is loaded as well. */
const npmWebgpu = ["webgpu", "<computed>"]

/** The file that imports a module named by its user. */
const programLoader = "packages/cli/src/plan/ProgramFile.ts"

/** The file that imports the npm `webgpu` of the program that it watches. */
const watcher = "packages/interop/src/node.ts"

const library = "effect-gpu-pool"
const kit = [library, "@effect-gpu-pool/arrays", "@effect-gpu-pool/observability", "effect"]
const viewerPage = "packages/observability/src/viewer/page"

const rules: ReadonlyArray<Rule> = [
  { part: "src/domain", inside: ["src/domain"], packages: ["effect"] },
  { part: "src/services/buffers/allocators", inside: underDecorators, packages: ["effect"] },
  ...serviceFloors.map((part, floor) => ({
    part,
    inside: ["src/domain", ...serviceFloors.slice(0, floor + 1)],
    packages: ["effect"]
  })),
  { part: "src/layers/WebGpu", inside: [...services, "src/layers/WebGpu"], packages: ["effect", ...npmWebgpu] },
  { part: "src/layers/OpenCl", inside: [...services, "src/layers/OpenCl"], packages: ["effect", "koffi", "node"] },
  { part: "src/layers/Host", inside: [...services, "src/layers/Host"], packages: ["effect"] },
  { part: "src/devices", inside: [...services, ...backends, "src/devices"], packages: ["effect", "node"] },
  { part: "src/index.ts", inside: services, packages: [] },
  { part: "src/images.ts", inside: services, packages: [] },
  { part: "src/kernels.ts", inside: services, packages: [] },
  { part: "src/allocators.ts", inside: services, packages: [] },
  { part: "src/backend.ts", inside: services, packages: [] },
  { part: "src/machine.ts", inside: services, packages: [] },
  { part: "src/webgpu.ts", inside: ["src/layers/WebGpu"], packages: [] },
  { part: "src/opencl.ts", inside: ["src/layers/OpenCl"], packages: [] },
  { part: "src/host.ts", inside: ["src/layers/Host"], packages: [] },
  { part: "src/devices.ts", inside: [...services, "src/devices"], packages: [] },
  { part: "packages/arrays/src/kernels", inside: ["packages/arrays/src/kernels"], packages: [library, "effect"] },
  { part: "packages/arrays/src", inside: ["packages/arrays/src"], packages: [library, "effect"] },
  // The viewer's page, which is bundled into a module of its own.
  {
    part: viewerPage,
    inside: ["packages/observability/src/viewer", "packages/observability/src/Bisection.ts"],
    packages: ["uplot"]
  },
  { part: "packages/observability/src", inside: ["packages/observability/src"], packages: [library, "effect"] },
  { part: "packages/interop/src/foreign", inside: ["packages/interop/src/foreign"], packages: [] },
  // Watches devices without the library, and without Effect.
  {
    part: "packages/interop/src/observe",
    inside: ["packages/interop/src/foreign", "packages/interop/src/observe"],
    packages: []
  },
  {
    part: "packages/interop/src/install",
    inside: ["packages/interop/src/foreign", "packages/interop/src/install"],
    packages: [library]
  },
  // Knows onnxruntime-web by the shapes of its classes alone.
  { part: "packages/interop/src/ort", inside: ["packages/interop/src/ort"], packages: [library, "effect"] },
  // Knows a backend of TensorFlow.js by its shape alone.
  {
    part: "packages/interop/src/tfjs",
    inside: ["packages/interop/src/foreign", "packages/interop/src/tfjs"],
    packages: []
  },
  {
    part: "packages/interop/src/installed",
    inside: ["packages/interop/src/foreign", "packages/interop/src/install", "packages/interop/src/installed"],
    packages: [library, "effect"]
  },
  { part: watcher, inside: ["packages/interop/src/observe"], packages: ["node", "<computed>"] },
  { part: "packages/interop/src/page.ts", inside: ["packages/interop/src/observe"], packages: [] },
  { part: "packages/interop/src/observe.ts", inside: ["packages/interop/src/observe"], packages: [] },
  { part: "packages/interop/src", inside: ["packages/interop/src"], packages: [library, "effect"] },
  // The ledger decides, without fibers and without I/O.
  {
    part: "packages/fleet/src/ledger",
    inside: ["packages/fleet/src/ledger", "packages/fleet/src/protocol"],
    packages: [library, "effect"]
  },
  { part: "packages/fleet/src/protocol", inside: ["packages/fleet/src/protocol"], packages: [library, "effect"] },
  // Sockets and storage, for Node.
  {
    part: "packages/fleet/src/net",
    inside: ["packages/fleet/src/net", "packages/fleet/src/protocol"],
    packages: [library, "effect", "@effect/platform-node", "node"]
  },
  { part: "packages/fleet/src", inside: ["packages/fleet/src"], packages: [library, "effect"] },
  // This package does not depend on the library.
  { part: "packages/schedules/src", inside: ["packages/schedules/src"], packages: ["effect"] },
  // Separate from the rest of the test kit, because only these files need fast-check.
  { part: "packages/testing/src/properties", inside: ["packages/testing/src"], packages: [...kit, "fast-check"] },
  { part: "packages/testing/src/properties.ts", inside: ["packages/testing/src/properties"], packages: [] },
  { part: "packages/testing/src", inside: ["packages/testing/src"], packages: kit },
  { part: programLoader, inside: ["packages/cli/src"], packages: [library, "effect", "node", "<computed>"] },
  {
    part: "packages/cli/src",
    inside: ["packages/cli/src"],
    packages: [
      library,
      "@effect-gpu-pool/fleet",
      "@effect-gpu-pool/observability",
      "effect",
      "@effect/platform-node",
      "@effect/sql-pg",
      "node",
      "cli-table3",
      "wrap-ansi"
    ]
  }
]

/** A folder with more files is to be divided by topic. */
const mostFiles = 20

const isWithin = (path: string, part: string): boolean => path === part || path.startsWith(`${part}/`)

const packageOf = (specifier: string): string =>
  specifier.startsWith("node:")
    ? "node"
    : specifier.split("/").slice(0, specifier.startsWith("@") ? 2 : 1).join("/")

const mayImport = (source: Source, rule: Rule, specifier: string): boolean => {
  if (specifier === "effect") return false
  if (specifier.startsWith(".")) {
    const target = normalize(join(dirname(source.path), specifier))
    return rule.inside.some((part) => isWithin(target, part))
  }
  const name = packageOf(specifier)
  const isExported = !packages.some((own) => own.name === name) || sourceOf(specifier) !== undefined
  return isExported && rule.packages.includes(name)
}

const violationsOf = (source: Source): ReadonlyArray<string> => {
  const rule = rules.find(({ part }) => isWithin(source.path, part))
  if (rule === undefined) return [`${source.path} is on no level`]
  return source.imports
    .filter(({ specifier }) => !mayImport(source, rule, specifier))
    .map(({ line, specifier }) => `${source.path}:${line} imports ${specifier}`)
}

/** Only the constructor for Node loads npm `webgpu`: everything else takes any GPU object, and so runs in a browser. */
const nodeConstructors = (sources: ReadonlyArray<Source>): ReadonlyArray<string> =>
  sources.filter(({ imports, path }) =>
    path !== programLoader && path !== watcher && imports.some(({ specifier }) => npmWebgpu.includes(specifier))
  ).map(({ path }) => path)

/** The files of a part that are in an import cycle, sorted by path. */
const circlesOf = (sources: ReadonlyArray<Source>, part: string): ReadonlyArray<string> => {
  const targets = new Map(
    sources.filter(({ path }) => isWithin(path, part)).map(({ imports, path }) => [
      path,
      imports.filter(({ specifier }) => specifier.startsWith("."))
        .map(({ specifier }) => normalize(join(dirname(path), specifier)))
    ])
  )
  const reaches = (from: string): boolean => {
    const seen = new Set<string>()
    const next = [...targets.get(from) ?? []]
    for (let path = next.pop(); path !== undefined; path = next.pop()) {
      if (path === from) return true
      if (seen.has(path)) continue
      seen.add(path)
      next.push(...targets.get(path) ?? [])
    }
    return false
  }
  return [...targets.keys()].filter(reaches).sort()
}

/** Programs of other libraries, which are both tested and measured. */
const workloads = "packages/interop/test/workloads"

/** Programs are written against the public API, so that they show and measure what users get. */
const programViolationsOf = (source: Source): ReadonlyArray<string> =>
  source.imports
    .filter(({ specifier }) => specifier.startsWith("."))
    .filter(({ specifier }) => {
      const path = normalize(join(dirname(source.path), specifier))
      return /^(?:src|packages)\//.test(path) && !isWithin(path, workloads)
    })
    .map(({ line, specifier }) => `${source.path}:${line} imports ${specifier}`)

/**
 * Only a backend's own files name backends: other code reads the backend's traits and its entry in the list of devices.
 * So a backend from elsewhere works like those of this package.
 */
const byName =
  /\b(?:backend|language(?:\.id)?) *[!=]==? *"|"(?:host|opencl|webgpu)" *[!=]==? *[\w.]*\bbackend\b|\w\[[\w.]*\bbackend\]|switch \([\w.]*\bbackend\)/

const comparisonsOf = ({ code, path }: Source): ReadonlyArray<string> =>
  isWithin(path, "src/layers") ?
    [] :
    code.split("\n").flatMap((text, at) =>
      byName.test(text) && !/^\s*(?:\*|\/\/)/.test(text)
        ? [`${path}:${at + 1} decides by the name of a backend or a language`]
        : []
    )

/** The files outside of command recording that read a buffer's memory: they only compare its identity. */
const lookingAtMemory: ReadonlySet<string> = new Set([
  "src/services/buffers/BufferLike.ts",
  "src/services/buffers/BufferMemory.ts",
  "src/services/buffers/SlabSource.ts",
  "src/services/staging/Transfers.ts"
])

const takesMemory = ({ code, path }: Source): ReadonlyArray<string> =>
  isWithin(path, "src/services") && !lookingAtMemory.has(path) && code.includes("deviceBuffer(")
    ? [`${path} takes a buffer's memory itself: use BufferMemory`]
    : []

const read = (folder: string): ReadonlyArray<Source> =>
  readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts"))
    .map((file) => planted(`${folder}/${file}`, readFileSync(join(root, folder, file), "utf8")))

const planted = (path: string, code: string): Source => ({ path, code, imports: importedModules(path, code) })

describe("the levels", () => {
  const sources = packages.flatMap(({ folder }) => read(join(folder, "src")))

  it("has files on each level to check", () => {
    const found = rules.filter(({ part }) => sources.some(({ path }) => isWithin(path, part))).map(({ part }) => part)
    const required = [
      "src/domain",
      ...serviceFloors,
      ...backends,
      "src/index.ts",
      "src/webgpu.ts",
      "src/opencl.ts",
      "src/host.ts",
      ...packages.map(({ folder }) => join(folder, "src")).filter((part) => part !== "src")
    ]
    assert.includeMembers(found, required)
  })

  it("imports only from levels below", () => {
    assert.deepStrictEqual(sources.flatMap(violationsOf), [])
  })

  it("imports what its package says that it needs", () => {
    const undeclared = packages.flatMap(({ folder, name, needs }) => {
      const imported = sources
        .filter(({ path }) => isWithin(path, join(folder, "src")) && !isWithin(path, viewerPage))
        .flatMap(({ imports }) => imports.map(({ specifier }) => packageOf(specifier)))
        .filter((other) => !other.startsWith(".") && !["node", "<computed>"].includes(other))
      return Array.from(new Set(imported)).filter((other) => !needs.includes(other)).map((other) =>
        `${name} imports ${other}`
      )
    })
    assert.deepStrictEqual(undeclared, [])
    assert.deepStrictEqual(packages.find(({ name }) => name === library)?.needs, ["effect", "koffi", "webgpu"])
  })

  it("loads npm webgpu in one file", () => {
    assert.strictEqual(nodeConstructors(sources).length, 1)
  })

  it("has no circle of files, types included: each can be read without the next", () => {
    assert.deepStrictEqual(packages.flatMap(({ folder }) => circlesOf(sources, join(folder, "src"))), [])
  })

  it("has folders that can be looked over", () => {
    const counts = new Map<string, number>()
    for (const { path } of sources) counts.set(dirname(path), (counts.get(dirname(path)) ?? 0) + 1)
    const large = [...counts].filter(([, files]) => files > mostFiles)
    assert.deepStrictEqual(large, [])
  })

  it("decides nothing by the name of a backend or a language", () => {
    assert.deepStrictEqual(sources.flatMap(comparisonsOf), [])
  })

  it("has one step by which commands take the memory of their buffers", () => {
    assert.deepStrictEqual(sources.flatMap(takesMemory), [])
    assert.strictEqual(takesMemory(planted("src/services/queue/A.ts", "BufferLike.deviceBuffer(x)")).length, 1)
  })

  it("keeps examples and benchmarks on the public API", () => {
    assert.deepStrictEqual([...read("examples"), ...read("bench")].flatMap(programViolationsOf), [])
  })
})

describe("the check itself", () => {
  const forbidden: ReadonlyArray<readonly [path: string, code: string]> = [
    ["src/domain/A.ts", `import { BufferPool } from "../services/buffers/BufferPool.ts"`],
    ["src/domain/A.ts", `import type { BufferPool } from "../services/buffers/BufferPool.ts"`],
    ["src/domain/A.ts", `type Pool = import("../services/buffers/BufferPool.ts").BufferPool`],
    ["src/domain/A.ts", `export * from "../services/buffers/BufferPool.ts"`],
    ["src/domain/A.ts", `export { readFileSync } from "node:fs"`],
    ["src/domain/A.ts", `import { Effect } from "effect"`],
    ["src/services/A.ts", ``],
    ["src/services/lease/A.ts", `import type { PoolRuntime } from "../pool/PoolRuntime.ts"`],
    ["src/services/images/A.ts", `import type { CommandQueue } from "../queue/CommandQueue.ts"`],
    ["src/services/backend/A.ts", `import * as Host from "../../layers/Host/Host.ts"`],
    ["src/services/A.ts", `import * as Index from "../index.ts"`],
    ["src/services/A.ts", `const fs = await import("node:fs")`],
    ["src/services/A.ts", `import koffi from "koffi"`],
    ["src/services/buffers/allocators/A.ts", `import * as BufferPool from "../BufferPool.ts"`],
    ["src/services/allocators/A.ts", `import * as B from "./B.ts"`],
    ["src/layers/Host/A.ts", `import * as OpenCl from "../OpenCl/OpenCl.ts"`],
    ["src/layers/Host/A.ts", `const { create } = await import(name)`],
    ["src/layers/WebGpu/WebGpu.ts", `import { Worker } from "node:worker_threads"`],
    ["src/layers/OpenCl/A.ts", `import { create } from "webgpu"`],
    ["src/layers/OpenCl/A.ts", `import * as Arrays from "@effect-gpu-pool/arrays"`],
    ["src/layers/Shared.ts", `export const shared = 1`],
    ["src/webgpu.ts", `export * as OpenCl from "./layers/OpenCl/OpenCl.ts"`],
    ["src/index.ts", `export * as Host from "./layers/Host/Host.ts"`],
    ["src/index.ts", `export * as DeviceArray from "../packages/arrays/src/array/DeviceArray.ts"`],
    ["src/index.ts", `export * as DeviceArray from "@effect-gpu-pool/arrays/DeviceArray"`],
    ["src/services/queue/A.ts", `import { DeviceArray } from "@effect-gpu-pool/arrays"`],
    ["packages/arrays/src/kernels/A.ts", `import * as DeviceArray from "../array/DeviceArray.ts"`],
    ["packages/arrays/src/A.ts", `import * as Memory from "../../../src/domain/BufferUsage.ts"`],
    ["packages/arrays/src/A.ts", `import * as Internal from "effect-gpu-pool/src/domain/BufferUsage.ts"`],
    ["packages/arrays/src/A.ts", `import { PoolEvents } from "@effect-gpu-pool/observability"`],
    ["packages/schedules/src/A.ts", `import { BufferPool } from "effect-gpu-pool"`],
    ["packages/testing/src/A.ts", `import { table } from "cli-table3"`],
    ["packages/testing/src/A.ts", `import { it } from "vitest"`],
    ["packages/testing/src/A.ts", `import * as fc from "fast-check"`],
    ["packages/testing/src/A.ts", `import { nodesOf } from "../../arrays/src/kernels/expression/Inspection.ts"`],
    ["src/devices/A.ts", `import koffi from "koffi"`],
    ["src/devices/A.ts", `import * as Report from "@effect-gpu-pool/cli/DeviceReport"`],
    ["packages/cli/src/A.ts", `import * as Host from "../../../src/layers/Host/Host.ts"`],
    ["packages/cli/src/A.ts", `import { WebSocketServer } from "ws"`],
    ["src/utils/A.ts", ``]
  ]

  it.each(forbidden)("refuses %s with %s", (path, code) => {
    assert.strictEqual(violationsOf(planted(path, code)).length, 1)
  })

  const allowed: ReadonlyArray<readonly [path: string, code: string]> = [
    ["src/domain/A.ts", `import * as Data from "effect/Data"`],
    ["src/services/lease/A.ts", `import type { GpuError } from "../../domain/GpuError.ts"`],
    ["src/services/pool/A.ts", `import { PoolMachine } from "../../domain/pool/machine/PoolMachine.ts"`],
    ["src/services/buffers/allocators/A.ts", `import { Allocator } from "../Allocator.ts"`],
    ["src/layers/OpenCl/A.ts", `import koffi from "koffi"`],
    ["src/layers/WebGpu/WebGpu.ts", `const { create } = await import("webgpu")`],
    ["packages/testing/src/A.ts", `import * as Host from "effect-gpu-pool/Host"`],
    ["packages/testing/src/properties/A.ts", `import * as fc from "fast-check"`],
    ["packages/cli/src/A.ts", `import { Recording } from "@effect-gpu-pool/observability"`],
    ["src/devices/A.ts", `import * as Host from "../layers/Host/Host.ts"`],
    ["src/domain/A.ts", `// import { BufferPool } from "../services/buffers/BufferPool.ts"`],
    ["src/domain/A.ts", `const text = 'import "koffi"'`]
  ]

  it.each(allowed)("allows %s with %s", (path, code) => {
    assert.deepStrictEqual(violationsOf(planted(path, code)), [])
  })

  it("sees every file that loads npm webgpu", () => {
    const sources = [
      planted("src/layers/WebGpu/A.ts", `const { create } = await import("webgpu")`),
      planted("src/layers/WebGpu/B.ts", `import { create } from "webgpu"`),
      planted("src/layers/WebGpu/C.ts", `const { create } = await import(name)`),
      planted("src/layers/WebGpu/D.ts", `export const create = 1`)
    ]
    const loading = ["src/layers/WebGpu/A.ts", "src/layers/WebGpu/B.ts", "src/layers/WebGpu/C.ts"]
    assert.deepStrictEqual(nodeConstructors(sources), loading)
  })

  it.each([
    `if (info.backend === "host") stop()`,
    `if (backend !== "webgpu") stop()`,
    `const isHost = "host" === info.backend`,
    `const count = counts[info.backend]`,
    `if (traits.language.id === "opencl") {}`,
    `switch (device.backend) {}`
  ])("refuses %s outside src/layers", (code) => {
    assert.strictEqual(comparisonsOf(planted("packages/testing/src/A.ts", code)).length, 1)
    assert.deepStrictEqual(comparisonsOf(planted("src/layers/Host/A.ts", code)), [])
    assert.deepStrictEqual(comparisonsOf(planted("packages/testing/src/A.ts", `// ${code}`)), [])
  })

  it("sees every file of a circle, and only those", () => {
    const sources = [
      planted("src/domain/A.ts", `import type { B } from "./B.ts"`),
      planted("src/domain/B.ts", `export * from "./C.ts"`),
      planted("src/domain/C.ts", `import { A } from "./A.ts"`),
      planted("src/domain/D.ts", `import { A } from "./A.ts"`)
    ]
    assert.deepStrictEqual(circlesOf(sources, "src/domain"), ["src/domain/A.ts", "src/domain/B.ts", "src/domain/C.ts"])
    assert.deepStrictEqual(circlesOf(sources, "src/layers"), [])
  })

  it("allows to look a backend up", () => {
    const code = `const found = backends.find(({ name }) => name === device.backend)`
    assert.deepStrictEqual(comparisonsOf(planted("src/devices/A.ts", code)), [])
  })

  it("refuses a program that reaches into the sources", () => {
    const program = planted("bench/core.ts", `import { PoolCore } from "../src/domain/pool/PoolCore.ts"`)
    assert.deepStrictEqual(programViolationsOf(program), ["bench/core.ts:1 imports ../src/domain/pool/PoolCore.ts"])
    const ofPackage = planted("bench/core.ts", `import { Patch } from "../packages/interop/src/foreign/Patch.ts"`)
    assert.strictEqual(programViolationsOf(ofPackage).length, 1)
    const workload = planted(
      "bench/core.ts",
      `import { measure } from "../packages/interop/test/workloads/Workload.ts"`
    )
    assert.deepStrictEqual(programViolationsOf(workload), [])
  })
})

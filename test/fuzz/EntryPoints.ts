import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { join } from "node:path"
import * as Arrays from "../../src/array.ts"
import * as Devices from "../../src/devices.ts"
import * as Host from "../../src/host.ts"
import * as Images from "../../src/images.ts"
import * as Root from "../../src/index.ts"
import * as Kernels from "../../src/kernels.ts"
import * as Observability from "../../src/observability.ts"
import * as OpenCl from "../../src/opencl.ts"
import * as Properties from "../../src/properties.ts"
import * as Testing from "../../src/testing.ts"
import * as WebGpu from "../../src/webgpu.ts"
import {
  callsOf,
  propertiesOf,
  resolve,
  shapeOfService,
  type Signature,
  signatureOf,
  signaturesOf,
  type Written
} from "./DeclaredType.ts"
import { declaring, moduleOf, root, type SourceModule } from "./SourceModule.ts"
import { unfuzzed } from "./Unfuzzed.ts"

/** Something that a program can call or run. */
export interface EntryPoint {
  /** As errors and replays name it: `BufferPool.allocate`, `CommandQueue.CommandQueue#read`. */
  readonly id: string
  /** Whose member it is; `undefined` for what a module exports. */
  readonly receiver: string | undefined
  readonly member: string
  readonly signatures: ReadonlyArray<Signature>
  /** For a value that is run as it is, its type. */
  readonly type: Written | undefined
  /** Of an export: the value. */
  readonly value: unknown
}

const entryModules: Readonly<Record<string, object>> = {
  "index.ts": Root,
  "images.ts": Images,
  "kernels.ts": Kernels,
  "array.ts": Arrays,
  "webgpu.ts": WebGpu,
  "opencl.ts": OpenCl,
  "host.ts": Host,
  "devices.ts": Devices,
  "observability.ts": Observability,
  "testing.ts": Testing,
  "properties.ts": Properties
}

/** What a program can reach, and what each export of the package counts as. */
export interface Survey {
  readonly entryPoints: ReadonlyArray<EntryPoint>
  /** Functions and classes that are neither fuzzed nor listed in {@link unfuzzed}. */
  readonly forgotten: ReadonlyArray<string>
  /** What `unfuzzed` lists, and is not there. */
  readonly stale: ReadonlyArray<string>
}

/** All exports, each under the namespace that programs know it by. */
export const survey = (): Survey => {
  const entryPoints: Array<EntryPoint> = []
  const forgotten: Array<string> = []
  const used = new Set<string>()
  const listed = (id: string): boolean => {
    const found = [id, id.replace(/#.*/, ""), id.replace(/[.#].*/, ".*")].filter((key) => key in unfuzzed)
    for (const key of found) used.add(key)
    return found.length > 0
  }
  for (const [file, namespaces] of Object.entries(entryModules)) {
    const entry = moduleOf(join(root, "src", file))
    for (const [namespace, exported] of Object.entries(namespaces)) {
      const source = entry.imports.get(namespace)?.file
      if (source === undefined) {
        forgotten.push(namespace)
        continue
      }
      for (const [name, value] of Object.entries(exported as object)) {
        const id = `${namespace}.${name}`
        const found = entryPointsOf(id, name, value, moduleOf(source))
        if (found === undefined) {
          if (!listed(id)) forgotten.push(id)
        } else {
          entryPoints.push(...found.filter((entry) => !listed(entry.id)))
        }
      }
    }
  }
  return { entryPoints, forgotten, stale: Object.keys(unfuzzed).filter((key) => !used.has(key)) }
}

/** The ways into one export; none for a constant; `undefined` for a function whose parameters cannot be found. */
const entryPointsOf = (
  id: string,
  name: string,
  value: unknown,
  module: SourceModule
): ReadonlyArray<EntryPoint> | undefined => {
  const found = declaring(module, name)
  if (found !== undefined && found.module.isInternal(found.declaration)) return []
  if (found?.declaration.type === "ClassDeclaration") return membersOf(id, name, module)
  if (Effect.isEffect(value) || Layer.isLayer(value)) {
    return [{ id, receiver: undefined, member: name, signatures: [], type: undefined, value }]
  }
  if (typeof value !== "function") return []
  const signatures = signaturesOf(module, name)
  return signatures.length === 0
    ? undefined
    : [{ id, receiver: undefined, member: name, signatures, type: undefined, value }]
}

/** The members of a service, or the public methods of a class. */
const membersOf = (id: string, name: string, from: SourceModule): ReadonlyArray<EntryPoint> => {
  const found = declaring(from, name)
  if (found?.declaration.type !== "ClassDeclaration") return []
  const { declaration, module } = found
  const receiver = module.key(found.name)
  const entry = (member: string, signatures: ReadonlyArray<Signature>, type?: Written): EntryPoint => ({
    id: `${id}#${member}`,
    receiver,
    member,
    signatures,
    type,
    value: undefined
  })
  const service = shapeOfService(declaration, module)
  if (service !== undefined) {
    const properties = service.tag === "record"
      ? service.properties
      : service.tag === "declared"
      ? propertiesOf(service)
      : []
    return properties.map(({ name, type }) => entry(name, callsOf(resolve(type)), type))
  }
  return declaration.body.body.flatMap((member) => {
    if (member.type !== "MethodDefinition" || member.kind !== "method" || member.static || member.computed) return []
    if (member.key.type !== "Identifier" || member.accessibility === "private" || module.isInternal(member)) return []
    return [entry(member.key.name, [signatureOf(member.value, module, new Map())])]
  })
}

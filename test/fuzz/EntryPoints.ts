import * as Arrays from "@effect-gpu-pool/arrays"
import * as Observability from "@effect-gpu-pool/observability"
import * as Testing from "@effect-gpu-pool/testing"
import * as Properties from "@effect-gpu-pool/testing/properties"
import * as Schedules from "effect-schedules"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { join } from "node:path"
import * as Allocators from "../../src/allocators.ts"
import * as Backend from "../../src/backend.ts"
import * as Devices from "../../src/devices.ts"
import * as Host from "../../src/host.ts"
import * as Images from "../../src/images.ts"
import * as Root from "../../src/index.ts"
import * as OpenCl from "../../src/opencl.ts"
import * as WebGpu from "../../src/webgpu.ts"
import { sourceOf } from "../support/packages.ts"
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
  /** Its name in errors and replays: `BufferPool.allocate`, `CommandQueue.CommandQueue#read`. */
  readonly id: string
  /** The key of the receiver; `undefined` for an export of a module. */
  readonly receiver: string | undefined
  readonly member: string
  readonly signatures: ReadonlyArray<Signature>
  /** The type of a value that is run without a call. */
  readonly type: Written | undefined
  /** The value of an export. */
  readonly value: unknown
}

/** `/machine` is left out: programs do not call it, and it does not check arguments again. */
const entryModules: Readonly<Record<string, object>> = {
  "effect-gpu-pool": Root,
  "effect-gpu-pool/images": Images,
  "effect-gpu-pool/allocators": Allocators,
  "effect-gpu-pool/backend": Backend,
  "effect-gpu-pool/webgpu": WebGpu,
  "effect-gpu-pool/opencl": OpenCl,
  "effect-gpu-pool/host": Host,
  "effect-gpu-pool/devices": Devices,
  "@effect-gpu-pool/arrays": Arrays,
  "@effect-gpu-pool/observability": Observability,
  "@effect-gpu-pool/testing": Testing,
  "@effect-gpu-pool/testing/properties": Properties,
  "effect-schedules": Schedules
}

/** All entry points of the packages, and the exports that are missing from the lists. */
export interface Survey {
  readonly entryPoints: ReadonlyArray<EntryPoint>
  /** Functions and classes that are neither fuzzed nor listed in {@link unfuzzed}. */
  readonly forgotten: ReadonlyArray<string>
  /** Entries of `unfuzzed` that no longer exist. */
  readonly stale: ReadonlyArray<string>
}

/** Surveys all exports, each under its public namespace. */
export const survey = (): Survey => {
  const entryPoints: Array<EntryPoint> = []
  const forgotten: Array<string> = []
  const used = new Set<string>()
  const listed = (id: string): boolean => {
    const found = [id, id.replace(/#.*/, ""), id.replace(/[.#].*/, ".*")].filter((key) => key in unfuzzed)
    for (const key of found) used.add(key)
    return found.length > 0
  }
  for (const [specifier, namespaces] of Object.entries(entryModules)) {
    const entry = moduleOf(join(root, sourceOf(specifier)!))
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

/** The entry points of one export: none for a constant, `undefined` for a function whose parameters cannot be found. */
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
  // A Schema is a value.
  if (typeof value !== "function" || Schema.isSchema(value)) return []
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

import type * as Ast from "oxc-parser"
import { type Declaration, declaring, moduleOf, type SourceModule } from "./SourceModule.ts"

/** A type as written in the source, with the module that resolves its names and the types bound to its parameters. */
export interface Written {
  readonly node: Ast.TSType
  readonly module: SourceModule
  readonly bound: ReadonlyMap<string, Written>
}

export interface Property {
  readonly name: string
  readonly optional: boolean
  readonly type: Written
}

export interface Parameter {
  readonly name: string
  readonly optional: boolean
  readonly rest: boolean
  /** `undefined` where none is written. */
  readonly type: Written | undefined
}

export interface Signature {
  readonly parameters: ReadonlyArray<Parameter>
  readonly result: Written | undefined
}

/** A type, one level deep. */
export type DeclaredType =
  | {
    readonly tag: "plain"
    readonly name: "number" | "string" | "boolean" | "bigint" | "symbol" | "undefined" | "null"
  }
  | { readonly tag: "literal"; readonly value: unknown }
  | { readonly tag: "union"; readonly members: ReadonlyArray<Written> }
  | { readonly tag: "intersection"; readonly members: ReadonlyArray<Written> }
  | { readonly tag: "tuple"; readonly elements: ReadonlyArray<Written> }
  | { readonly tag: "record"; readonly properties: ReadonlyArray<Property>; readonly calls: ReadonlyArray<Signature> }
  | { readonly tag: "function"; readonly signature: Signature }
  /** An interface or class of this repository. */
  | {
    readonly tag: "declared"
    readonly key: string
    readonly module: SourceModule
    readonly declaration: Declaration
    readonly bound: ReadonlyMap<string, Written>
  }
  /** A type of the language, or of a package: `Float32Array`, `effect/Duration.Input`. */
  | { readonly tag: "foreign"; readonly name: string; readonly args: ReadonlyArray<Written> }
  | { readonly tag: "unknown" }

const unknown: DeclaredType = { tag: "unknown" }

const plainNames: { readonly [type: string]: DeclaredType } = {
  TSNumberKeyword: { tag: "plain", name: "number" },
  TSStringKeyword: { tag: "plain", name: "string" },
  TSBooleanKeyword: { tag: "plain", name: "boolean" },
  TSBigIntKeyword: { tag: "plain", name: "bigint" },
  TSSymbolKeyword: { tag: "plain", name: "symbol" },
  TSUndefinedKeyword: { tag: "plain", name: "undefined" },
  TSVoidKeyword: { tag: "plain", name: "undefined" },
  TSNullKeyword: { tag: "plain", name: "null" }
}

/**
 * Resolves a written type. Aliases and type parameters are followed; a type that only a compiler could compute is
 * unknown.
 */
export const resolve = (written: Written): DeclaredType => {
  const { bound, module, node } = written
  const at = (node: Ast.TSType): Written => ({ node, module, bound })
  switch (node.type) {
    case "TSLiteralType":
      return "value" in node.literal ? { tag: "literal", value: node.literal.value } : unknown
    case "TSUnionType":
      return { tag: "union", members: node.types.map(at) }
    case "TSIntersectionType":
      return { tag: "intersection", members: node.types.map(at) }
    case "TSParenthesizedType":
      return resolve(at(node.typeAnnotation))
    case "TSTypeOperator":
      return node.operator === "readonly" ? resolve(at(node.typeAnnotation)) : unknown
    case "TSArrayType":
      return { tag: "foreign", name: "Array", args: [at(node.elementType)] }
    case "TSTupleType":
      return { tag: "tuple", elements: node.elementTypes.flatMap((element) => elementOf(element).map(at)) }
    case "TSTypeLiteral":
      return recordOf(node.members, module, bound)
    case "TSFunctionType":
      return { tag: "function", signature: signatureOf(node, module, bound) }
    case "TSIndexedAccessType":
      return serviceOf(at(node.objectType), node.indexType)
    case "TSTypeReference":
      return reference(written, node)
    default:
      return plainNames[node.type] ?? unknown
  }
}

const elementOf = (element: Ast.TSTupleElement): ReadonlyArray<Ast.TSType> => {
  if (element.type === "TSNamedTupleMember") return elementOf(element.elementType)
  if (element.type === "TSOptionalType") return [element.typeAnnotation]
  return element.type === "TSRestType" ? [] : [element]
}

const namesOf = (name: Ast.TSTypeName): ReadonlyArray<string> =>
  name.type === "Identifier"
    ? [name.name]
    : name.type === "TSQualifiedName"
    ? [...namesOf(name.left), name.right.name]
    : []

/** The values of these types are those of their first argument. */
const transparent = new Set(["Readonly", "Partial", "Required", "NoInfer", "NonNullable", "Omit", "Pick", "Exclude"])

const reference = ({ bound, module }: Written, node: Ast.TSTypeReference): DeclaredType => {
  const args = (node.typeArguments?.params ?? []).map((node): Written => ({ node, module, bound }))
  const names = namesOf(node.typeName)
  const [first = "", second] = names
  const parameter = second === undefined ? bound.get(first) : undefined
  if (parameter !== undefined) return resolve(parameter)
  const imported = module.imports.get(first)
  if (second !== undefined && imported?.file !== undefined) return declared(moduleOf(imported.file), second, args)
  if (second !== undefined) return { tag: "foreign", name: `${imported?.specifier ?? ""}.${second}`, args }
  if (imported !== undefined && imported.file === undefined) {
    return { tag: "foreign", name: `${imported.specifier}.${imported.name}`, args }
  }
  if (transparent.has(first) && args[0] !== undefined) return resolve(args[0])
  return declared(module, first, args)
}

const declared = (from: SourceModule, name: string, args: ReadonlyArray<Written>): DeclaredType => {
  const found = declaring(from, name)
  if (found === undefined) return { tag: "foreign", name, args }
  const { declaration, module } = found
  if (declaration.type === "VariableDeclarator" || declaration.type.startsWith("Function")) return unknown
  const node = declaration as Ast.TSTypeAliasDeclaration | Ast.TSInterfaceDeclaration | Ast.Class
  const bound = bind(node.typeParameters, args, module, new Map())
  if (node.type === "TSTypeAliasDeclaration") {
    // worlds and generators use the name of an alias of an object type
    return node.typeAnnotation.type === "TSTypeLiteral" || node.typeAnnotation.type === "TSMappedType"
      ? { tag: "declared", key: module.key(found.name), module, declaration, bound }
      : resolve({ node: node.typeAnnotation, module, bound })
  }
  return { tag: "declared", key: module.key(found.name), module, declaration, bound }
}

/** Binds type parameters to the given types, else their defaults, else their constraints. */
const bind = (
  parameters: Ast.TSTypeParameterDeclaration | null | undefined,
  args: ReadonlyArray<Written>,
  module: SourceModule,
  outer: ReadonlyMap<string, Written>
): ReadonlyMap<string, Written> => {
  const bound = new Map(outer)
  for (const [index, parameter] of (parameters?.params ?? []).entries()) {
    const node = parameter.default ?? parameter.constraint
    const given = args[index] ?? (node === null ? undefined : { node, module, bound: new Map(bound) })
    if (given === undefined) bound.delete(parameter.name.name)
    else bound.set(parameter.name.name, given)
  }
  return bound
}

/** `CommandQueue["Service"]`: the second type argument of the class's `Context.Service`. */
const serviceOf = (object: Written, index: Ast.TSType): DeclaredType => {
  if (index.type !== "TSLiteralType" || !("value" in index.literal)) return unknown
  const owner = resolve(object)
  if (owner.tag !== "declared") return unknown
  if (index.literal.value === "Service") return shapeOfService(owner.declaration, owner.module) ?? unknown
  const property = propertiesOf(owner).find(({ name }) => name === (index.literal as { value: unknown }).value)
  return property === undefined ? unknown : resolve(property.type)
}

/** The shape of the service whose key the class is. */
export const shapeOfService = (declaration: Declaration, module: SourceModule): DeclaredType | undefined => {
  if (declaration.type !== "ClassDeclaration") return undefined
  const call = declaration.superClass
  const made = call?.type === "CallExpression" && call.callee.type === "CallExpression" ? call.callee : undefined
  const shape = made?.typeArguments?.params[1]
  return shape === undefined ? undefined : resolve({ node: shape, module, bound: new Map() })
}

const keyOf = (key: Ast.PropertyKey): string | undefined =>
  key.type === "Identifier" ? key.name : key.type === "Literal" && typeof key.value === "string" ? key.value : undefined

const recordOf = (
  members: ReadonlyArray<Ast.TSSignature>,
  module: SourceModule,
  bound: ReadonlyMap<string, Written>
): DeclaredType & { readonly tag: "record" } => {
  const properties: Array<Property> = []
  const calls: Array<Signature> = []
  for (const member of members) {
    if (member.type === "TSCallSignatureDeclaration") calls.push(signatureOf(member, module, bound))
    if (module.isInternal(member) || !("key" in member)) continue
    const name = keyOf(member.key)
    if (name === undefined || member.computed) continue
    if (member.type === "TSPropertySignature" && member.typeAnnotation !== null) {
      properties.push({
        name,
        optional: member.optional,
        type: { node: member.typeAnnotation.typeAnnotation, module, bound }
      })
    }
  }
  return { tag: "record", properties, calls }
}

/** The properties of an interface or class, inherited ones included. */
export const propertiesOf = (type: DeclaredType & { readonly tag: "declared" }): ReadonlyArray<Property> => {
  const { bound, declaration, module } = type
  if (declaration.type === "TSTypeAliasDeclaration") {
    const inner = resolve({ node: declaration.typeAnnotation, module, bound })
    return inner.tag === "record" ? inner.properties : []
  }
  if (declaration.type !== "TSInterfaceDeclaration") return []
  const own = recordOf(declaration.body.body, module, bound).properties
  const inherited = declaration.extends.flatMap((heritage) => {
    const { expression } = heritage
    const args = (heritage.typeArguments?.params ?? []).map((node): Written => ({ node, module, bound }))
    const base = expression.type === "Identifier"
      ? declared(module, expression.name, args)
      : expression.type === "MemberExpression" && expression.object.type === "Identifier" &&
          expression.property.type === "Identifier"
      ? inNamespace(module, expression.object.name, expression.property.name, args)
      : unknown
    return base.tag === "declared" ? propertiesOf(base) : []
  })
  const names = new Set(own.map(({ name }) => name))
  return [...own, ...inherited.filter(({ name }) => !names.has(name))]
}

const inNamespace = (
  module: SourceModule,
  namespace: string,
  name: string,
  args: ReadonlyArray<Written>
): DeclaredType => {
  const file = module.imports.get(namespace)?.file
  return file === undefined ? unknown : declared(moduleOf(file), name, args)
}

interface Callable {
  readonly params: ReadonlyArray<Ast.ParamPattern>
  readonly returnType?: Ast.TSTypeAnnotation | null | undefined
  readonly typeParameters?: Ast.TSTypeParameterDeclaration | null | undefined
}

/** The signature of anything that has parameters. */
export const signatureOf = (
  callable: Callable,
  module: SourceModule,
  outer: ReadonlyMap<string, Written>
): Signature => {
  const bound = bind(callable.typeParameters, [], module, outer)
  const at = (annotation: Ast.TSTypeAnnotation | null | undefined): Written | undefined =>
    annotation === null || annotation === undefined ? undefined : { node: annotation.typeAnnotation, module, bound }
  return {
    parameters: callable.params.map((parameter, index): Parameter => {
      const pattern = parameter.type === "TSParameterProperty" ? parameter.parameter : parameter
      const target = pattern.type === "AssignmentPattern" ? pattern.left : pattern
      return {
        name: target.type === "Identifier" ? target.name : `argument ${index + 1}`,
        optional: pattern.type === "AssignmentPattern" || target.optional === true,
        rest: pattern.type === "RestElement",
        type: at(target.typeAnnotation)
      }
    }),
    result: at(callable.returnType)
  }
}

/** The signatures of a module's export; empty if the source does not declare any. */
export const signaturesOf = (module: SourceModule, name: string): ReadonlyArray<Signature> => {
  const found = declaring(module, name)
  if (found === undefined) return []
  const { declaration } = found
  if (declaration.type === "FunctionDeclaration") {
    return [signatureOf(declaration as Ast.Function, found.module, new Map())]
  }
  if (declaration.type !== "VariableDeclarator") return []
  const annotation = "typeAnnotation" in declaration.id ? declaration.id.typeAnnotation : undefined
  if (annotation !== undefined && annotation !== null) {
    return callsOf(resolve({ node: annotation.typeAnnotation, module: found.module, bound: new Map() }))
  }
  return ofExpression(declaration.init, found.module)
}

const ofExpression = (expression: Ast.Expression | null, module: SourceModule): ReadonlyArray<Signature> => {
  if (expression === null) return []
  if (expression.type === "ArrowFunctionExpression" || expression.type === "FunctionExpression") {
    return [signatureOf(expression, module, new Map())]
  }
  if (expression.type === "TSAsExpression") {
    return callsOf(resolve({ node: expression.typeAnnotation, module, bound: new Map() }))
  }
  if (expression.type !== "CallExpression" || expression.callee.type !== "Identifier") return []
  // made by a function: the signatures of its result
  return signaturesOf(module, expression.callee.name).flatMap(({ result }) =>
    result === undefined ? [] : callsOf(resolve(result))
  )
}

/** The signatures of a type that can be called. */
export const callsOf = (type: DeclaredType): ReadonlyArray<Signature> => {
  if (type.tag === "function") return [type.signature]
  if (type.tag === "record") return type.calls
  if (type.tag === "intersection") return type.members.flatMap((member) => callsOf(resolve(member)))
  if (type.tag !== "declared") return []
  const { bound, declaration, module } = type
  if (declaration.type === "TSInterfaceDeclaration") return recordOf(declaration.body.body, module, bound).calls
  return declaration.type === "TSTypeAliasDeclaration"
    ? callsOf(resolve({ node: declaration.typeAnnotation, module, bound }))
    : []
}

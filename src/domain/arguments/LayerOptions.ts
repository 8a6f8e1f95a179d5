/**
 * The options of layers, as Schemas: the one definition of their types, of the checks when a layer is built, of the
 * error messages, and of what `Config` reads as text.
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import { toMillis } from "effect/Duration"
import * as Schema from "effect/Schema"
import * as Delay from "../device/Delay.ts"
import { type GpuError, invalidRequest } from "../GpuError.ts"
import { formatted } from "./Format.ts"
import * as KnownOptions from "./KnownOptions.ts"
import * as Label from "./Label.ts"

/**
 * An option of a layer, which a program may leave out.
 *
 * @category models
 * @since 0.1.0
 */
export interface Option<A> extends Schema.optional<Schema.Codec<A, A>> {}

/**
 * The options of a layer: their names, and what each may be.
 *
 * @category models
 * @since 0.1.0
 */
export interface LayerOptions {
  readonly fields: Schema.Struct.Fields
}

/** Describes an invalid value; called only for one. */
type Problem = (operation: string, name: string, value: unknown) => GpuError | undefined

/** An option with the text that `Config` reads for it, where it can be written as one. */
const option = <A>(schema: Schema.Codec<A>, problem: Problem, text?: Schema.Codec<unknown, unknown>): Option<A> =>
  Schema.optional(schema as Schema.Codec<A, A>).annotate({ problem, text })

const saying = (expected: string, hint: string) => (operation: string, name: string, value: unknown): GpuError =>
  invalidRequest(operation, `${name} ${formatted(value)} is no ${expected}`, hint)

/**
 * A value that is no plain data, as a policy, or that has a check of its own: `problem` returns its error. `text` is
 * the codec of its text in configuration.
 */
export const instance = <A>(problem: Problem, text?: Schema.Codec<unknown, unknown>): Option<A> =>
  option(Schema.declare((value): value is A => problem("", "", value) === undefined), problem, text)

/** A value of a schema, as a policy that is plain data: `expected` says what it is, and `hint` what to pass. */
export const data = <A>(schema: Schema.Codec<A>, expected: string, hint: string): Option<A> =>
  option(schema, saying(expected, hint))

/** Any value: the code that uses the option checks it. */
export const any = <A>(text?: Schema.Codec<unknown, unknown>): Option<A> => instance<A>(() => undefined, text)

/** Several texts, which configuration has as a list. */
export const strings: Option<ReadonlyArray<string>> = option(
  Schema.Array(Schema.String),
  saying("array of texts", "Pass an array of texts, or leave it out."),
  Schema.Array(Schema.String)
)

/** A function. */
export const callback = <A extends (...args: never) => unknown>(): Option<A> =>
  option(Schema.declare((value): value is A => typeof value === "function"), saying("function", "Pass a function."))

/** True or false. */
export const boolean: Option<boolean> = option(
  Schema.Boolean,
  saying("boolean", "Pass true or false, or leave it out."),
  Schema.Boolean
)

/** What a device, buffer or pool is called. */
export const label: Option<string> = option(
  Schema.String,
  (operation, _, value) => Label.problem(operation, value),
  Schema.String
)

/** One of several texts. */
export const oneOf = <const A extends ReadonlyArray<string>>(choices: A): Option<A[number]> => {
  const schema = Schema.Literals(choices)
  return option<A[number]>(
    schema,
    (operation, name, value) =>
      invalidRequest(
        operation,
        `${name} ${formatted(value)} is unknown`,
        `Pass ${choices.map((choice) => `"${choice}"`).join(" or ")}, or leave it out.`
      ),
    schema
  )
}

/**
 * What is wrong with the value of one option, or `undefined`. Most options are left out, which is cheaper to see than to parse.
 *
 * @internal
 */
export const problemOf = (
  schema: Schema.Constraint,
  operation: string,
  name: string,
  value: unknown
): GpuError | undefined =>
  value === undefined || Schema.is(schema)(value) ? undefined : annotationsOf(schema).problem(operation, name, value)

/** A whole number. */
export const count = (least: number, most = Number.MAX_SAFE_INTEGER): Option<number> => {
  const schema = Schema.Int.check(Schema.isBetween({ minimum: least, maximum: most }))
  const range = most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `from ${least} to ${most}`
  return option<number>(schema, saying(`whole number ${range}`, "Leave it out for the default."), schema)
}

/** How many compiled kernels a device keeps. */
export const kernelCacheCapacity: Option<number> = count(1)

/**
 * What is wrong with a time that is shorter or none.
 *
 * @internal
 */
export const durationProblem = (least: number): (operation: string, name: string, value: unknown) => GpuError =>
  saying(`duration of at least ${least} ms`, `Pass milliseconds or a text such as "10 seconds", or leave it out.`)

/** A time: milliseconds, or a text with a unit. */
export const duration = (least = 0): Option<Duration.Input> => {
  const isDuration = (value: unknown): value is Duration.Input => {
    const parsed = Delay.parse(value as Duration.Input)
    return parsed !== undefined && toMillis(parsed) >= least
  }
  return option(Schema.declare(isDuration), durationProblem(least), Schema.String)
}

/** The annotations of an option's schema. */
const annotationsOf = (
  schema: Schema.Constraint
): { readonly problem: Problem; readonly text?: Schema.Codec<unknown> } => Schema.resolveAnnotations(schema) as never

/**
 * The names of options, as messages list them.
 *
 * @internal
 */
export const namesOf = ({ fields }: LayerOptions): KnownOptions.KnownOptions => new Set(Object.keys(fields))

/**
 * The options of a layer, or the error of an unknown name or an invalid value.
 *
 * @internal
 */
export const read = <F extends Schema.Struct.Fields>(
  operation: string,
  schema: Schema.Struct<F>,
  options: Schema.Struct<F>["Type"] | undefined
): Schema.Struct<F>["Type"] | GpuError => {
  if (options === undefined) return {} as Schema.Struct<F>["Type"]
  const unknown = KnownOptions.problem(operation, options, namesOf(schema))
  if (unknown !== undefined) return unknown
  const given = { ...options }
  for (const [name, field] of Object.entries<Schema.Constraint>(schema.fields)) {
    const value: unknown = Reflect.get(given, name)
    const problem = problemOf(field, operation, name, value)
    if (problem !== undefined) return problem
  }
  return given
}

/**
 * The options that can be written as text, as `Config` reads them.
 *
 * @internal
 */
export const texts = ({ fields }: LayerOptions): Schema.Codec<object, unknown> =>
  Schema.Struct(
    Object.fromEntries(
      Object.entries<Schema.Constraint>(fields).flatMap(([name, field]) => {
        const { text } = annotationsOf(field)
        return text === undefined ? [] : [[name, Schema.optional(text)]]
      })
    )
  )

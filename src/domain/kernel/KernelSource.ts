/**
 * A kernel in one language: written by hand, or by the writer of that language.
 *
 * @internal
 */
import { attempt } from "../arguments/ArgumentProblem.ts"
import { withArticle } from "../arguments/Format.ts"
import { type GpuError, invalidRequest, unsupported } from "../GpuError.ts"
import type { Language } from "../language/Language.ts"
import type { LanguageWriter } from "../language/LanguageWriter.ts"
import type { Generate, Kernel, KernelBody, KernelSource } from "./Kernel.ts"

/** Generated sources, cached since compilers know a function by its identity. */
const written = new WeakMap<Generate, Map<LanguageWriter, KernelSource | GpuError>>()

const operationOf = (kernel: Kernel): string => `KernelCache.get, kernel "${kernel.name}"`

/** The kernel in the language of a writer: Unsupported where it has no body in that. */
export const sourceIn = (kernel: Kernel, writer: LanguageWriter, backend: string): KernelSource | GpuError => {
  const { language, reserved } = writer
  const taken = kernel.form === "source" ? undefined : kernel.args.find(({ name }) => reserved?.has(name))
  if (taken !== undefined) {
    return invalidRequest(
      operationOf(kernel),
      `"${taken.name}" is a word that ${language.name} reserves`,
      `Choose another name, as ${taken.name}_value.`
    )
  }
  const body = kernel.body[language.id]
  if (body !== undefined) return ofHand(kernel, language, body)
  return kernel.generate === undefined ? without(kernel, language, backend) : generated(kernel.generate, writer)
}

const ofHand = (kernel: Kernel, { bodies, id, name }: Language, body: KernelBody): KernelSource | GpuError => {
  if (typeof body === (bodies === "items" ? "string" : "function")) {
    return { body, preamble: kernel.preamble[id] ?? "" }
  }
  return invalidRequest(
    operationOf(kernel),
    `its body.${id} is ${bodies === "items" ? "no text" : "no function"}`,
    wantedBody(kernel, bodies, name)
  )
}

const wantedBody = ({ form }: Kernel, bodies: Language["bodies"], name: string): string => {
  if (bodies === "items") {
    return form === "source" ? `Pass the whole source, in ${name}.` : `Pass the statements for one item, in ${name}.`
  }
  return form === undefined
    ? "Pass a function (from, to, args) that works through the items of a range."
    : "Pass a function (group, args) that works through the items of a workgroup."
}

const without = (kernel: Kernel, { id, name }: Language, backend: string): GpuError =>
  unsupported(
    operationOf(kernel),
    backend,
    `a kernel without ${withArticle(name)} body`,
    `Give the kernel a body.${id}, or run it on a backend that it has a body for${others(kernel)}.`
  )

/** The languages that the kernel has a body in, so that a misspelled one is seen in the message. */
const others = ({ body }: Kernel): string => {
  const ids = Object.keys(body)
  return ids.length === 0 ? "" : `, which are body.${ids.join(" and body.")}`
}

/** Catches the error that a writer throws for what its language lacks. */
const generated = (generate: Generate, writer: LanguageWriter): KernelSource | GpuError => {
  const known = written.get(generate) ?? new Map<LanguageWriter, KernelSource | GpuError>()
  written.set(generate, known)
  const source = known.get(writer) ?? attempt(() => generate(writer))
  known.set(writer, source)
  return source
}

const identities = new WeakMap<object, number>()
let functions = 0

/** Two functions with the same text may use different values, so one is known by its identity. */
const identityOf = (body: object): number => {
  const known = identities.get(body) ?? ++functions
  identities.set(body, known)
  return known
}

/** Everything that a compiled kernel depends on. */
export const keyOf = (kernel: Kernel, { body, preamble }: KernelSource): string => {
  const { args, buildOptions, dtypes, form, name, workPerItem, workgroupSize } = kernel
  const code = typeof body === "string" ? body : identityOf(body)
  return JSON.stringify([code, preamble, name, args, workgroupSize, buildOptions, dtypes, workPerItem, form])
}

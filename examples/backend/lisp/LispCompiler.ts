/** From Lisp to the function that a thread runs. */
import { GpuError, type Kernel, type KernelArgument } from "effect-gpu-pool"
import type { LanguageWriter } from "effect-gpu-pool/backend"
import { JavaScript } from "effect-gpu-pool/host"

type Form = string | ReadonlyArray<Form>

/** The lists and words of a text. */
const read = (text: string): ReadonlyArray<Form> => {
  const open: Array<Array<Form>> = [[]]
  for (const [word] of text.matchAll(/[()]|[^\s()]+/g)) {
    if (word === "(") open.push([])
    else if (word !== ")") open.at(-1)!.push(word)
    else {
      const closed = open.pop()!
      if (open.length === 0) throw wrong("a parenthesis too many")
      open.at(-1)!.push(closed)
    }
  }
  if (open.length > 1) throw wrong("a parenthesis too few")
  return open[0]!
}

const wrong = (what: string): GpuError.GpuError =>
  GpuError.invalidRequest("KernelCache.get", `${what} in a Lisp body`, "Write it as LispWriter.ts does.")

const js = JavaScript.writer

type Type = Parameters<LanguageWriter.LanguageWriter["constant"]>[1]
type Operation = LanguageWriter.UsedOperation["operation"]

/** Translates a text to JavaScript. */
class Translation {
  readonly #scalars: ReadonlySet<string>

  constructor(args: ReadonlyArray<KernelArgument.KernelArgument>) {
    this.#scalars = new Set(args.filter(({ _tag }) => _tag === "ScalarArg").map(({ name }) => name))
  }

  lines(forms: ReadonlyArray<Form>): ReadonlyArray<string> {
    return forms.flatMap((form) => this.#statement(form))
  }

  #statement(form: Form): ReadonlyArray<string> {
    const [head, first, second, third, fourth, last] = typeof form === "string" ? [] : form
    switch (head) {
      case "let":
        return [js.declare(word(first), word(second) as Type, this.#value(third))]
      case "var":
        return [js.variable(word(first), word(second) as "u32", this.#value(third))]
      case "set":
        return [js.assign(word(first), this.#value(second))]
      case "put":
        return [js.store(word(first), this.#value(second), this.#value(third), "f32")]
      case "walk": {
        const moves = { position: word(first), begin: word(second), step: word(third), times: word(fourth) }
        return js.walk(moves, this.lines(many(last)))
      }
      case "each": {
        const turn = { value: word(second), place: word(third), lines: this.lines(many(fourth)) }
        return js.each(many(first).map((value) => this.#value(value)), "f32", turn)
      }
      case "when":
        return js.when(this.#value(first), this.lines(many(second)), this.lines(many(third)))
      default:
        throw wrong(`no statement "${String(head)}"`)
    }
  }

  #value(form: Form | undefined): string {
    if (form === undefined) throw wrong("no value")
    if (typeof form === "string") return this.#scalars.has(form) ? js.scalar(form) : form
    const [head, first, second, third] = form
    switch (head) {
      case "constant": {
        const [type, text] = [word(first), word(second)]
        return `(${js.constant(type === "bool" ? text === "true" : Number(text), type as Type)})`
      }
      case "get":
        return js.load(word(first), this.#value(second), "f32")
      case "at":
        return `(${js.viewIndex(word(first), this.#value(second), true)})`
      case "near":
        return js.clampedIndex(word(first), this.#value(second), third === "offset", "f32")
      case "madd":
        return `(${js.multiplyAdd(this.#value(first), this.#value(second), this.#value(third))})`
      case "quotient":
        return `(${js.quotient(this.#value(first), this.#value(second))})`
    }
    const operands = form.slice(3).map((operand) => this.#value(operand))
    return `(${js.apply(word(head) as Operation, operands, word(first) as Type, word(second) as Type)})`
  }
}

const word = (form: Form | undefined): string => {
  if (typeof form !== "string") throw wrong("no word")
  return form
}

const many = (form: Form | undefined): ReadonlyArray<Form> => {
  if (form === undefined || typeof form === "string") throw wrong("no list")
  return form
}

/** The function of a range, as text. Throws what is wrong with the body. */
export const functionText = ({ args, name }: Kernel.Kernel, { body }: Kernel.KernelSource): string => {
  const numeric = args.filter((argument) => argument._tag === "VectorArg" || argument._tag === "ScalarArg")
  const inside = new Translation(args).lines(read(String(body)))
  return JavaScript.textOf(js.body({ name, args: numeric, before: [], inside }))
}

/**
 * A readable trace of one schedule: which fiber ran from which step to which, and where it stopped.
 *
 * @internal
 */

export class Trace {
  readonly #parts: Array<Part> = []
  readonly #notes: Array<string> = []

  /** Records one step of a fiber. */
  step(fiber: string, step: number, operation: () => string): void {
    let part = this.#parts.at(-1)
    if (part?.fiber !== fiber || part.closed) {
      part = { fiber, from: step, to: step, operations: [], closed: false, note: undefined }
      this.#parts.push(part)
    }
    part.to = step
    part.operations.push(operation())
  }

  /** Records a decision or an event after the last step. */
  note(text: string): void {
    const part = this.#parts.at(-1)
    if (part === undefined) {
      this.#notes.push(text)
      return
    }
    part.note = part.note === undefined ? text : `${part.note}; ${text}`
    part.closed = true
  }

  toString(): string {
    const width = Math.max(0, ...this.#parts.map(({ fiber }) => fiber.length))
    return [
      ...this.#notes,
      ...this.#parts.flatMap((part) => {
        const steps = part.from === part.to ? `${part.from}` : `${part.from}-${part.to}`
        const begin = `${steps.padStart(11)}  ${part.fiber.padEnd(width)}`
        const indent = " ".repeat(begin.length)
        return [
          ...shown(part.operations).map((operation, index) => `${index === 0 ? begin : indent}  ${operation}`),
          ...(part.note === undefined ? [] : [`${indent}  -> ${part.note}`])
        ]
      })
    ].join("\n")
  }
}

interface Part {
  readonly fiber: string
  readonly from: number
  to: number
  readonly operations: Array<string>
  closed: boolean
  note: string | undefined
}

/** How many operations a trace shows at the beginning and at the end of a part. */
const ends = 3

const shown = (operations: ReadonlyArray<string>): ReadonlyArray<string> => {
  const left = operations.length - 2 * ends
  return left <= 1
    ? operations
    : [...operations.slice(0, ends), `... ${left} more`, ...operations.slice(-ends)]
}

/** How many characters of a function's source code a trace shows. */
const longest = 100

/** Describes an effect by the function in it. */
export const describe = (primitive: object): string => {
  const { "~effect/Effect/args": own, "~effect/Effect/identifier": name } = primitive as Primitive
  const code = [own, ...Object.values(primitive)].find((value) => typeof value === "function")
  if (code === undefined) return name ?? "an effect"
  const text = String(code).replace(/\s+/g, " ")
  return `${name ?? "an effect"} ${text.length > longest ? `${text.slice(0, longest)}...` : text}`
}

/** The names of members of Effect's primitives. Without them a trace tells less. */
interface Primitive {
  readonly "~effect/Effect/identifier"?: string | undefined
  readonly "~effect/Effect/args"?: unknown
}

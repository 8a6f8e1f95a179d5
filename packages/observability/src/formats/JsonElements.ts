/**
 * Reads the objects in lists of a large JSON object one by one, without the rest in memory.
 *
 * @internal
 */
import { valid } from "effect-gpu-pool/ArgumentProblem"
import { type GpuError, invalidRequest } from "effect-gpu-pool/GpuError"
import { shown } from "effect-gpu-pool/ShownValue"

/** How deep the objects of a member are: 1 in `{"name": [{}]}`, 2 in `{"name": [[{}]]}`. */
export type Depths = ReadonlyMap<string, number>

/** Where an object is: in which member, in which list of it, and at which place there. */
export interface ElementPlace {
  readonly member: string
  readonly list: number
  readonly index: number
}

const quote = 0x22
const backslash = 0x5c
const openings = new Map<number, number>([[0x7b, 0x7d], [0x5b, 0x5d]])
const closings = new Set<number>(openings.values())
const colon = 0x3a
const newline = 0x0a
const comma = 0x2c

/** Characters that mean something within an object that is being read, by their codes. */
const structure = new Uint8Array(128)
for (const code of [quote, newline, ...openings.keys(), ...closings]) structure[code] = 1

const isSpace = (code: number): boolean => code === 0x20 || code === newline || code === 0x0d || code === 0x09

export class JsonElements {
  readonly #operation: string
  readonly #depths: Depths
  readonly #each: (value: Readonly<Record<string, unknown>>, place: ElementPlace) => void
  /** What closes the objects and lists around this place. */
  readonly #open: Array<number> = []
  readonly #found = new Set<string>()
  #line = 1
  #isInText = false
  #isEscaped = false
  #isEnded = false
  /** The text that was read last at the top, as JSON; a colon after it makes it the name of a member. */
  #topText = ""
  #member = ""
  #list = -1
  #index = -1
  /** The object that is being read, as far as it was in earlier pieces. */
  #element: string | undefined

  constructor(
    operation: string,
    depths: Depths,
    each: (value: Readonly<Record<string, unknown>>, place: ElementPlace) => void
  ) {
    this.#operation = operation
    this.#depths = depths
    this.#each = each
  }

  /** The members that were there. */
  get found(): ReadonlySet<string> {
    return this.#found
  }

  /** An error that says where the reader is. */
  problem(problem: string, hint: string): GpuError {
    return invalidRequest(this.#operation, `line ${this.#line}: ${problem}`, hint)
  }

  take(piece: string): void {
    // Where the object, or the text at the top, that is being read begins in this piece.
    let from = 0
    for (let at = 0; at < piece.length; at++) {
      const code = piece.charCodeAt(at)
      if (code === newline) this.#line++
      if (this.#isInText) {
        if (code !== quote && code !== backslash && !this.#isEscaped) continue
        this.#inText(code)
        if (!this.#isInText && this.#open.length === 1) this.#topText += piece.slice(from, at + 1)
        continue
      }
      if (this.#element !== undefined) {
        if (structure[code] !== 1) continue
      } else if (this.#begins(code)) {
        this.#element = ""
        from = at
      }
      if (code === quote) {
        this.#isInText = true
        if (this.#open.length === 1) {
          this.#topText = ""
          from = at
        }
      } else this.#outsideText(code)
      if (this.#element !== undefined && this.#open.length === this.#elementDepth) {
        this.#end(this.#element + piece.slice(from, at + 1))
      }
    }
    if (this.#element !== undefined) this.#element += piece.slice(from)
    else if (this.#isInText && this.#open.length === 1) this.#topText += piece.slice(from)
  }

  /** Ends with an error unless the text was one whole object. */
  end(): void {
    if (!this.#isEnded) {
      valid(this.problem(
        this.#open.length === 0 ? "the text is empty" : "the text ends in the middle of its JSON object",
        "Pass the whole file."
      ))
    }
  }

  /** How many objects and lists are around each object that is wanted of this member. */
  get #elementDepth(): number {
    return 1 + (this.#depths.get(this.#member) ?? Number.NaN)
  }

  #begins(code: number): boolean {
    if (this.#open.length !== this.#elementDepth || isSpace(code) || code === comma || closings.has(code)) return false
    if (openings.get(code) !== 0x7d) {
      valid(this.problem(`${this.#member} has an element that is no object`, "Pass the file as it was written."))
    }
    this.#index++
    return true
  }

  #inText(code: number): void {
    if (this.#isEscaped) this.#isEscaped = false
    else if (code === backslash) this.#isEscaped = true
    else if (code === quote) this.#isInText = false
  }

  #outsideText(code: number): void {
    const closing = openings.get(code)
    if (closing !== undefined) this.#begin(code, closing)
    else if (closings.has(code)) this.#close(code)
    else if (this.#open.length === 0 && !isSpace(code)) this.#unexpected(code)
    else if (code === colon && this.#open.length === 1) this.#name()
  }

  #name(): void {
    const name = parsed(this.#topText)
    if (typeof name !== "string") {
      valid(this.problem(`${shown(this.#topText)} is no name of a member`, "Pass the file as it was written."))
    }
    this.#member = name as string
    this.#list = -1
    this.#index = -1
    this.#found.add(this.#member)
  }

  #begin(code: number, closing: number): void {
    if (this.#isEnded || (this.#open.length === 0 && closing !== 0x7d)) this.#unexpected(code)
    this.#open.push(closing)
    // A list of objects begins.
    if (this.#open.length === this.#elementDepth) {
      this.#list++
      this.#index = -1
    }
  }

  #close(code: number): void {
    if (this.#open.pop() !== code) this.#unexpected(code)
    if (this.#open.length === 0) this.#isEnded = true
  }

  #unexpected(code: number): void {
    valid(
      this.problem(`${shown(String.fromCharCode(code))} is not expected there`, "Pass a file with one JSON object.")
    )
  }

  #end(text: string): void {
    this.#element = undefined
    const place = { member: this.#member, list: this.#list, index: this.#index }
    const value = parsed(text)
    if (typeof value !== "object" || value === null) {
      valid(this.problem(`${shown(text)} is no JSON`, "Pass the file as it was written."))
    }
    this.#each(value as Readonly<Record<string, unknown>>, place)
  }
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

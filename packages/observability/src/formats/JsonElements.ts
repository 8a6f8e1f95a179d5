/**
 * Reads the objects in lists of a large JSON object one by one, without having the rest in memory.
 *
 * @internal
 */
import { type GpuError, invalidRequest } from "effect-gpu-pool/GpuError"
import { parsedJson, shown } from "./TextInput.ts"

/** The depth of the objects of a member: 1 in `{"name": [{}]}`, 2 in `{"name": [[{}]]}`. */
export type Depths = ReadonlyMap<string, number>

/** Where an object is: in which member, in which of its lists, and at which index. */
export interface ElementPlace {
  readonly member: string
  readonly list: number
  readonly index: number
}

/** A complete string, a punctuation mark, or what is between those; a lone quotation mark begins a string that continues in the next piece. */
const tokens = /"[^"\\]*(?:\\[^][^"\\]*)*"|[{}[\]:,]|[^\s"{}[\]:,]+|"/g

const closings: Readonly<Record<string, string>> = { "{": "}", "[": "]" }

const linesIn = (text: string): number => text.split("\n").length - 1

export class JsonElements {
  readonly #operation: string
  readonly #depths: Depths
  readonly #each: (value: Readonly<Record<string, unknown>>, place: ElementPlace) => void
  /** The members that occurred. */
  readonly found = new Set<string>()
  /** The brackets that close the objects and lists that are open. */
  readonly #open: Array<string> = []
  /** The text in memory: from the object that is being read on. Then where that object begins in it, and how much of it is read. */
  #text = ""
  #begin: number | undefined
  #read = 0
  /** The line where the text begins. */
  #line = 1
  /** The token that was read last; a colon after it makes it the name of a member. */
  #last = ""
  #isEnded = false
  #member = ""
  #list = -1
  #index = -1

  constructor(
    operation: string,
    depths: Depths,
    each: (value: Readonly<Record<string, unknown>>, place: ElementPlace) => void
  ) {
    this.#operation = operation
    this.#depths = depths
    this.#each = each
  }

  /** An error that says where the reader is. */
  problem(problem: string, hint: string): GpuError {
    const line = this.#line + linesIn(this.#text.slice(0, this.#read))
    return invalidRequest(this.#operation, `line ${line}: ${problem}`, hint)
  }

  take(piece: string): void {
    this.#text += piece
    tokens.lastIndex = this.#read
    for (let [token] = tokens.exec(this.#text) ?? []; token !== undefined && token !== "\"";) {
      const end = tokens.lastIndex
      this.#read = end - token.length
      this.#take(token)
      this.#read = tokens.lastIndex = end
      ;[token] = tokens.exec(this.#text) ?? []
    }
    const done = this.#begin ?? this.#read
    this.#line += linesIn(this.#text.slice(0, done))
    this.#text = this.#text.slice(done)
    this.#read -= done
    if (this.#begin !== undefined) this.#begin = 0
  }

  /** Ends with an error unless the text was one whole object. */
  end(): void {
    if (!this.#isEnded) {
      throw this.problem(
        this.#open.length === 0 ? "the text is empty" : "the text ends in the middle of its JSON object",
        "Pass the whole file."
      )
    }
  }

  /** Whether it is at the depth of the member's objects. */
  get #isAmongElements(): boolean {
    return this.#open.length === 1 + (this.#depths.get(this.#member) ?? Number.NaN)
  }

  #take(token: string): void {
    const closing = closings[token]
    if (closing !== undefined) this.#opens(token, closing)
    else if (token === "}" || token === "]") this.#closes(token)
    else if (this.#open.length === 0) this.#unexpected(token)
    else if (token === ":" && this.#open.length === 1) this.#name()
    else if (token !== "," && this.#isAmongElements) this.#noObject()
    this.#last = token
  }

  #opens(token: string, closing: string): void {
    if (this.#isEnded || (this.#open.length === 0 && token !== "{")) this.#unexpected(token)
    if (this.#isAmongElements) {
      if (token !== "{") this.#noObject()
      this.#begin = this.#read
      this.#index++
    }
    this.#open.push(closing)
    // A list of objects begins.
    if (this.#begin === undefined && this.#isAmongElements) {
      this.#list++
      this.#index = -1
    }
  }

  #closes(token: string): void {
    if (this.#open.pop() !== token) this.#unexpected(token)
    this.#isEnded = this.#open.length === 0
    if (this.#begin === undefined || !this.#isAmongElements) return
    const text = this.#text.slice(this.#begin, this.#read + 1)
    this.#begin = undefined
    const value = parsedJson(text)
    if (typeof value !== "object" || value === null) {
      throw this.problem(`${shown(text)} is no JSON`, "Pass the file as it was written.")
    }
    const place = { member: this.#member, list: this.#list, index: this.#index }
    this.#each(value as Readonly<Record<string, unknown>>, place)
  }

  #name(): void {
    const name = parsedJson(this.#last)
    if (typeof name !== "string") {
      throw this.problem(`${shown(this.#last)} is no name of a member`, "Pass the file as it was written.")
    }
    this.#member = name as string
    this.#list = -1
    this.#index = -1
    this.found.add(this.#member)
  }

  #noObject(): void {
    throw this.problem(`${this.#member} has an element that is no object`, "Pass the file as it was written.")
  }

  #unexpected(token: string): void {
    throw this.problem(`${shown(token)} is not expected there`, "Pass a file with one JSON object.")
  }
}

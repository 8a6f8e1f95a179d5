/**
 * What a language must say, beyond expressions, so that an item can work through many elements: variables and one kind
 * of loop.
 *
 * @internal
 */
import type { DType } from "effect-gpu-pool/DType"
import { javaScript } from "./JavaScript.ts"
import type { Language } from "./Language.ts"
import { openClC } from "./OpenClC.ts"
import { wgsl } from "./Wgsl.ts"

/** A position that begins somewhere and moves by a step, so many times; all of them named values of type u32. */
export interface Moves {
  readonly position: string
  readonly begin: string
  readonly step: string
  readonly times: string
}

export interface Loops {
  readonly language: Language
  /** Names a value that changes: `var a__0: f32 = value;`. */
  readonly variable: (name: string, type: DType, value: string) => string
  readonly assign: (name: string, value: string) => string
  /** Repeats lines for each position. */
  readonly walk: (moves: Moves, lines: ReadonlyArray<string>) => ReadonlyArray<string>
}

/** Counts the rounds, because a position near 2^32 would move round to 0 and never meet an end. */
const counter = "round__"

export const wgslLoops: Loops = {
  language: wgsl,
  variable: (name, type, value) => `var ${name}: ${type} = ${value};`,
  assign: (name, value) => `${name} = ${value};`,
  walk: ({ begin, position, step, times }, lines) => [
    `var ${position}: u32 = ${begin};`,
    `for (var ${counter} = 0u; ${counter} < ${times}; ${counter}++) {`,
    ...lines,
    `${position} += ${step};`,
    "}"
  ]
}

const openClTypes: { readonly [D in DType]: string } = {
  f32: "float",
  i32: "int",
  u32: "uint",
  f16: "half",
  f64: "double"
}

export const openClLoops: Loops = {
  language: openClC,
  variable: (name, type, value) => `${openClTypes[type]} ${name} = ${value};`,
  assign: (name, value) => `${name} = ${value};`,
  walk: ({ begin, position, step, times }, lines) => [
    `uint ${position} = ${begin};`,
    `for (uint ${counter} = 0; ${counter} < ${times}; ${counter}++, ${position} += ${step}) {`,
    ...lines,
    "}"
  ]
}

export const javaScriptLoops: Loops = {
  language: javaScript,
  variable: (name, _type, value) => `let ${name} = ${value}`,
  assign: (name, value) => `${name} = ${value}`,
  walk: ({ begin, position, step, times }, lines) => [
    `for (let ${counter} = 0, ${position} = ${begin}; ${counter} < ${times}; ${counter}++, ${position} += ${step}) {`,
    ...lines,
    "}"
  ]
}

/** The requests that every manager of buffers gets: few enough, and small enough, for one that keeps all it ever made. */
import { Schema } from "effect"
import * as Random from "../Random.ts"
import * as Traces from "../Traces.ts"

export const Name = Schema.Literals(["one size", "sizes that vary", "a cache that grows", "prompts of other lengths"])

export type Name = typeof Name.Type

const kibibyte = 1024

/** The largest request of all. */
export const mostBytes = 1024 * kibibyte

/** A transformer's layer by tokens: 32 activations whose bytes are a multiple of the length, for each prompt. */
const prompts = (next: () => number): ReadonlyArray<Traces.Step> => {
  const widths = Array.from({ length: 32 }, () => Random.logUniform(next, 64, 2 * kibibyte))
  return Array.from({ length: 64 }, () => {
    const tokens = Random.integer(next, 16, 255)
    return Traces.pass(widths.map((width) => width * tokens))
  }).flat()
}

const made: { readonly [N in Name]: (next: () => number) => ReadonlyArray<Traces.Step> } = {
  "one size": () =>
    Array.from({ length: 64 }, () => Traces.pass(Array.from({ length: 32 }, () => 64 * kibibyte))).flat(),
  "sizes that vary": (next) => Traces.replaced(next, 256, mostBytes, 2048),
  "a cache that grows": () => Traces.grown(48, 8 * kibibyte, 48),
  "prompts of other lengths": prompts
}

export const steps = (name: Name, seed: number): ReadonlyArray<Traces.Step> => made[name](Random.make(seed))

/** What a trace asks for, and the most bytes that it has at a time. */
export const asked = (steps: ReadonlyArray<Traces.Step>): { readonly buffers: number; readonly peakBytes: number } => {
  const live = new Map<number, number>()
  let [bytes, peakBytes, buffers] = [0, 0, 0]
  for (const { size, slot } of steps) {
    bytes += size - (live.get(slot) ?? 0)
    live.set(slot, size)
    peakBytes = Math.max(peakBytes, bytes)
    if (size > 0) buffers++
  }
  return { buffers, peakBytes }
}

/** Gives everything back. */
export const endOf = (steps: ReadonlyArray<Traces.Step>): ReadonlyArray<Traces.Step> =>
  Array.from(new Set(steps.map(({ slot }) => slot)), (slot) => ({ slot, size: 0 }))

/**
 * A function that was traced for one kind of arguments.
 *
 * @internal
 */
import type { BufferPool, PooledBuffer } from "effect-gpu-pool/BufferPool"
import * as CommandList from "effect-gpu-pool/CommandList"
import type { CommandQueue } from "effect-gpu-pool/CommandQueue"
import { type GpuError, invalidRequest, isGpuError } from "effect-gpu-pool/GpuError"
import * as LeaseHolder from "effect-gpu-pool/LeaseHolder"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Scope from "effect/Scope"
import { DeviceArray } from "../ArrayValue.ts"
import { evaluateAll } from "../fusion/Evaluation.ts"
import { Recording } from "../fusion/Recording.ts"
import * as Writes from "../fusion/Writes.ts"
import { type Arguments, isRecord, isTooDeep, reading, resultTooDeep } from "./Arguments.ts"

/** What is put together of the arrays of a call and the leases of a run. */
type Build = (args: Arguments, leases: ReadonlyArray<PooledBuffer>) => unknown

type Services = BufferPool | CommandQueue | Scope.Scope

export class Variant<A> {
  readonly #key: ReadonlyArray<unknown>
  readonly #list: CommandList.CommandList<A>
  readonly #build: Build

  constructor(key: ReadonlyArray<unknown>, list: CommandList.CommandList<A>, build: Build) {
    this.#key = key
    this.#list = list
    this.#build = build
  }

  get peakBytes(): number {
    return this.#list.peakBytes
  }

  serves({ key, leases }: Arguments): boolean {
    if (key.length !== this.#key.length) return false
    for (let at = 0; at < key.length; at++) if (!Object.is(key[at], this.#key[at])) return false
    return this.#list.accepts(leases)
  }

  run(args: Arguments): Effect.Effect<A, GpuError, BufferPool | Scope.Scope> {
    const { writtenInputs, writtenLeases } = this.#list
    return Effect.suspend(() => {
      for (const input of writtenInputs) Writes.note(args.leases[input]!)
      for (const lease of writtenLeases) Writes.note(lease)
      return Effect.map(this.#list.run(args.leases), (leases) => this.#build(args, leases) as A)
    })
  }
}

/** Runs the function once on arrays without memory, and keeps its commands. */
export const trace = <A, E, R>(
  f: (...args: ReadonlyArray<unknown>) => Effect.Effect<A, E, R>,
  args: Arguments
): Effect.Effect<Variant<A>, E | GpuError, Exclude<R, Services> | BufferPool | CommandQueue> => {
  const positions = new Map<DeviceArray, number>()
  const traced = CommandList.trace(args.leases, (inputs) =>
    Effect.suspend(() => {
      const placeholders = new Map<DeviceArray, DeviceArray>()
      for (const [position, array] of args.arrays.entries()) {
        if (placeholders.has(array)) continue
        const placeholder = new DeviceArray(array.dtype, array, inputs[args.numberOf(array.lease!)]!)
        placeholders.set(array, placeholder)
        positions.set(placeholder, position)
      }
      const values = reading(() => args.with(placeholders))
      return isGpuError(values)
        ? values
        : Effect.tap(f(...values), (result) => Effect.flatMap(arraysOf(result), evaluateAll))
    }).pipe(Effect.provideService(Recording, { isTraced: true })))
  return Effect.flatMap(traced, (list) => {
    const variant = reading(() => {
      const leases = [...LeaseHolder.leases(list.traced)]
      return new Variant<A>(args.key, list, builderOf(list.traced, positions, leases, 0))
    })
    return isGpuError(variant) ? variant : Exit.succeed(variant)
  })
}

/** The arrays in a result; InvalidRequest for leases of another kind, which a run cannot put there. */
const arraysOf = (result: unknown): Effect.Effect<ReadonlyArray<DeviceArray>, GpuError> =>
  Effect.flatMap(LeaseHolder.holders("DeviceArray.compile", result), (holders) => {
    const arrays = holders.filter((holder) => holder instanceof DeviceArray)
    return arrays.length === holders.length ? Exit.succeed(arrays) : invalidRequest(
      "DeviceArray.compile",
      "the function returned a lease that is no array",
      "Return arrays, or tuples, arrays and records of them. DeviceArray.fromLease makes an array of a lease."
    )
  })

const builderOf = (
  value: unknown,
  positions: ReadonlyMap<DeviceArray, number>,
  leases: ReadonlyArray<unknown>,
  depth: number
): Build => {
  if (value instanceof DeviceArray) {
    const position = positions.get(value)
    if (position !== undefined) return (args) => args.arrays[position]
    const at = leases.indexOf(value.lease)
    // An array of the program is returned itself.
    return (_, made) => made[at] === value.lease ? value : new DeviceArray(value.dtype, value, made[at]!)
  }
  if (Array.isArray(value)) {
    if (isTooDeep(depth)) throw resultTooDeep()
    const parts = value.map((part) => builderOf(part, positions, leases, depth + 1))
    return (args, made) => parts.map((part) => part(args, made))
  }
  if (!isRecord(value)) return () => value
  if (isTooDeep(depth)) throw resultTooDeep()
  const parts = Object.entries(value).map(([name, part]) =>
    [name, builderOf(part, positions, leases, depth + 1)] as const
  )
  return (args, made) => Object.fromEntries(parts.map(([name, part]) => [name, part(args, made)]))
}

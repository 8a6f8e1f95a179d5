/**
 * Several subscribers to a memory, as one. Each is called for what it has a method for.
 *
 * @internal
 */
import type { PoolInputs } from "effect-gpu-pool/PoolInputs"
import type { PoolObserver } from "effect-gpu-pool/PoolObserver"

type Method = (...args: ReadonlyArray<never>) => void

/** What the machine publishes, and then what its shell publishes: hits, ends of leases, and what the machine reads outside of itself. */
const told = {
  closed: true,
  closing: true,
  driverAsked: true,
  freed: true,
  gaveUp: true,
  handlersAsked: true,
  holdingChanged: true,
  idleStep: true,
  kept: true,
  leased: true,
  limitChanged: true,
  lost: true,
  ranOut: true,
  reclaimed: true,
  refused: true,
  reservationEnded: true,
  reserved: true,
  roomNeeded: true,
  trimAsked: true,
  waited: true,
  waiting: true,
  hit: true,
  released: true,
  found: true
} satisfies { readonly [K in keyof PoolObserver]: true } & { readonly [name: string]: true }

type Told = { readonly [K in keyof typeof told]: Method }

const names = Object.keys(told) as ReadonlyArray<keyof Told>

interface Recording {
  readonly inputsOf?: ((inputs: PoolInputs) => PoolInputs) | undefined
}

const nothing = (): void => {}

const all = (methods: ReadonlyArray<Method>): Method =>
  methods.length < 2 ? methods[0] ?? nothing : (...args) => {
    for (const method of methods) method(...args)
  }

/** `O` has these methods, and perhaps `inputsOf`, which wraps the inputs of the machine. */
export const together = <O extends object>(listeners: ReadonlyArray<Partial<O>>): O => {
  const those = listeners as ReadonlyArray<Partial<Told> & Recording>
  const [only] = those
  // A bound method would make each recorded hit a tenth slower.
  if (only !== undefined && those.length === 1 && names.every((name) => name === "found" || name in only)) {
    return only as unknown as O
  }
  const joined: Partial<Record<keyof Told, Method>> & Recording = {
    inputsOf: (inputs) => those.reduce((inner, one) => one.inputsOf?.(inner) ?? inner, inputs)
  }
  for (const name of names) {
    joined[name] = all(those.flatMap((one) => one[name]?.bind(one) ?? []))
  }
  return joined as unknown as O
}

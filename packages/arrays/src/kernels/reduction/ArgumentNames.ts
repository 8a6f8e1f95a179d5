/**
 * Names for the kernels and arguments that the library adds to a program's own. They cannot contain two underscores, which
 * mark the library's other names, so each is checked against the program's names.
 *
 * @internal
 */
import type { NumericArgument } from "effect-gpu-pool/KernelArgument"

const namesOf = (argument: NumericArgument): ReadonlyArray<string> =>
  argument._tag === "ScalarArg"
    ? [argument.name]
    : [argument.name, `${argument.name}_length`, `${argument.name}_offset`]

/** Takes the wanted name, or the first of `wanted2`, `wanted3`, ... that is free. */
export class ArgumentNames {
  readonly #taken: Set<string>

  constructor(kernel: string, args: ReadonlyArray<NumericArgument>) {
    this.#taken = new Set([kernel, ...args.flatMap(namesOf)])
  }

  add(wanted: string): string {
    let name = wanted
    for (let n = 2; this.#taken.has(name) || this.#taken.has(`${name}_length`); n++) name = `${wanted}${n}`
    this.#taken.add(name)
    this.#taken.add(`${name}_length`)
    return name
  }
}

/** The name of a helper kernel of another one with the same arguments. */
export const helperName = (kernel: string, task: string, args: ReadonlyArray<NumericArgument>): string =>
  new ArgumentNames(kernel, args).add(`${kernel}${task}`)

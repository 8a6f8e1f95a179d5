/**
 * The one-line text of a kernel of any kind, and of a compiled one.
 *
 * @internal
 */
import { line } from "../arguments/Format.ts"
import { inOneLine, showing } from "../arguments/Showing.ts"
import type { GpuError } from "../GpuError.ts"
import type { KernelArgument } from "./KernelArgument.ts"

interface Named {
  readonly name: string
  readonly args: ReadonlyArray<KernelArgument>
  /** What is wrong with the definition, if anything. */
  readonly problem: GpuError | undefined
}

const argumentText = (argument: KernelArgument): string => {
  const name = line(argument.name)
  switch (argument._tag) {
    case "VectorArg":
      return `${argument.access} ${argument.dtype} ${name}[]`
    case "ScalarArg":
      return `${argument.dtype} ${name}`
    case "ImageArg":
      return `${argument.access} image ${name}`
    case "SamplerArg":
      return `sampler ${name}`
    case "LocalArg":
      return `local ${argument.dtype} ${name}[${argument.length}]`
  }
}

/** One line about a kernel: its name, its arguments and its languages. */
export const kernelLine = (kind: string, { args, name, problem }: Named, state?: string | undefined): string =>
  inOneLine(kind, name, [
    ...args.map(argumentText),
    problem === undefined ? undefined : `wrong: ${line(problem.message)}`,
    state
  ])

/** Gives kernels, which are plain data, a one-line text. A copy by spreading prints as plain data. */
export const showingKernel = <K extends Named>(kind: string): <B extends K>(kernel: B) => B =>
  showing<K>((kernel) => kernelLine(kind, kernel))

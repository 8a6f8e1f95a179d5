/**
 * What of each buffer's memory and of each image is mapped, whichever objects of the program stand for it: regions, and
 * what was adopted by its handle. The rules are the same for both, on every backend.
 *
 * @internal
 */
import type { MappedParts } from "../../../domain/data/MappedParts.ts"
import { type GpuError, invalidRequest } from "../../../domain/GpuError.ts"

/** By what stands for the driver's object. */
const mapped = new WeakMap<object, MappedParts>()

/** Most programs never map anything: then no command checks more than this. */
let isUsed = false

/** The parts of a driver's object, which are made at its first mapping. */
export const partsOf = (object: object, make: () => MappedParts): MappedParts => {
  isUsed = true
  const parts = mapped.get(object) ?? make()
  mapped.set(object, parts)
  return parts
}

/** Those whose mapped memory a program has transferred: they are never unmapped, and never freed. */
const taken = new WeakSet<object>()

export const take = (object: object): void => {
  taken.add(object)
}

export const isTaken = (object: object): boolean => isUsed && taken.has(object)

/** Why nothing can use memory that a program has taken. `name` is what messages call it. */
export const takenProblem = (operation: string, name: string): GpuError =>
  invalidRequest(
    operation,
    `the mapped array of ${name} was transferred to another ArrayBuffer, or marked as untransferable: its memory is the program's`,
    "Allocate another. Copy mapped arrays with slice(), and transfer the copies."
  )

/**
 * Why a command cannot use the memory of a driver's object as it is mapped now, or `undefined`. `reads` says that it does
 * nothing but read or copy from it, and `name` what messages call it.
 */
export const problem = (
  operation: string,
  object: object,
  reads: boolean,
  name: () => string
): GpuError | undefined => {
  if (isTaken(object)) return takenProblem(operation, name())
  const state = (isUsed ? mapped.get(object)?.state : undefined) ?? "unmapped"
  return state === "unmapped" || (state === "reading" && reads) ? undefined : invalidRequest(
    operation,
    `${name()} is mapped for ${state}`,
    "End the mapping first: close its scope, or unmap it. What is mapped for reading alone can be read and copied from."
  )
}

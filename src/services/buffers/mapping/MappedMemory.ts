/**
 * The mapped spans of all buffers and images, whichever objects refer to the memory: sub-regions, or objects adopted by
 * their handle. The rules are the same for both, on every backend: OpenCL's, which leaves undefined what a command does
 * to memory that is mapped for writing, and what writes to memory that is mapped for reading.
 *
 * @see https://registry.khronos.org/OpenCL/specs/3.0-unified/html/OpenCL_API.html#accessing-mapped-regions
 * @internal
 */
import { type MemorySpan, SpanSet } from "../../../domain/data/MemorySpan.ts"
import { type GpuError, invalidRequest } from "../../../domain/GpuError.ts"
import { DeviceBuffer } from "../../device/DeviceBuffer.ts"
import type { DeviceImage } from "../../device/DeviceImage.ts"
import { named } from "../BufferProblems.ts"

/** A span that is mapped, or about to be. Compared by identity. */
export interface MappedSpan extends MemorySpan {
  /** Whether the program may write there. */
  readonly writes: boolean
}

/** Memory of a driver. `wholeMemory` is the span that commands treat as one. */
interface Memory {
  readonly wholeMemory: MemorySpan
}

/** Apart, so that of many mappings to read none has to look at the others. */
const written = new SpanSet<MappedSpan>()
const onlyRead = new SpanSet<MappedSpan>()

const setOf = ({ writes }: MappedSpan): SpanSet<MappedSpan> => writes ? written : onlyRead

/** Most programs never map anything, and then every command checks only this. */
let isUsed = false

export const add = (span: MappedSpan): void => {
  isUsed = true
  setOf(span).add(span)
}

/** A second call does nothing. */
export const remove = (span: MappedSpan): void => setOf(span).delete(span)

/** Whether a span cannot be mapped: it shares memory with a mapping, and one of the two writes. */
export const conflicts = (span: MappedSpan): boolean => written.has(span) || (span.writes && onlyRead.has(span))

/** Memory that a program has transferred while it was mapped: it is never unmapped, and never freed. */
const taken = new SpanSet()

export const take = ({ wholeMemory }: Memory): void => {
  isUsed = true
  taken.add(wholeMemory)
}

export const isTaken = (memory: MemorySpan): boolean => isUsed && taken.has(memory)

/** Why nothing can use memory that a program has taken. `name` is what messages call it. */
export const takenProblem = (operation: string, name: string): GpuError =>
  invalidRequest(
    operation,
    `the mapped array of ${name} was transferred to another ArrayBuffer, or marked as untransferable: its memory is the program's`,
    "Allocate another. Copy mapped arrays with slice(), and transfer the copies."
  )

/**
 * Why a command cannot use memory as it is mapped now, or `undefined`. `reads` says that the command only reads or
 * copies from it; `name` is its name in messages.
 */
export const problem = (
  operation: string,
  memory: Memory,
  reads: boolean,
  name: () => string
): GpuError | undefined => {
  if (!isUsed) return undefined
  if (isTaken(memory.wholeMemory)) return takenProblem(operation, name())
  const isWritten = written.has(memory.wholeMemory)
  return !isWritten && (reads || !onlyRead.has(memory.wholeMemory)) ? undefined : invalidRequest(
    operation,
    `${name()} is mapped for ${isWritten ? "writing" : "reading"}`,
    "End the mapping first: close its scope, or unmap it. What is mapped for reading alone can be read and copied from."
  )
}

/**
 * Leaves the memory to the program for good: no pool leases it again, and no command uses it. The driver must neither unmap nor
 * free it. Returns the error of the mapping's end.
 */
export const takeUnsafe = (memory: DeviceBuffer | DeviceImage): GpuError => {
  const buffer = memory instanceof DeviceBuffer ? memory : memory.beneath
  memory.distrust()
  take(memory)
  return takenProblem("Mapping.unmap", buffer === undefined ? "the image" : named(buffer))
}

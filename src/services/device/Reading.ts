/**
 * Effects that wait for a driver's read. The check and the start are one synchronous step; so is giving up.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { attempt } from "../../domain/arguments/ArgumentProblem.ts"
import { type GpuError, isGpuError } from "../../domain/GpuError.ts"
import * as Spans from "../calls/Spans.ts"
import { validated } from "../calls/Validated.ts"
import type { ReadAnswer } from "./QueueDriver.ts"

/** Begins a driver's read, and returns a function that gives it up. */
export type Begin = (answer: ReadAnswer) => () => void

/**
 * How many reads the drivers get at a time. Each may need memory that the system maps on its own, and Linux allows a process 65,530
 * such maps. Beyond that a driver ends the process.
 */
const mostUnderWay = 16_384

let underWay = 0

/** Reads beyond these, in order. */
const waiting = new Set<() => void>()

let isBeginning = false

const ended = (): void => {
  underWay -= 1
  // A driver may answer within `begin`. That call returns here, or as many calls would be nested as reads wait.
  if (isBeginning) return
  isBeginning = true
  try {
    for (const begin of waiting) {
      if (underWay >= mostUnderWay) return
      waiting.delete(begin)
      begin()
    }
  } finally {
    isBeginning = false
  }
}

/**
 * Checks and begins in one step, so that no other fiber can end the source between the two, and waits for the bytes.
 * The check returns how to begin, or an error, or `undefined` where there are no bytes to read.
 */
export const read = (
  operation: string,
  check: (operation: string) => Begin | GpuError | undefined
): Effect.Effect<ArrayBuffer, GpuError> =>
  inSpan(
    operation,
    Effect.callback((resume) => {
      let stop: () => void
      const begin = () => {
        const begin = attempt(() => check(operation))
        if (begin === undefined) return resume(Effect.succeed(new ArrayBuffer(0)))
        if (isGpuError(begin)) return resume(begin)
        let isOver = false
        const end = () => {
          if (isOver) return
          isOver = true
          ended()
        }
        underWay += 1
        const giveUp = begin((bytes) => {
          end()
          resume(bytes)
        })
        stop = () => {
          giveUp()
          end()
        }
      }
      stop = () => waiting.delete(begin)
      if (underWay < mostUnderWay) begin()
      else waiting.add(begin)
      return Effect.sync(() => stop())
    })
  )

/** A read, in a span where the program traces. */
export const inSpan = (
  operation: string,
  bytes: Effect.Effect<ArrayBuffer, GpuError>
): Effect.Effect<ArrayBuffer, GpuError> =>
  Spans.inSpan(
    bytes,
    "gpu.read",
    () => ({ "gpu.operation": operation }),
    ({ byteLength }) => ({ "gpu.read.size": byteLength })
  )

/**
 * A read into memory of the program. `target` finds and checks that memory before the read, and again before its bytes
 * change.
 */
export const into = <Source, Target>(operation: string, { begin, copy, source, target }: {
  readonly source: (operation: string) => Source
  readonly target: (operation: string, source: Source) => Target
  readonly begin: (source: Source) => Begin | undefined
  readonly copy: (source: Source, bytes: Uint8Array<ArrayBuffer>, target: Target) => void
}): Effect.Effect<void, GpuError> =>
  Effect.suspend(() => {
    let found: Source
    const bytes = read(operation, () => {
      found = source(operation)
      target(operation, found)
      return begin(found)
    })
    return Effect.flatMap(bytes, (bytes) =>
      validated(operation, () => {
        copy(found, new Uint8Array(bytes), target(operation, found))
        return Exit.void
      }))
  })

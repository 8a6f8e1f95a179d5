/**
 * How a request gets past the gates before the blocks: the budgets that it is charged to and, if it asks for a
 * reservation, the pool's limit. Each gate has a line of its own.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { GpuError, Rung } from "../../../domain/GpuError.ts"
import { InHandler, isWithin } from "./Handlers.ts"
import type { LastResort } from "./LastResort.ts"
import { goesFirst, type LeaseRequest } from "./LeaseRequest.ts"
import type { LineOwner, WaitLine, WaitLines } from "./WaitLine.ts"

export interface Gate extends LineOwner {
  readonly line: WaitLine
  readonly lastResort: LastResort
  /** Whether the request is past it. */
  readonly hasAdmitted: (request: LeaseRequest) => boolean
  /** Lets a request past it if there is room for it now. */
  readonly tryAdmit: (request: LeaseRequest) => boolean
  /** How many bytes are missing now. */
  readonly missing: (request: LeaseRequest) => number
  /** Whether anything is in use now that may come back. */
  readonly mayWait: (request: LeaseRequest) => boolean
}

/**
 * Takes a request past the gates, in order. The inner ones stay charged while it waits at an outer one, so no two requests
 * wait for each other at gates alone. The caller who made the request refunds what is charged if this fails.
 */
export const admit = (
  request: LeaseRequest,
  gates: ReadonlyArray<Gate>,
  lines: WaitLines
): Effect.Effect<void, GpuError> => {
  const passed = gates.every((gate) => pass(request, gate))
  return passed ? Exit.void : admitSlowly(request, gates, lines)
}

/** A request within a reservation, and one of the job whose turn it is, need not stand in line. */
const pass = (request: LeaseRequest, gate: Gate): boolean =>
  (gate.line.length === 0 || goesFirst(request) || request.exactSize === 0) && gate.tryAdmit(request)

const admitSlowly = Effect.fnUntraced(function*(
  request: LeaseRequest,
  gates: ReadonlyArray<Gate>,
  lines: WaitLines
): Effect.fn.Return<void, GpuError> {
  request.inHandler = isWithin(yield* InHandler, lines)
  for (const gate of gates) {
    const rungs = new Set<Rung>()
    while (!gate.hasAdmitted(request)) {
      const problem = lines.ended(request)
      if (problem !== undefined) return yield* lines.refuse(request, problem)
      if (pass(request, gate) || (request.inHandler && gate.tryAdmit(request))) continue
      const answer = gate.line.tryNow(request)
      if (answer !== undefined) {
        yield* answer
        continue
      }
      yield* gate.lastResort.take({
        request,
        rungs,
        missing: () => gate.missing(request),
        refusal: undefined,
        mayWait: () => gate.mayWait(request)
      })
    }
  }
})

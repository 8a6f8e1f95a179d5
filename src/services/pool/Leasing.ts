/**
 * The way of a request to a lease: past its budgets, past the line, and up the ladder.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { GpuError, Rung } from "../../domain/GpuError.ts"
import { Lease } from "../lease/Lease.ts"
import { climb, searchRungs } from "./Ladder.ts"
import type { Memory } from "./Memory.ts"
import { admit, type Gate } from "./waiting/Admission.ts"
import { InHandler, isWithin } from "./waiting/Handlers.ts"
import { drawMore, goesFirst, type LeaseRequest } from "./waiting/LeaseRequest.ts"
import type { Outcome } from "./waiting/Waiter.ts"

/** The whole way to a lease but the hit in one step. The caller also calls {@link Memory.letGo} at its end. */
export const lease = (
  memory: Memory,
  request: LeaseRequest,
  budgets: ReadonlyArray<Gate> | undefined
): Effect.Effect<Lease, GpuError> => {
  drawMore(request)
  return budgets === undefined
    ? leaseUncharged(memory, request)
    : Effect.flatMap(admit(request, budgets, memory.lines), () => leaseUncharged(memory, request))
}

/** The whole way to a turn, with the same duty. */
export const awaitTurn = (memory: Memory, request: LeaseRequest): Effect.Effect<void, GpuError> =>
  Effect.suspend(() => admit(request, [memory.turns], memory.lines))

/** The whole way to a reservation, with the same duty. */
export const setAside = (
  memory: Memory,
  request: LeaseRequest,
  budgets: ReadonlyArray<Gate> = []
): Effect.Effect<void, GpuError> =>
  Effect.suspend(() => {
    drawMore(request)
    return admit(request, [...budgets, memory], memory.lines)
  })

const leaseUncharged = (memory: Memory, request: LeaseRequest): Effect.Effect<Lease, GpuError> =>
  memory.hasWaiters && !goesFirst(request) ? leaseInTurn(memory, request) : leaseAtOnce(memory, request)

const leaseAtOnce = (memory: Memory, request: LeaseRequest): Effect.Effect<Lease, GpuError> => {
  const problem = memory.problem(request)
  if (problem !== undefined) return memory.lines.refuse(request, problem)
  return memory.blocks.search(request) ?? climb(memory, request, undefined)
}

/** While others wait, a request goes to the end of the line, and may overtake them within the bound. */
const leaseInTurn = (memory: Memory, request: LeaseRequest): Effect.Effect<Lease, GpuError> =>
  Effect.withFiber((fiber) => {
    // It asks for the one that waits for it.
    request.inHandler = isWithin(fiber.getRef(InHandler), memory.lines)
    if (request.inHandler) return leaseAtOnce(memory, request)
    const waits = request.patience.onExhausted === "wait" && memory.lastResort.handlers.isEmpty
    const given: Effect.Effect<Outcome | "exhausted", GpuError> = waits
      ? memory.lastResort.wait(request, request.source.borrows ? inTurnBorrowing : inTurn, undefined)
      : memory.line.tryNow(request) ?? exhausted
    return Effect.flatMap(
      given,
      (outcome) => outcome instanceof Lease ? Exit.succeed(outcome) : climb(memory, request, outcome)
    )
  })

const exhausted = Exit.succeed("exhausted" as const)

/** What a request has tried that waits behind others. */
const inTurn: ReadonlySet<Rung> = new Set([...searchRungs({ source: { borrows: false } }), "wait"])

const inTurnBorrowing: ReadonlySet<Rung> = new Set([...searchRungs({ source: { borrows: true } }), "wait"])

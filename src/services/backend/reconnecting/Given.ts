/**
 * What can be wrong with what a program gives for opening devices: a layer, a schedule, an observer of losses, effects.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import { satisfies } from "../../../domain/arguments/ArgumentProblem.ts"
import { shown } from "../../../domain/arguments/ShownValue.ts"
import { type GpuError, invalidRequest } from "../../../domain/GpuError.ts"

/** What a program does when it hears of the loss of a device fails nobody else. */
export const observed = <R>(
  operation: string,
  device: string,
  onLost: (() => Effect.Effect<unknown, unknown, R>) | undefined
): Effect.Effect<void, never, R> =>
  onLost === undefined ? Effect.void : Effect.suspend(() => {
    const observer = onLost()
    return effectProblem(operation, "onLost gave", observer) ?? observer
  }).pipe(
    Effect.ignoreCause({ log: "Warn", message: `onLost of ${operation} failed when ${device} was lost` })
  )

export const layerProblem = (operation: string, layer: unknown): GpuError | undefined =>
  satisfies(layer, Layer.isLayer)
    ? undefined
    : invalidRequest(operation, `${shown(layer)} was given for a layer`, "Pass a layer that opens a device.")

export const scheduleProblem = (operation: string, schedule: unknown): GpuError | undefined =>
  schedule === undefined || satisfies(schedule, Schedule.isSchedule)
    ? undefined
    : invalidRequest(operation, `${shown(schedule)} was given for a schedule`, "Pass one of Effect's, or leave it out.")

export const effectProblem = (operation: string, who: string, effect: unknown): GpuError | undefined =>
  satisfies(effect, Effect.isEffect)
    ? undefined
    : invalidRequest(operation, `${who} ${shown(effect)} for an effect`, "Pass one, as Effect.gen makes them.")

/**
 * Opening a device and what is built on it, with retries.
 *
 * @internal
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import type * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import { type GpuError, invalidRequest, isGpuError } from "../../../domain/GpuError.ts"
import { DeviceContext } from "../../device/DeviceContext.ts"
import type { OpenedDevice } from "./Generations.ts"

/** Builds the layer, and fails if its device was lost meanwhile. The schedule sets the delays between attempts. */
export const open = <I, E, R, R2>(
  operation: string,
  layer: Layer.Layer<I, E, R>,
  schedule: Schedule.Schedule<unknown, E | GpuError, never, R2> | undefined,
  scope: Scope.Scope
): Effect.Effect<OpenedDevice<I>, E | GpuError, R | R2> => {
  const once = attempt(operation, Layer.fresh(layer), scope)
  const opening = schedule === undefined ? once : Effect.retry(once, { schedule, while: mayPass })
  return Effect.withSpan(opening, "Reconnecting.open", { attributes: { "gpu.operation": operation } })
}

/** A failed or interrupted attempt leaves nothing in the scope. */
const attempt = <I, E, R>(
  operation: string,
  layer: Layer.Layer<I, E, R>,
  parent: Scope.Scope
): Effect.Effect<OpenedDevice<I>, E | GpuError, R> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.suspend(() => {
      const scope = Scope.forkUnsafe(parent)
      return restore(Effect.flatMap(Layer.buildWithScope(layer, scope), (context) => opened(operation, context))).pipe(
        Effect.onError((cause) => Scope.close(scope, Exit.failCause(cause)))
      )
    })
  )

/** The device that a layer has opened, or the error of a layer that opens none. */
export const deviceOf = <I>(operation: string, context: Context.Context<I>): DeviceContext["Service"] | GpuError =>
  Context.getOrUndefined(context as Context.Context<unknown>, DeviceContext) ??
    invalidRequest(operation, "the layer provides no device", "Pass a layer with that of a backend in it.")

const opened = <I>(operation: string, context: Context.Context<I>): Effect.Effect<OpenedDevice<I>, GpuError> => {
  const device = deviceOf(operation, context)
  if (isGpuError(device)) return device
  const { status } = device
  return status.error ?? Effect.succeed({ context, onLost: (listener) => status.onLost(listener) })
}

/** A driver that restarts has no device for a while, so these errors may pass. Others would come again. */
const mayPass = (error: unknown): boolean =>
  isGpuError(error) && ["DeviceUnavailable", "DeviceLost"].includes(error.reason._tag)

/** Runs `onLost`; its failure is logged and affects nothing else. */
export const observed = <R>(
  operation: string,
  device: string,
  onLost: (() => Effect.Effect<unknown, unknown, R>) | undefined
): Effect.Effect<void, never, R> =>
  onLost === undefined ? Effect.void : Effect.suspend(onLost).pipe(
    Effect.ignoreCause({ log: "Warn", message: `onLost of ${operation} failed when ${device} was lost` })
  )

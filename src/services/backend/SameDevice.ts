/**
 * A driver lists a device, and later opens one: this makes sure that they are the same.
 *
 * @internal
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { line } from "../../domain/arguments/Format.ts"
import { deviceUnavailable, type GpuError } from "../../domain/GpuError.ts"
import type { ListedDevice } from "../../domain/selection/ListedDevice.ts"
import { DeviceContext } from "../device/DeviceContext.ts"

/** The layer, or DeviceUnavailable when what it opened has another name than the listed device. */
export const sameDevice = <Services>(
  listed: ListedDevice,
  layer: Layer.Layer<Services | DeviceContext, GpuError>
): Layer.Layer<Services | DeviceContext, GpuError> =>
  Layer.effectContext(Effect.flatMap(Layer.build(layer), (context) => {
    const { name } = Context.get(context, DeviceContext).info
    return name === listed.device?.name ? Effect.succeed(context) : deviceUnavailable(
      [{
        backend: listed.backend,
        device: listed.device?.name ?? "no device",
        why: `the driver opened "${line(name)}" in its place`
      }],
      "List the devices again: they have changed."
    )
  }))

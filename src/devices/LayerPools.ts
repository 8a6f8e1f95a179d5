/**
 * Pools on several devices of this machine, each opened by a selection.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { valid } from "../domain/arguments/ArgumentProblem.ts"
import * as LayerOptions from "../domain/arguments/LayerOptions.ts"
import { type GpuError, isGpuError } from "../domain/GpuError.ts"
import * as DeviceSelector from "../domain/selection/DeviceSelector.ts"
import * as SelectorSyntax from "../domain/selection/SelectorSyntax.ts"
import { OpenOptions } from "../services/backend/Backend.ts"
import type { Services } from "../services/backend/Device.ts"
import * as BufferPools from "../services/backend/several/BufferPools.ts"
import * as OpenPools from "../services/backend/several/OpenPools.ts"
import { Backends } from "./Backends.ts"

/**
 * How the devices are opened, and the pools on them.
 *
 * @category models
 * @since 0.1.0
 */
export interface PoolsOptions<R = never> extends OpenOptions, BufferPools.Options<R> {}

/** @internal */
export const layerPools = <R>(
  open: (selector: DeviceSelector.DeviceSelector, options: OpenOptions) => Layer.Layer<Services, GpuError>,
  options: PoolsOptions<R> | undefined
): Layer.Layer<BufferPools.BufferPools, GpuError, R> =>
  Layer.effect(
    BufferPools.BufferPools,
    Effect.flatMap(Backends, (backends) => {
      const operation = "Devices.layerPools"
      const schema = Schema.Struct({ ...OpenOptions.fields, ...OpenPools.optionsOf<R>().fields })
      const given = LayerOptions.read(operation, schema, options)
      if (isGpuError(given)) return given
      const { byteGranular, kernelCacheCapacity, ...pools } = given
      const names = backends.map(({ name }) => name)
      return OpenPools.make({
        operation,
        // The same selection is the same device, however its text is written.
        nameOf: (operation, device) => {
          const selector = SelectorSyntax.from(device, operation, names)
          return isGpuError(selector) ? selector : DeviceSelector.format(selector)
        },
        open: (device) =>
          open(valid(SelectorSyntax.from(device, operation, names)), { byteGranular, kernelCacheCapacity })
      }, pools)
    })
  )

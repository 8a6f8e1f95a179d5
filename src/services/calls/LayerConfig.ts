/**
 * Options of layers: as values, or from configuration.
 *
 * @since 0.1.0
 */
import * as Config from "effect/Config"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as KnownOptions from "../../domain/arguments/KnownOptions.ts"
import * as LayerOptions from "../../domain/arguments/LayerOptions.ts"
import { type GpuError, isGpuError } from "../../domain/GpuError.ts"
import { validated } from "./Validated.ts"

/**
 * Options of a layer from configuration: one `Config` for all, or a `Config` or a value for each; or a prefix, under
 * which `Config` reads each option that can be written as text, as `pool` for `pool_maxBytes`.
 *
 * @category models
 * @since 0.1.0
 */
export type ConfigOf<Options extends object> =
  | string
  | Config.Config<Options>
  | { readonly [name in keyof Options]: Options[name] | Config.Config<Options[name]> }

/**
 * A layer with options that come from configuration.
 *
 * @internal
 */
export const layerOfConfig = <Options extends object, A, E, R>(
  operation: string,
  config: ConfigOf<Options>,
  schema: LayerOptions.LayerOptions,
  layer: (options: Options) => Layer.Layer<A, E, R>
): Layer.Layer<A, E | GpuError | Config.ConfigError, R> =>
  Layer.unwrap(validated(operation, () => Effect.map(readConfig(operation, config, schema), layer)))

/**
 * A layer of a device that is opened with options, which are read when the layer is built.
 *
 * @internal
 */
export const layerOfOptions = <F extends Schema.Struct.Fields, A>(
  operation: string,
  schema: Schema.Struct<F>,
  options: Schema.Struct<F>["Type"] | undefined,
  open: (options: Schema.Struct<F>["Type"]) => Effect.Effect<Context.Context<A>, GpuError, Scope.Scope>
): Layer.Layer<A, GpuError> =>
  Layer.effectContext(Effect.suspend(() => {
    const given = LayerOptions.read(operation, schema, options)
    return isGpuError(given) ? given : open(given)
  }))

const readConfig = <Options extends object>(
  operation: string,
  config: ConfigOf<Options>,
  schema: LayerOptions.LayerOptions
): Effect.Effect<Options, GpuError | Config.ConfigError> => {
  if (Config.isConfig(config)) return config
  if (typeof config === "string") {
    const texts = Config.schema(LayerOptions.texts(schema), config)
    return Config.withDefault(texts, {}) as Config.Config<object> as Config.Config<Options>
  }
  const problem = KnownOptions.problem(operation, config, LayerOptions.namesOf(schema))
  if (problem !== undefined) return problem
  const entries = Object.entries(config ?? {})
  const values = entries.map(([name, value]) => [name, Config.isConfig(value) ? value : Config.succeed(value)])
  return Config.all(Object.fromEntries(values) as Readonly<Record<string, Config.Config<unknown>>>) as Config.Config<
    Options
  >
}

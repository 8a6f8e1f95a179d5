/**
 * Taking in buffers, images and samplers that other code has made. It means the same on every backend that supports it:
 * the library uses the object until the scope closes, and the program keeps owning it unless it hands it over.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Label from "../../domain/arguments/Label.ts"
import type { DeviceStatus } from "../../domain/device/DeviceStatus.ts"
import type { GpuError } from "../../domain/GpuError.ts"
import { validated } from "../calls/Validated.ts"
import { logged } from "../device/ReleaseInOrder.ts"

/** The options of every adoption. */
export interface AdoptionOptions {
  readonly takeOver?: boolean | undefined
  readonly label?: string | undefined
}

/** Adopts an object in one step, and releases what the adoption made when the scope closes. */
export const acquire = <A, Options extends AdoptionOptions>(
  operation: string,
  status: DeviceStatus,
  options: Options | undefined,
  adopt: (options: Partial<Options>) => Effect.Effect<A, GpuError>,
  release: (adopted: A) => Effect.Effect<void, GpuError>,
  what?: string
): Effect.Effect<A, GpuError, Scope.Scope> =>
  Effect.acquireRelease(
    validated(operation, () => status.error ?? Label.problem(operation, options?.label) ?? adopt(options ?? {})),
    (adopted) => logged(() => release(adopted), what)
  )

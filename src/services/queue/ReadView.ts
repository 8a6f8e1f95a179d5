/**
 * Reads that show the program the memory itself.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { withArticle } from "../../domain/arguments/Format.ts"
import type { ViewType } from "../../domain/data/ElementClass.ts"
import * as MemorySpan from "../../domain/data/MemorySpan.ts"
import { type GpuError, invalidRequest, isGpuError } from "../../domain/GpuError.ts"
import type { BufferLike } from "../buffers/BufferLike.ts"
import type { Elements } from "../buffers/mapping/MappedArray.ts"
import * as PrivateMapping from "../buffers/mapping/PrivateMapping.ts"
import { ScopedMapping } from "../buffers/mapping/ScopedMapping.ts"
import * as StagedReading from "../buffers/staging/StagedReading.ts"
import { type Check, CurrentStagingMemory, type Part } from "../buffers/staging/StagingMemory.ts"
import type { DeviceContext } from "../device/DeviceContext.ts"
import type { DriverMapping, QueueDriver } from "../device/QueueDriver.ts"

const operation = "CommandQueue.readView"

type MapPart = (part: Part) => Exit.Exit<DriverMapping, GpuError>

export const readView = <A extends Elements, B, E, R>(
  device: DeviceContext["Service"],
  driver: QueueDriver["Service"],
  source: BufferLike,
  type: ViewType<A>,
  f: (view: A) => Effect.Effect<B, E, R>,
  asked: Check
): Effect.Effect<B, E | GpuError, R> => {
  /** The offset must be a multiple of an element: drivers map memory in place, and typed arrays need alignment. */
  const check: Check = (operation) => {
    const part = asked(operation)
    if (part === undefined || isGpuError(part) || part.offset % type.BYTES_PER_ELEMENT === 0) return part
    return invalidRequest(
      operation,
      `offset ${part.offset} is no multiple of the ${type.BYTES_PER_ELEMENT} bytes of ${
        withArticle(type.name)
      } element`,
      "Start at a whole number of elements."
    )
  }
  const begin = (
    mapping: ScopedMapping,
    map: MapPart
  ): Effect.Effect<{ readonly mapping: ScopedMapping; readonly view: A }, GpuError> => {
    const part = check(operation)
    if (isGpuError(part)) return part
    if (part === undefined) return Effect.succeed({ mapping, view: new type(new ArrayBuffer(0)) })
    const { bytes, memory, offset } = part
    const mapped = {
      label: source.label,
      size: bytes,
      owner: source,
      claim: { ...MemorySpan.part(memory, offset, bytes), writes: false },
      name: `bytes ${offset} to ${offset + bytes}`
    }
    return mapping.begin(
      operation,
      mapped,
      () => map(part),
      (contents) => ({ mapping, view: new type(contents, 0, bytes / type.BYTES_PER_ELEMENT) })
    )
  }
  /**
   * Shows what `map` maps, and claims the bytes of the source meanwhile. It fails if the program has transferred the
   * view, which a finalizer could only log.
   */
  const show = (map: MapPart) =>
    Effect.scopedWith((scope) => {
      const mapped = ScopedMapping.acquire(operation, (mapping) => begin(mapping, map))
      return Effect.flatMap(
        Scope.provide(mapped, scope),
        ({ mapping, view }) => Effect.tap(f(view), () => Effect.suspend(() => mapping.endUnsafe("scopeClosed")))
      )
    })
  const { info, status } = device
  if (!info.traits.readsStaged) {
    return show((part) => PrivateMapping.mapUnsafe(driver, status, part.memory, { ...part, access: "read" }))
  }
  return Effect.withFiber((fiber) => {
    const staging = fiber.getRef(CurrentStagingMemory)
    const use = staging?.info === info ? staging.use : StagedReading.fresh(device, driver)
    const empty = Effect.suspend(() => f(new type(new ArrayBuffer(0))))
    return StagedReading.through(driver, use, operation, check, empty, show)
  })
}

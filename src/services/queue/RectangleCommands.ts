/**
 * Reads, writes and copies of rectangles, checked for every backend alike.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { valid } from "../../domain/arguments/ArgumentProblem.ts"
import * as BufferUsage from "../../domain/BufferUsage.ts"
import type * as BufferUsageRules from "../../domain/BufferUsageRules.ts"
import * as BufferRange from "../../domain/data/BufferRange.ts"
import type { ElementType } from "../../domain/data/ElementClass.ts"
import * as HostData from "../../domain/data/HostData.ts"
import * as Rectangle from "../../domain/data/Rectangle.ts"
import * as RectangleRows from "../../domain/data/RectangleRows.ts"
import * as WholeElements from "../../domain/data/WholeElements.ts"
import type { GpuError } from "../../domain/GpuError.ts"
import type * as BufferLike from "../buffers/BufferLike.ts"
import * as BufferMemory from "../buffers/BufferMemory.ts"
import * as BufferProblems from "../buffers/BufferProblems.ts"
import { BytesInFlight } from "../device/BytesInFlight.ts"
import type { DeviceBuffer } from "../device/DeviceBuffer.ts"
import type { DeviceContext } from "../device/DeviceContext.ts"
import type { QueueDriver } from "../device/QueueDriver.ts"
import * as Reading from "../device/Reading.ts"
import { distrustUnverified } from "../device/UnverifiedMemory.ts"

/** A region and where it lies in a buffer, checked; no memory where there are no bytes to move. */
interface Placed {
  readonly extent: Rectangle.Extent
  readonly place: Rectangle.Place
  readonly memory: DeviceBuffer | undefined
}

export class RectangleCommands {
  readonly #driver: QueueDriver["Service"]
  readonly #device: DeviceContext["Service"]
  readonly #pending: BytesInFlight
  readonly #alignment: BufferRange.Alignment

  constructor(driver: QueueDriver["Service"], device: DeviceContext["Service"]) {
    this.#driver = driver
    this.#device = device
    this.#pending = BytesInFlight.of(driver)
    this.#alignment = BufferRange.alignmentOfCommands(device.info.limits)
  }

  readonly copyRect = (
    source: BufferLike.BufferLike,
    target: BufferLike.BufferLike,
    options: Rectangle.CopyRectOptions
  ): Effect.Effect<void, GpuError> =>
    this.#pending.record("CommandQueue.copyRect", (operation) => {
      const region = options?.region
      const from = this.#place(operation, "source", source, BufferUsage.copySrc, region, options?.source)
      const to = this.#place(operation, "target", target, BufferUsage.copyDst, region, options?.target)
      if (from.memory === undefined || to.memory === undefined) return Exit.void
      valid(BufferProblems.copyProblem(operation, from.memory, to.memory))
      const exit = this.#driver.copyRectUnsafe(from.extent, from.memory, from.place, to.memory, to.place)
      return distrustUnverified(exit, from.memory, to.memory)
    })

  readonly writeRect = (
    target: BufferLike.BufferLike,
    data: HostData.HostData,
    options: Rectangle.HostRectOptions
  ): Effect.Effect<void, GpuError> =>
    this.#pending.write("CommandQueue.writeRect", (operation) => {
      const to = this.#place(
        operation,
        "buffer",
        target,
        BufferUsage.copyDst,
        options?.region,
        options?.buffer,
        "write"
      )
      const bytes = valid(HostData.bytes(operation, data))
      const from = valid(Rectangle.inHostMemory(operation, "host", options?.host, to.extent, bytes.byteLength))
      const { extent, memory, place } = to
      if (memory === undefined) return undefined
      const write = () => {
        const rows = valid(Rectangle.gathered(extent, bytes, from))
        return distrustUnverified(this.#driver.writeRectUnsafe(extent, memory, place, rows), memory)
      }
      return { bytes: RectangleRows.byteLength(extent), write }
    })

  readonly readRect = <A extends ArrayBufferView>(
    source: BufferLike.BufferLike,
    type: ElementType<A>,
    options: Rectangle.ReadRectOptions
  ): Effect.Effect<A, GpuError> => {
    const rows = Reading.read("CommandQueue.readRect", (operation) => {
      const from = this.#place(
        operation,
        "buffer",
        source,
        BufferUsage.copySrc,
        options?.region,
        options?.buffer,
        "read"
      )
      const bytes = RectangleRows.byteLength(from.extent)
      const hint = "Read a Uint8Array, or a region of whole elements."
      return WholeElements.problem(operation, bytes, "of the region", type, hint) ?? this.#reading(from)
    })
    return Effect.map(rows, (rows) => new type(rows))
  }

  readonly readRectInto = (
    source: BufferLike.BufferLike,
    target: HostData.HostData,
    options: Rectangle.HostRectOptions
  ): Effect.Effect<void, GpuError> =>
    Reading.into("CommandQueue.readRectInto", {
      source: (operation) =>
        this.#place(operation, "buffer", source, BufferUsage.copySrc, options?.region, options?.buffer, "read"),
      target: (operation, { extent }) => {
        const bytes = valid(HostData.bytes(operation, target, "target"))
        return {
          bytes,
          place: valid(Rectangle.inHostMemory(operation, "host", options?.host, extent, bytes.byteLength))
        }
      },
      begin: (from) => this.#reading(from),
      copy: ({ extent }, rows, to) =>
        RectangleRows.copyBytes(extent, rows, RectangleRows.packed(extent), to.bytes, to.place)
    })

  #reading({ extent, memory, place }: Placed): Reading.Begin | undefined {
    return memory === undefined
      ? undefined
      : (answer) => this.#driver.readRectUnsafe(extent, memory, place, answer)
  }

  #place(
    operation: string,
    name: string,
    buffer: BufferLike.BufferLike,
    usage: BufferUsage.BufferUsage,
    region: Rectangle.Region,
    placement: Rectangle.Placement | undefined,
    host?: BufferUsageRules.HostAccess
  ): Placed {
    const memory = BufferMemory.use(operation, buffer, this.#device, usage, host)
    const extent = valid(Rectangle.extentOf(operation, region, this.#alignment))
    const place = valid(Rectangle.inBuffer(operation, name, placement, extent, buffer.size, this.#alignment))
    return { extent, place, memory: RectangleRows.byteLength(extent) === 0 ? undefined : memory }
  }
}

/**
 * The queue that programs use: checks every operation, the same way on each backend, and hands it to the driver.
 *
 * @internal
 */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { valid } from "../../domain/arguments/ArgumentProblem.ts"
import * as BufferUsage from "../../domain/BufferUsage.ts"
import * as BufferRange from "../../domain/data/BufferRange.ts"
import * as BytePattern from "../../domain/data/BytePattern.ts"
import type { ElementType } from "../../domain/data/ElementClass.ts"
import * as HostData from "../../domain/data/HostData.ts"
import type * as WholeElements from "../../domain/data/WholeElements.ts"
import type { DeviceInfo } from "../../domain/device/DeviceInfo.ts"
import { type GpuError, invalidRequest, isGpuError } from "../../domain/GpuError.ts"
import type * as BufferLike from "../buffers/BufferLike.ts"
import * as BufferMemory from "../buffers/BufferMemory.ts"
import * as BufferProblems from "../buffers/BufferProblems.ts"
import * as StagingMemory from "../buffers/staging/StagingMemory.ts"
import type { LazyModule } from "../calls/LazyModule.ts"
import { BytesInFlight } from "../device/BytesInFlight.ts"
import type { DeviceBuffer } from "../device/DeviceBuffer.ts"
import type { DeviceContext } from "../device/DeviceContext.ts"
import type { QueueDriver } from "../device/QueueDriver.ts"
import { QueueEvent } from "../device/QueueEvent.ts"
import * as Reading from "../device/Reading.ts"
import { distrustUnverified } from "../device/UnverifiedMemory.ts"
import type { CommandQueue, OnQueue, ReadOptions } from "./CommandQueue.ts"
import type { Dispatches } from "./Dispatches.ts"
import type * as FurtherQueue from "./FurtherQueue.ts"
import type * as ReadView from "./ReadView.ts"
import type * as Rectangles from "./RectangleCommands.ts"

type Service = CommandQueue["Service"]

/** The commands that a queue loads at their first use, or that a device has not. */
export interface LazyParts extends Pick<typeof FurtherQueue, "openQueue">, Pick<typeof ReadView, "readView"> {
  readonly RectangleCommands: new(
    ...args: ConstructorParameters<typeof Rectangles.RectangleCommands>
  ) => Pick<Service, "copyRect" | "writeRect" | "readRect" | "readRectInto">
}

/** What a queue is made of. */
export interface Drivers {
  readonly driver: QueueDriver["Service"]
  readonly device: DeviceContext["Service"]
  /** The commands that are loaded at their first use. */
  readonly commands: LazyModule<LazyParts>
  readonly dispatches: LazyModule<Dispatches>
}

interface Options extends Drivers {
  /** Opens a further queue, where the device can have one. */
  readonly further: FurtherQueue.Open | undefined
  /** The services that provide this queue to an effect. */
  readonly services: () => Context.Context<OnQueue>
}

const drivers: unique symbol = Symbol("drivers")

/** What a queue is made of; `undefined` for one whose commands are traced, or that a program has made. */
export const driversOf = (queue: Service): Drivers | undefined => (queue as Partial<CheckedQueue>)[drivers]

/** One queue on one device. The operations are properties, so that a service can be spread with some of them replaced. */
export class CheckedQueue implements Service {
  readonly info: DeviceInfo
  readonly #driver: QueueDriver["Service"]
  readonly #device: DeviceContext["Service"]
  readonly #commands: LazyModule<LazyParts>
  readonly #dispatches: LazyModule<Dispatches>
  readonly #pending: BytesInFlight
  readonly #alignment: BufferRange.Alignment
  readonly #further: FurtherQueue.Open | undefined
  readonly #services: () => Context.Context<OnQueue>
  /** What it is made of, also in services that a program spreads. */
  readonly [drivers]: Drivers
  readonly copyRect: Service["copyRect"]
  readonly writeRect: Service["writeRect"]
  readonly readRect: Service["readRect"]
  readonly readRectInto: Service["readRectInto"]

  constructor(options: Options) {
    this.info = options.device.info
    this.#driver = options.driver
    this.#device = options.device
    this.#commands = options.commands
    this.#dispatches = options.dispatches
    this.#pending = BytesInFlight.of(options.driver)
    this.#alignment = BufferRange.alignmentOfCommands(this.info.limits)
    this.#further = options.further
    this.#services = options.services
    this[drivers] = options
    const { copyRect, readRect, readRectInto, writeRect } = options.commands.map(({ RectangleCommands }) =>
      new RectangleCommands(options.driver, options.device)
    ).effects(["copyRect", "writeRect", "readRect", "readRectInto"])
    this.copyRect = copyRect
    this.writeRect = writeRect
    this.readRect = readRect
    this.readRectInto = readRectInto
  }

  readonly write: Service["write"] = (target, data, options) =>
    this.#pending.write("CommandQueue.write", (operation) => {
      const memory = BufferMemory.use(operation, target, this.#device, BufferUsage.copyDst, "write")
      const bytes = valid(HostData.bytes(operation, data))
      const offset = options?.offset ?? 0
      valid(BufferRange.problem(operation, target, offset, bytes.byteLength, this.#alignment))
      if (memory === undefined || bytes.byteLength === 0) return undefined
      return {
        bytes: bytes.byteLength,
        write: () => distrustUnverified(this.#driver.writeUnsafe(memory, offset, bytes), memory)
      }
    })

  readonly read: Service["read"] = (source, type, options) => {
    const bytes = this.#bytes("CommandQueue.read", (operation) => this.#asked(operation, source, type, options))
    return Effect.map(bytes, (buffer) => new type(buffer))
  }

  readonly readView: Service["readView"] = (source, type, f, options) =>
    this.#commands.use(({ readView }) =>
      readView(
        this.#device,
        this.#driver,
        source,
        type,
        f,
        (operation) => this.#asked(operation, source, type, options)
      )
    )

  readonly readInto: Service["readInto"] = (source, target, options) => {
    const operation = "CommandQueue.readInto"
    const bytes = this.#bytes(operation, () => {
      const offset = options?.offset ?? 0
      const memory = BufferMemory.use(operation, source, this.#device, BufferUsage.copySrc, "read")
      valid(BufferRange.offsetProblem(operation, source, offset, this.#alignment))
      const view = HostData.bytes(operation, target, "target")
      return isGpuError(view) ? view : this.#part(operation, source, memory, offset, view.byteLength)
    })
    return Effect.flatMap(bytes, (buffer) => HostData.copyInto(operation, buffer, target) ?? Exit.void)
  }

  readonly copy: Service["copy"] = (source, target, options) =>
    this.#pending.record("CommandQueue.copy", (operation) => {
      const sourceOffset = options?.sourceOffset ?? 0
      const targetOffset = options?.targetOffset ?? 0
      const from = BufferMemory.use(operation, source, this.#device, BufferUsage.copySrc)
      const to = BufferMemory.use(operation, target, this.#device, BufferUsage.copyDst)
      valid(BufferRange.offsetProblem(operation, source, sourceOffset, this.#alignment, "sourceOffset", "source"))
      valid(BufferRange.offsetProblem(operation, target, targetOffset, this.#alignment, "targetOffset", "target"))
      const bytes = options?.size ?? source.size - sourceOffset
      valid(BufferRange.lengthProblem(operation, source, sourceOffset, bytes, this.#alignment, "source"))
      valid(BufferRange.lengthProblem(operation, target, targetOffset, bytes, this.#alignment, "target"))
      if (from === undefined || to === undefined) return Exit.void
      valid(BufferProblems.copyProblem(operation, from, to))
      if (bytes === 0) return Exit.void
      return distrustUnverified(this.#driver.copyUnsafe(from, sourceOffset, to, targetOffset, bytes), from, to)
    })

  readonly fill: Service["fill"] = (target, pattern, options) =>
    this.#pending.record("CommandQueue.fill", (operation) => {
      const offset = options?.offset ?? 0
      const memory = BufferMemory.use(operation, target, this.#device, BufferUsage.copyDst)
      valid(BufferRange.offsetProblem(operation, target, offset, this.#alignment))
      const bytes = options?.size ?? target.size - offset
      valid(BufferRange.lengthProblem(operation, target, offset, bytes, this.#alignment))
      const repeated = valid(BytePattern.make(operation, pattern))
      valid(BytePattern.partProblem(operation, repeated, offset, bytes))
      if (memory === undefined || bytes === 0) return Exit.void
      const { words } = repeated
      const filled = words.length === 1
        ? this.#driver.fillUnsafe(memory, offset, bytes, words[0]!)
        : this.#driver.fillWideUnsafe(memory, offset, bytes, words)
      return distrustUnverified(filled, memory)
    })

  readonly dispatch: Service["dispatch"] = (kernel, args, items) =>
    this.#dispatches.use((dispatches) => dispatches.dispatch(kernel, args, items))

  readonly flush: Service["flush"] = Effect.suspend(() => this.#device.status.error ?? this.#driver.flushUnsafe())

  readonly finish: Service["finish"] = Effect.suspend(() => this.#device.status.error ?? this.#driver.finish)

  readonly event: Service["event"] = Effect.sync(() => new QueueEvent(this.#driver, this.#driver.positionUnsafe()))

  readonly open: Service["open"] = (options) =>
    this.#commands.use(({ openQueue }) => openQueue(this.#device, this, this.#further, options))

  readonly on: Service["on"] = (effect) => Effect.provideContext(effect, this.#services())

  /** Checks a read, and returns the bytes to read. */
  #asked<A extends ArrayBufferView>(
    operation: string,
    source: BufferLike.BufferLike,
    type: ElementType<A>,
    options: ReadOptions | undefined
  ): StagingMemory.Part | GpuError | undefined {
    const offset = options?.offset ?? 0
    const memory = BufferMemory.use(operation, source, this.#device, BufferUsage.copySrc, "read")
    valid(BufferRange.offsetProblem(operation, source, offset, this.#alignment))
    const bytes = readBytes(operation, source.size - offset, type, options?.length)
    return isGpuError(bytes) ? bytes : this.#part(operation, source, memory, offset, bytes)
  }

  /** The bytes to read of a usable source, from a checked offset. */
  #part(
    operation: string,
    source: BufferLike.BufferLike,
    memory: DeviceBuffer | undefined,
    offset: number,
    bytes: number
  ): StagingMemory.Part | GpuError | undefined {
    valid(BufferRange.lengthProblem(operation, source, offset, bytes, this.#alignment))
    return memory === undefined || bytes === 0 ? undefined : { memory, offset, bytes }
  }

  /** Reads through the staging memory of a pool in context, if the device needs staging and there is such a pool. */
  #bytes(operation: string, check: StagingMemory.Check): Effect.Effect<ArrayBuffer, GpuError> {
    const direct = Reading.read(operation, () => {
      const part = check(operation)
      if (part === undefined || isGpuError(part)) return part
      return (answer) => this.#driver.readUnsafe(part.memory, part.offset, part.bytes, answer)
    })
    if (!this.info.traits.readsStaged) return direct
    return Effect.withFiber((fiber) => {
      const staging = fiber.getRef(StagingMemory.CurrentStagingMemory)
      return staging?.info === this.info ? staging.read(operation, check) : direct
    })
  }
}

/** The bytes of `length` elements; without a length the `rest`. */
const readBytes = (
  operation: string,
  rest: number,
  type: WholeElements.ElementClass,
  length: number | undefined
): number | GpuError => {
  const itemSize = type.BYTES_PER_ELEMENT
  if (length === undefined) {
    return rest % itemSize === 0 ? rest : invalidRequest(
      operation,
      `the ${rest} bytes up to the buffer's end are no whole number of ${type.name} elements`,
      "Pass length, in elements, or read a Uint8Array."
    )
  }
  return Number.isSafeInteger(length) && length >= 0 ? length * itemSize : invalidRequest(
    operation,
    `length ${length} is no whole number of ${type.name} elements, zero or more`,
    "Pass an integer, or leave it out to read up to the buffer's end."
  )
}

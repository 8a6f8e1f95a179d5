/** The device: what it is, and the creation and destruction of its buffers. */
import { Effect, Exit } from "effect"
import { type DeviceContext, DType, GpuError } from "effect-gpu-pool"
import {
  BackendTraits,
  type DeviceBuffer,
  type DeviceInfo,
  DeviceStatus,
  DriverObjects,
  type Language
} from "effect-gpu-pool/backend"
import { backend, driverError } from "./DriverErrors.ts"
import { shared } from "./Memory.ts"
import { WorkersBuffer } from "./WorkersBuffer.ts"

const GiB = 2 ** 30

const describe = (threads: number, language: Language.Language): DeviceInfo.DeviceInfo => ({
  backend,
  // Floats are JavaScript's, and kernels need no compiler. Threads can share only memory that was created as shared.
  traits: BackendTraits.make({ language }),
  name: `${threads} threads`,
  vendor: "effect-gpu-pool",
  driver: "node:worker_threads",
  limits: {
    maxBufferSize: GiB,
    maxBindingSize: GiB,
    granularity: 1,
    // Vectors of f64 begin at multiples of 8 bytes, as typed arrays do.
    regionAlignment: 8,
    copyAlignment: 4,
    leastCopyAlignment: 4,
    memoryBytes: undefined,
    defaultMaxBytes: undefined,
    maxWorkgroupSize: 256,
    maxVectorArguments: 16
  },
  dtypes: new Set(DType.all.filter(DType.hostSupports))
})

type Service = DeviceContext.DeviceContext["Service"]

export class WorkersDevice implements Service {
  readonly info: DeviceInfo.DeviceInfo
  readonly status = new DeviceStatus.DeviceStatus(backend)
  readonly driverObjects = new DriverObjects.DriverObjects()
  /** Buffers and regions that were not destroyed. */
  readonly #live = new Set<WorkersBuffer>()

  constructor(threads: number, language: Language.Language) {
    this.info = describe(threads, language)
    this.driverObjects.add("device")
  }

  readonly createBuffer: Service["createBuffer"] = (bytes, usage, label) =>
    Effect.suspend(() => this.#create(bytes, usage, label))

  readonly createFromHost: Service["createFromHost"] = (data, mode, usage, label) => {
    const { byteLength } = data
    return mode === "use" ? notShared : Effect.suspend(() => {
      // The program may have transferred the data since the check.
      if (data.byteLength !== byteLength) return driverError("createFromHost", "the data is gone", [])
      return Exit.map(this.#create(byteLength, usage, label), (buffer) => {
        new Uint8Array(buffer.memory).set(data)
        return buffer
      })
    })
  }

  readonly createRegionUnsafe: Service["createRegionUnsafe"] = (part, size, usage, label) => {
    if (this.status.error !== undefined) return Exit.fail(this.status.error)
    const { memory } = part.parent as WorkersBuffer
    return Exit.succeed(this.#add(new WorkersBuffer(this.info, memory, size, usage, label, part)))
  }

  /** The garbage collector frees the memory when nothing uses it any more, recorded commands included. */
  readonly destroyBufferUnsafe: Service["destroyBufferUnsafe"] = (buffer) => {
    if (!(buffer instanceof WorkersBuffer) || buffer.owner !== this.info) {
      return Exit.fail(foreign("DeviceContext.destroyBufferUnsafe", buffer))
    }
    buffer.destroyed = true
    if (this.#live.delete(buffer)) this.driverObjects.remove(kindOf(buffer))
    return Exit.void
  }

  /** Later calls find a lost device. Then everything is released, in use or not. */
  close(): void {
    this.status.lose("its layer is closed")
    for (const buffer of this.#live) this.destroyBufferUnsafe(buffer)
    this.driverObjects.remove("device")
  }

  #create(bytes: number, usage: number, label: string | undefined): Exit.Exit<WorkersBuffer, GpuError.GpuError> {
    if (this.status.error !== undefined) return Exit.fail(this.status.error)
    const memory = shared(bytes)
    if (memory === undefined) return Exit.fail(GpuError.outOfMemory(bytes))
    return Exit.succeed(this.#add(new WorkersBuffer(this.info, memory, bytes, usage, label)))
  }

  #add(buffer: WorkersBuffer): WorkersBuffer {
    this.driverObjects.add(kindOf(buffer))
    this.#live.add(buffer)
    return buffer
  }
}

const kindOf = ({ parent }: WorkersBuffer): string => parent === undefined ? "buffer" : "region"

const notShared = GpuError.make(
  new GpuError.Unsupported({
    operation: "MemoryObjects.fromHost",
    backend,
    feature: "memory of the program's, which threads do not share",
    hint: `Take a copy: mode "copy".`
  })
)

const foreign = (operation: string, { label, owner }: DeviceBuffer.DeviceBuffer): GpuError.GpuError =>
  GpuError.make(
    new GpuError.ForeignDevice({ operation, label, owner: `${owner.backend} ${owner.name}`, expected: "this device" })
  )

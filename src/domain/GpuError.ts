/**
 * The one error of this library: {@link GpuError}, whose tagged `reason` says what happened.
 *
 * Every message names the values that led to it and ends with what to do next. `isRetryable` says whether the same call
 * may succeed later without a change to the program.
 *
 * @since 0.1.0
 */
import { NodeInspectSymbol } from "effect/Inspectable"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import { line, lines, list, shownBytes } from "./arguments/Format.ts"
import * as DriverHint from "./device/DriverHint.ts"
import { describe } from "./ErrorStack.ts"
import { HolderGroup } from "./pool/HolderSums.ts"

const TypeId = "~effect-gpu-pool/GpuError"

/** `Infinity` among them, for no limit. */
const number = Schema.Number

const text = Schema.UndefinedOr(Schema.String)

/**
 * One lease that holds memory, as out-of-memory errors list them.
 *
 * @category models
 * @since 0.1.0
 */
export interface Holder extends Schema.Schema.Type<typeof holder> {}

const holder = Schema.Struct({
  /** The label given at `allocate`, or `undefined`. */
  label: text,
  /** Requested bytes of the lease. */
  size: number,
  /** Bytes of its block. */
  capacity: number,
  /** How many leases the pool has granted since this one. */
  age: number,
  /** Where in the program it was asked for, in `CallSite.track`. */
  callSite: Schema.optional(Schema.String)
})

const groupText = ({ bytes, callSite, label, leases }: HolderGroup): string =>
  `${label === undefined ? "(no label)" : line(label)}${callSite === undefined ? "" : ` at ${line(callSite)}`}: ` +
  `${leases} ${leases === 1 ? "lease" : "leases"}, ${shownBytes(bytes)}`

/** How many groups of holders a message lists. */
const mostGroups = 3

/**
 * A job in a deadlock: it waits for memory of other waiting jobs, and mostly has some itself. All sizes are bytes.
 *
 * @category models
 * @since 0.1.0
 */
export interface WaitingJob extends Schema.Schema.Type<typeof waitingJob> {}

const waitingJob = Schema.Struct({
  /** The label of the request that waits, or `undefined`. */
  label: text,
  /** Bytes that it waits for. */
  requested: number,
  /** Capacity of its leases, and the bytes that are reserved for it. */
  holdsBytes: number,
  /** Its largest leases, at most three. */
  holds: Schema.Array(Schema.Struct({ label: text, size: number }))
})

const jobText = ({ holds, holdsBytes, label, requested }: WaitingJob): string => {
  const named = holds.map((lease) => `${lease.label ?? "(no label)"} ${lease.size} B`).join(", ")
  return `${label ?? "(no label)"} waits for ${requested} B and holds ${holdsBytes} B${
    named === "" ? "" : ` (${named})`
  }`
}

/**
 * A step of the out-of-memory fallback, in the order in which they are tried.
 *
 * @category models
 * @since 0.1.0
 */
export type FallbackStep = typeof step.Type

const step = Schema.Literals(["bin", "borrow", "driver", "reclaim", "evict", "exact", "handlers", "wait"])

/**
 * The memory does not exist now, but could after a release. Retryable while other bytes are active, pending or reserved.
 *
 * All sizes are bytes. Only a pool fills all fields from `limit` to `holders`; a limiting allocator fills its limit and
 * the bytes that count against it. Otherwise the byte counts are zero, and the message leaves them out.
 *
 * **Example** (Saying who holds the memory)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool } from "effect-gpu-pool"
 *
 * const image = BufferPool.allocate(1 << 28, { label: "image" }).pipe(
 *   Effect.tapError(({ reason }) =>
 *     reason._tag === "OutOfMemory"
 *       ? Effect.logWarning(reason.holderGroups.map(({ bytes, label }) => `${label ?? "?"}: ${bytes} bytes`))
 *       : Effect.void
 *   )
 * )
 * ```
 *
 * @category errors
 * @since 0.1.0
 */
export class OutOfMemory
  extends Schema.TaggedClass<OutOfMemory>("effect-gpu-pool/GpuError/OutOfMemory")("OutOfMemory", {
    /** Bytes that the caller asked for. */
    requested: number,
    /** Bytes of the block that the size policy chose for it. */
    blockSize: number,
    /** Whether a pool raised it; else a driver or the process did. */
    pooled: Schema.Boolean,
    /** Whose limit and counters these are: the pool's own, or those of a budget within it. */
    limitName: Schema.Literals(["maxBytes", "budget"]),
    /** The label of that pool or budget, where it has one. */
    limitLabel: Schema.optional(Schema.String),
    /** That byte limit, `Infinity` when there is none. */
    limit: number,
    /** Requested bytes of all active leases. */
    activeBytes: number,
    /** Capacity of the blocks that the pool keeps for reuse. */
    heldBytes: number,
    /** Capacity of the active and held blocks. */
    managedBytes: number,
    /** Bytes of driver allocations under way. */
    pendingBytes: number,
    /** Bytes that are reserved for effects under `BufferPool.reserve`, and unused by them. */
    reservedBytes: number,
    /** Capacity of the largest block that is still held. */
    largestHeldBytes: number,
    /**
     * If allocators around the pool have limits: the lowest one, and the bytes that other pools and unpooled buffers
     * use of it.
     */
    shared: Schema.optional(Schema.Struct({ maxBytes: number, bytesOfOthers: number })),
    /** What was tried, in order. */
    stepsTried: Schema.Array(step),
    /** How long the request waited before it gave up, in milliseconds; `undefined` when it did not time out. */
    waitedMillis: Schema.UndefinedOr(number),
    /**
     * The jobs that waited for each other when the pool failed this one, the youngest; empty otherwise. A retry can
     * succeed if this job first releases its memory. If only one job is listed, it has waited for its own memory, and a
     * retry would do so again.
     */
    deadlock: Schema.Array(waitingJob),
    /** The largest active leases, at most three, largest first. */
    holders: Schema.Array(holder),
    /** All active leases summed by label and call site: the five groups with the most bytes, from the most. */
    holderGroups: Schema.Array(HolderGroup)
  })
{
  get isRetryable(): boolean {
    const ofOthers = this.shared?.bytesOfOthers ?? 0
    return this.deadlock.length !== 1 && this.activeBytes + this.pendingBytes + this.reservedBytes + ofOthers > 0
  }
  get message(): string {
    if (this.pooled) return this.pooledMessage
    const limit = this.limit === Infinity
      ? ""
      : ` under maxBytes ${this.limit} B: ${this.activeBytes} B are allocated and ${this.pendingBytes} B pending`
    return `Out of memory: ${this.requested} bytes could not be allocated${limit}. ` +
      "Ask for less, or give other buffers back first."
  }
  private get raise(): string {
    return this.limitName === "budget" ? "the budget" : "maxBytes"
  }
  /** Whether a limit refused it, which can be raised; else the driver had no memory. */
  private get isLimited(): boolean {
    return this.shared !== undefined || (this.limit !== Infinity && !this.stepsTried.includes("driver"))
  }
  /** For example `the budget "frames"`. */
  private get limitText(): string {
    if (this.limit === Infinity) return "no byte limit"
    const named = this.limitLabel === undefined ? "" : this.limitName === "budget"
      ? ` "${line(this.limitLabel)}"`
      : ` of "${line(this.limitLabel)}"`
    return `${this.limitName}${named} ${this.limit} B`
  }
  private get sharedText(): string {
    if (this.shared === undefined) return ""
    const { bytesOfOthers, maxBytes } = this.shared
    return `; others use ${bytesOfOthers} B of the allocator's ${maxBytes} B`
  }
  private get deadlockMessage(): string {
    const jobs = this.deadlock.map(jobText).join("; ")
    if (this.deadlock.length === 1) {
      return `Out of memory: ${this.requested} bytes requested, ${this.limitText}, and all that is in use belongs to the ` +
        `job that asks, so it waits for its own memory: ${jobs}. A retry comes to the same end: give leases back first, ` +
        `ask for less at a time, or raise ${this.raise}.`
    }
    return `Out of memory: ${this.requested} bytes requested, ${this.limitText}, and every lease belongs to a ` +
      `job that waits too, so no memory can come back: ${jobs}. This is the youngest of them. Close its scope and retry ` +
      "the whole job (isRetryable is true), or let each job reserve what it needs before its first lease: " +
      "BufferPool.reserve or BufferPool.allocateAll."
  }
  private get pooledMessage(): string {
    const tried = this.stepsTried.length === 0 ? "" : `; tried ${this.stepsTried.join(", ")}`
    const waited = this.waitedMillis === undefined ? "" : `, waited ${this.waitedMillis} ms`
    const holders = this.holderGroups.slice(0, mostGroups).map(groupText).join("; ")
    if (this.deadlock.length > 0) return this.deadlockMessage
    return `Out of memory: ${this.requested} bytes requested (block of ${this.blockSize} B), ${this.limitText}, ` +
      `active ${this.activeBytes} B, held ${this.heldBytes} B, managed ${this.managedBytes} B, ` +
      `pending ${this.pendingBytes} B, ` +
      (this.reservedBytes === 0 ? "" : `reserved ${this.reservedBytes} B, `) +
      `largest held block ${this.largestHeldBytes} B${this.sharedText}${tried}${waited}` +
      (holders === "" ? ". " : `; held by ${holders}. `) +
      (this.isRetryable
        ? `Release leases and retry (isRetryable is true)${this.isLimited ? `, or raise ${this.raise}` : ""}.`
        : `There is no lease to release: ask for less, ${
          this.isLimited ? `raise ${this.raise} ` : ""
        }or choose a device with more memory.`)
  }
}

/**
 * The owner of the limit that a request is over. The program can raise every limit but the device's.
 *
 * @category models
 * @since 0.1.0
 */
export interface LimitOwner extends Schema.Schema.Type<typeof limitOwner> {}

const limitOwner = Schema.Struct({
  kind: Schema.Literals(["device", "memory", "pool", "budget", "allocator"]),
  /** The name of a device, the label of a memory, pool or budget. */
  name: Schema.optional(Schema.String)
})

/**
 * The request can never fit: it is over `maxBytes`, a budget, or a limit of the device.
 *
 * **Example** (Falling back to the largest that fits)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool } from "effect-gpu-pool"
 *
 * const asMuchAsPossible = BufferPool.allocate(2 ** 40).pipe(
 *   Effect.catchReason("GpuError", "LimitExceeded", ({ limit }) => BufferPool.allocate(limit))
 * )
 * ```
 *
 * @category errors
 * @since 0.1.0
 */
export class LimitExceeded
  extends Schema.TaggedClass<LimitExceeded>("effect-gpu-pool/GpuError/LimitExceeded")("LimitExceeded", {
    /** The operation that was called, as `BufferPool.allocate`. */
    operation: Schema.String,
    requested: number,
    /** The name of the limit, as `maxBytes` or `maxBufferSize`. */
    limitName: Schema.String,
    limit: number,
    /** What the two numbers count, as `items`; `bytes` without it. */
    unit: Schema.optional(Schema.String),
    /** Whose limit it is, where that is known. */
    owner: Schema.optional(limitOwner)
  })
{
  get message(): string {
    const unit = line(this.unit ?? "bytes")
    return `${
      line(this.operation)
    }: ${this.requested} ${unit} are over ${this.whose}, ${this.limit} ${unit}, so they can ` +
      `never fit. Ask for less, split the work, or ${this.advice}.`
  }
  private get whose(): string {
    const name = line(this.limitName)
    if (this.owner === undefined) return name
    const owner = `the ${this.owner.kind}${this.owner.name === undefined ? "" : ` "${line(this.owner.name)}"`}`
    // A budget has only a limit.
    return this.owner.kind === "budget" ? owner : `${name} of ${owner}`
  }
  private get advice(): string {
    switch (this.owner?.kind) {
      case undefined:
        return `raise ${line(this.limitName)} if your program sets it`
      case "device":
        return "choose a device that takes more"
      case "budget":
        return "raise the budget"
      default:
        return `raise ${line(this.limitName)}`
    }
  }
}

/**
 * The call is ill-formed: nothing was sent to the device.
 *
 * **Example** (What a wrong call answers)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool } from "effect-gpu-pool"
 *
 * Effect.scoped(BufferPool.allocate(-1)).pipe(
 *   Effect.flip,
 *   Effect.map(({ reason }) => reason._tag)
 * ) // => "InvalidRequest"
 * ```
 *
 * @category errors
 * @since 0.1.0
 */
export class InvalidRequest
  extends Schema.TaggedClass<InvalidRequest>("effect-gpu-pool/GpuError/InvalidRequest")("InvalidRequest", {
    operation: Schema.String,
    /** What is wrong, with the values. */
    problem: Schema.String,
    /** What to do instead. */
    hint: Schema.String,
    /** Where the mistake is in a parsed text: its offset in UTF-16 units. */
    position: Schema.optionalKey(number)
  })
{
  get message(): string {
    return `${line(this.operation)}: ${line(this.problem, 1000)}. ${lines(this.hint, 2000)}`
  }
}

/**
 * A device that was tried, and why it could not be used.
 *
 * @category models
 * @since 0.1.0
 */
export interface ProbedDevice extends Schema.Schema.Type<typeof probedDevice> {}

const probedDevice = Schema.Struct({
  /** `"webgpu"`, `"opencl"` or `"host"`. */
  backend: Schema.String,
  /** Its name as far as it is known, else the part that is missing, as `loader`. */
  device: Schema.String,
  /** Why it could not be opened, or was left out. */
  why: Schema.String
})

/** How many of the tried devices a message names. */
const mostTried = 24

/**
 * No device could be opened.
 *
 * **Example** (Going on in process memory)
 *
 * ```ts
 * import { Effect, Layer } from "effect"
 * import { BufferPool, type GpuError } from "effect-gpu-pool"
 * import { Host } from "effect-gpu-pool/host"
 * import { OpenCl } from "effect-gpu-pool/opencl"
 *
 * const onHost = (error: GpuError.GpuError) =>
 *   error.reason._tag === "DeviceUnavailable" ? Host.layer() : Layer.effectDiscard(Effect.fail(error))
 * const gpu = BufferPool.layer().pipe(Layer.provideMerge(OpenCl.layer().pipe(Layer.catch(onHost))))
 * ```
 *
 * @category errors
 * @since 0.1.0
 */
export class DeviceUnavailable
  extends Schema.TaggedClass<DeviceUnavailable>("effect-gpu-pool/GpuError/DeviceUnavailable")("DeviceUnavailable", {
    tried: Schema.Array(probedDevice),
    /** How to get a device. */
    hint: Schema.String
  })
{
  get message(): string {
    const tried = list(
      this.tried.map(({ backend, device, why }) => `${line(backend)} ${line(device)}: ${line(why, 400)}`),
      "; ",
      mostTried,
      1000
    )
    return `No device available (${tried === "" ? "nothing was tried" : tried}). ${lines(this.hint, 2000)}`
  }
}

/**
 * The device is lost, and everything on it. Build its layer again to open it again, or let `Reconnecting` do it.
 *
 * **Example** (Doing the job again on a fresh device)
 *
 * ```ts
 * import { Effect, Layer } from "effect"
 * import { BufferPool, CommandQueue } from "effect-gpu-pool"
 * import { Host } from "effect-gpu-pool/host"
 *
 * const job = BufferPool.use(64, (x) => Effect.andThen(CommandQueue.fill(x, 0), CommandQueue.finish))
 * const robust = job.pipe(
 *   Effect.provide(Layer.fresh(BufferPool.layer().pipe(Layer.provideMerge(Host.layer())))),
 *   Effect.retry({ while: ({ reason }) => reason._tag === "DeviceLost", times: 2 })
 * )
 * ```
 *
 * @category errors
 * @since 0.1.0
 */
export class DeviceLost extends Schema.TaggedClass<DeviceLost>("effect-gpu-pool/GpuError/DeviceLost")("DeviceLost", {
  backend: Schema.String,
  /** What the driver said. */
  detail: Schema.String
}) {
  get message(): string {
    return `The ${line(this.backend)} device was lost (${line(this.detail, 1000)}). Its buffers are lost: ` +
      `build the device layer again and upload your data anew.`
  }
}

/**
 * The host of a fleet that had the memory is lost, and every reservation, buffer and job on it: it ended, hung, was cut off, or
 * has a new epoch. See `@effect-gpu-pool/fleet`.
 *
 * **Example** (Doing again what has not begun)
 *
 * ```ts
 * import { Effect } from "effect"
 * import type { GpuError } from "effect-gpu-pool"
 *
 * const again = <A, R>(job: Effect.Effect<A, GpuError.GpuError, R>) =>
 *   Effect.retry(job, { while: ({ isRetryable, reason }) => reason._tag === "HostLost" && isRetryable, times: 2 })
 * ```
 *
 * @category errors
 * @since 0.1.0
 */
export class HostLost extends Schema.TaggedClass<HostLost>("effect-gpu-pool/GpuError/HostLost")("HostLost", {
  /** The name of the host in its fleet. */
  host: Schema.String,
  /** The epoch of the host that is over. */
  epoch: number,
  /** How it was noticed, with the values. */
  detail: Schema.String,
  /** Whether a job had been sent to the host, so that some of its work, or all, may have been done. */
  mayHaveRun: Schema.Boolean
}) {
  get message(): string {
    return `The host "${line(this.host)}" is lost in its epoch ${this.epoch} (${
      line(this.detail, 1000)
    }), with all that it had. ` +
      (this.mayHaveRun
        ? "The job may have run there: run it again if it is idempotent, else find out what it has done."
        : "Nothing has run there: try again (isRetryable is true).")
  }
}

/**
 * A lease or buffer was used after it was released, or asked for in a scope or pool that is closed.
 *
 * **Example** (Using a lease after its scope)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool, CommandQueue } from "effect-gpu-pool"
 *
 * Effect.scoped(BufferPool.allocate(64)).pipe(
 *   Effect.flatMap((ended) => CommandQueue.fill(ended, 0)),
 *   Effect.flip,
 *   Effect.map(({ reason }) => reason._tag)
 * ) // => "Released"
 * ```
 *
 * @category errors
 * @since 0.1.0
 */
export class Released extends Schema.TaggedClass<Released>("effect-gpu-pool/GpuError/Released")("Released", {
  operation: Schema.String,
  label: text,
  /** Requested bytes of the lease. */
  size: number,
  why: Schema.Literals(["released", "scopeClosed", "poolClosed", "parentReleased"]),
  /** What was used; a buffer without it. */
  what: Schema.optional(Schema.Literals(["image", "sampler", "mapping", "queue", "reservation"]))
}) {
  get message(): string {
    if (this.what === "queue") {
      return `${line(this.operation)}: the queue "${
        line(this.label ?? "")
      }" is closed. Use it in the scope that opened it.`
    }
    const label = this.label === undefined ? "" : ` "${line(this.label)}"`
    const size = this.what === "sampler" ? "" : ` of ${this.size} bytes`
    const what = `${line(this.operation)}: the ${this.what ?? "buffer"}${label}${size}`
    if (this.what === "mapping") return `${what} has ended. Use it in its scope, and while the mapped memory is live.`
    switch (this.why) {
      case "released":
        return `${what} was released before. Use it inside the scope that acquired it, or transfer the lease.`
      case "scopeClosed":
        return `${what} belongs to a scope that is closed. Allocate or transfer before the scope closes.`
      case "poolClosed":
        return `${what} belongs to a pool that is closed. Keep the pool's layer alive for as long as its leases.`
      case "parentReleased":
        return `${what} is over a lease that has ended. Keep the lease for as long as its sub-regions are used.`
    }
  }
}

/**
 * A buffer of one device was given to another device, or of one backend to another.
 *
 * **Example** (Bringing data over from another device)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { type BufferPool, CommandQueue } from "effect-gpu-pool"
 *
 * const copyOver = (
 *   there: CommandQueue.CommandQueue["Service"],
 *   source: BufferPool.PooledBuffer,
 *   target: BufferPool.PooledBuffer
 * ) =>
 *   CommandQueue.copy(source, target).pipe(
 *     Effect.catchReason("GpuError", "ForeignDevice", () =>
 *       Effect.flatMap(there.read(source, Uint8Array), (bytes) =>
 *         CommandQueue.write(target, bytes)))
 *   )
 * ```
 *
 * @category errors
 * @since 0.1.0
 */
export class ForeignDevice
  extends Schema.TaggedClass<ForeignDevice>("effect-gpu-pool/GpuError/ForeignDevice")("ForeignDevice", {
    operation: Schema.String,
    label: text,
    /** The device that made the buffer. */
    owner: Schema.String,
    /** The device that was asked to use it. */
    expected: Schema.String,
    /** What was used; a buffer without it. */
    what: Schema.optional(Schema.Literals(["image", "sampler"]))
  })
{
  get message(): string {
    const what = `${line(this.operation)}: the ${this.what ?? "buffer"} ${
      this.label === undefined ? "" : `"${line(this.label)}" `
    }belongs to ${line(this.owner)}, not to ${line(this.expected)}`
    const bringOver = "ead it on its own device and write the data to the other one."
    return this.expected === DriverHint.anotherOpening(this.owner)
      ? `${what}. ${DriverHint.openedTwice} If there are to be two, r${bringOver}`
      : `${what}. R${bringOver}`
  }
}

/**
 * The backend or device has no such ability.
 *
 * **Example** (Falling back to single precision)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { type BufferPool, CommandQueue, type Kernel } from "effect-gpu-pool"
 *
 * type Sum = Kernel.Kernel<readonly []>
 *
 * const sum = (inDouble: Sum, inSingle: Sum, x: BufferPool.PooledBuffer) =>
 *   CommandQueue.dispatch(inDouble, {}, x.size).pipe(
 *     Effect.catchReason("GpuError", "Unsupported", () => CommandQueue.dispatch(inSingle, {}, x.size))
 *   )
 * ```
 *
 * @category errors
 * @since 0.1.0
 */
export class Unsupported
  extends Schema.TaggedClass<Unsupported>("effect-gpu-pool/GpuError/Unsupported")("Unsupported", {
    operation: Schema.String,
    backend: Schema.String,
    feature: Schema.String,
    /** Why, and what to use instead. */
    hint: Schema.String
  })
{
  get message(): string {
    return `${line(this.operation)}: ${line(this.feature)} is not supported on ${line(this.backend)}. ${
      lines(this.hint, 2000)
    }`
  }
}

/**
 * A driver call failed for another reason than the ones above, a kernel did not compile, or recorded work failed.
 *
 * **Example** (Showing the compiler's log)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { KernelCache } from "effect-gpu-pool/backend"
 * import type { Kernel } from "effect-gpu-pool"
 *
 * const compile = (kernel: Kernel.Kernel) =>
 *   KernelCache.KernelCache.use((cache) => cache.get(kernel)).pipe(
 *     Effect.tapError(({ reason }) => reason._tag === "DriverError" ? Effect.logError(reason.log) : Effect.void)
 *   )
 * ```
 *
 * @category errors
 * @since 0.1.0
 */
export class DriverError
  extends Schema.TaggedClass<DriverError>("effect-gpu-pool/GpuError/DriverError")("DriverError", {
    backend: Schema.String,
    /** The driver's function, as `clEnqueueNDRangeKernel` or `GPUQueue.submit`. */
    call: Schema.String,
    /** The driver's name for the code, as `CL_INVALID_KERNEL`, when it has one. */
    codeName: text,
    code: Schema.UndefinedOr(number),
    /** What the driver or its compiler printed. */
    log: Schema.String,
    /** For a kernel that did not compile: the numbered lines of the generated source that the log names. */
    source: Schema.optional(Schema.String),
    /** Labels of the recorded commands among which the failure happened. */
    commands: Schema.Array(Schema.String),
    /** What to do next. */
    hint: Schema.String
  })
{
  get message(): string {
    const code = this.codeName === undefined && this.code === undefined
      ? ""
      : ` (${[this.codeName, this.code].filter((part) => part !== undefined).join(" ")})`
    const commands = this.commands.length === 0 ? "" : ` Commands: ${list(this.commands, ", ", 64)}.`
    const log = asSentence(lines(this.log))
    const source = this.source === undefined ? " " : `\nThe source that was compiled:\n${lines(this.source)}\n`
    return `${line(this.backend)}: ${line(this.call)} failed${code}: ${log}${commands}${source}${
      lines(this.hint, 2000)
    }`
  }
}

const asSentence = (log: string): string => {
  const text = log.trimEnd()
  return /[.!?]$/.test(text) ? text : `${text}.`
}

/**
 * Everything that can be the `reason` of a {@link GpuError}.
 *
 * @category models
 * @since 0.1.0
 */
export type Reason = typeof reason.Type

const reason = Schema.Union([
  OutOfMemory,
  LimitExceeded,
  InvalidRequest,
  DeviceUnavailable,
  DeviceLost,
  HostLost,
  Released,
  ForeignDevice,
  Unsupported,
  DriverError
])

/** A reason as text, as of any other error. */
function reasonText(this: Reason): string {
  return `${this._tag}: ${this.message}`
}

for (const { prototype } of reason.members) Object.defineProperty(prototype, "toString", { value: reasonText })

/**
 * The one error of this library. Handle a single reason with `Effect.catchReason`.
 *
 * **Example** (Answering one reason)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool } from "effect-gpu-pool"
 *
 * const smaller = BufferPool.allocate(1 << 30).pipe(
 *   Effect.catchReason("GpuError", "OutOfMemory", () => BufferPool.allocate(1 << 20))
 * )
 * ```
 *
 * @category errors
 * @since 0.1.0
 */
export class GpuError extends Schema.TaggedError<GpuError>("effect-gpu-pool/GpuError")("GpuError", { reason }) {
  readonly [TypeId] = TypeId

  // It takes what the class of the schema takes, so decoding makes it as any other.
  // @effect-diagnostics-next-line overriddenSchemaConstructor:off
  constructor(props: { readonly reason: Reason }, options?: Schema.MakeOptions) {
    super(props, options)
    describe(this)
  }

  override get name(): string {
    return "GpuError"
  }

  /** Says what happened, with the values, and what to do next. */
  override get message(): string {
    return this.reason.message
  }

  /** Whether the same call may succeed later, as after another lease was released. */
  get isRetryable(): boolean {
    if (this.reason._tag === "HostLost") return !this.reason.mayHaveRun
    return this.reason._tag === "OutOfMemory" && this.reason.isRetryable
  }

  /** The error as data: the message, which is no field, and the fields of the reason. */
  override toJSON(): unknown {
    return { _tag: this._tag, message: this.message, reason: this.reason }
  }

  /** The message and the stack, as for any other error. */
  override [NodeInspectSymbol](): string {
    const frames = typeof this.stack === "string" ? this.stack.indexOf("\n    at ") : -1
    return frames < 0 ? String(this) : `${String(this)}${this.stack!.slice(frames)}`
  }
}

/**
 * Whether a value is a {@link GpuError}.
 *
 * **Example** (Guarding an unknown value)
 *
 * ```ts
 * import { GpuError } from "effect-gpu-pool"
 *
 * GpuError.isGpuError(new Error("no")) // => false
 * ```
 *
 * @category guards
 * @since 0.1.0
 */
export const isGpuError = (u: unknown): u is GpuError => Predicate.hasProperty(u, TypeId)

/**
 * Makes a {@link GpuError} from its reason.
 *
 * **Example** (Failing with a reason of your own backend)
 *
 * ```ts
 * import { GpuError } from "effect-gpu-pool"
 *
 * const error = GpuError.make(new GpuError.DeviceLost({ backend: "mine", detail: "unplugged" }))
 * error.isRetryable // => false
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (reason: Reason): GpuError => new GpuError({ reason })

/**
 * An {@link InvalidRequest} as an error.
 *
 * **Example** (Refusing an argument)
 *
 * ```ts
 * import { GpuError } from "effect-gpu-pool"
 *
 * const error = GpuError.invalidRequest("resize", "the width 0 is not positive", "Pass at least 1.")
 * error.message // => "resize: the width 0 is not positive. Pass at least 1."
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const invalidRequest = (operation: string, problem: string, hint: string): GpuError =>
  make(new InvalidRequest({ operation, problem, hint }))

/**
 * An {@link Unsupported}.
 *
 * @category functions
 * @since 0.1.0
 */
export const unsupported = (operation: string, backend: string, feature: string, hint: string): GpuError =>
  make(new Unsupported({ operation, backend, feature, hint }))

/**
 * A {@link LimitExceeded}.
 *
 * @category constructors
 * @since 0.1.0
 */
export const limitExceeded = (facts: ConstructorParameters<typeof LimitExceeded>[0]): GpuError =>
  make(new LimitExceeded(facts))

/**
 * A {@link DeviceUnavailable}.
 *
 * @category constructors
 * @since 0.1.0
 */
export const deviceUnavailable = (tried: ReadonlyArray<ProbedDevice>, hint: string): GpuError =>
  make(new DeviceUnavailable({ tried, hint }))

/**
 * A {@link Released}, of what has a label and a size, and says why it has ended.
 *
 * @category constructors
 * @since 0.1.0
 */
export const released = (
  operation: string,
  { ended = "released", label, size, what }: Pick<Released, "label" | "size" | "what"> & {
    readonly ended?: Released["why"] | undefined
  }
): GpuError => make(new Released({ operation, label, size, why: ended, what }))

/**
 * A {@link DriverError} of a call that has no code, or failed before any command.
 *
 * @category constructors
 * @since 0.1.0
 */
export const driverError = (
  facts: Pick<DriverError, "backend" | "call" | "log" | "hint"> & Partial<ConstructorParameters<typeof DriverError>[0]>
): GpuError => make(new DriverError({ codeName: undefined, code: undefined, commands: [], ...facts }))

/**
 * An {@link OutOfMemory} of an allocator, without the fields of a pool. An allocator with a byte limit adds the limit
 * and the bytes that count against it.
 *
 * **Example** (An allocator whose driver has no memory left)
 *
 * ```ts
 * import { GpuError } from "effect-gpu-pool"
 *
 * const error = GpuError.outOfMemory(4096)
 * error.isRetryable // => false
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const outOfMemory = (
  bytes: number,
  evidence?: Partial<Pick<OutOfMemory, "limit" | "activeBytes" | "managedBytes" | "pendingBytes" | "stepsTried">>
): GpuError =>
  make(
    new OutOfMemory({
      requested: bytes,
      blockSize: bytes,
      pooled: false,
      limitName: "maxBytes",
      limit: Infinity,
      activeBytes: 0,
      heldBytes: 0,
      managedBytes: 0,
      pendingBytes: 0,
      reservedBytes: 0,
      largestHeldBytes: 0,
      stepsTried: ["driver"],
      waitedMillis: undefined,
      deadlock: [],
      holders: [],
      holderGroups: [],
      ...evidence
    })
  )

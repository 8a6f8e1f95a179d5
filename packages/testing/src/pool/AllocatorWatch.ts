/**
 * Watches an allocator from both sides: the buffers that it gives to a pool and gets back, and those that it takes from
 * the device and returns. Checks the rules of docs/allocators.md.
 *
 * @internal
 */
import { Allocator, layerImmediate } from "effect-gpu-pool/Allocator"
import * as BufferUsage from "effect-gpu-pool/BufferUsage"
import { DeviceBuffer } from "effect-gpu-pool/DeviceBuffer"
import { DeviceContext } from "effect-gpu-pool/DeviceContext"
import type { DeviceInfo } from "effect-gpu-pool/DeviceInfo"
import type { DeviceStatus } from "effect-gpu-pool/DeviceStatus"
import { type GpuError, isGpuError } from "effect-gpu-pool/GpuError"
import { overlaps } from "effect-gpu-pool/MemorySpan"
import type { QueueDriver } from "effect-gpu-pool/QueueDriver"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { format } from "effect/Formatter"
import * as Layer from "effect/Layer"
import * as Expect from "../Expect.ts"

/** The names of the rules, as docs/allocators.md lists them. */
export type Rule = "size" | "usage" | "owner" | "alive" | "order" | "once" | "return" | "answer"

/** The failure message for a broken rule. */
export const broken = (rule: Rule, what: string): string =>
  `The allocator breaks the rule "${rule}": ${what}. docs/allocators.md has the rules.`

export class AllocatorWatch {
  /** How many allocations were refused with OutOfMemory. */
  refusals = 0
  readonly #status: DeviceStatus
  readonly #info: DeviceInfo
  /** The buffers that it gave and did not get back. */
  readonly #given = new Set<DeviceBuffer>()
  /** The buffers that it got from the device and did not return. */
  readonly #fromDevice = new Set<DeviceBuffer>()
  readonly #returned = new WeakSet<DeviceBuffer>()
  #problem: string | undefined

  constructor({ info, status }: DeviceContext["Service"]) {
    this.#info = info
    this.#status = status
  }

  /** How many buffers it gave and did not get back. */
  get given(): number {
    return this.#given.size
  }

  /** How many buffers of the device it has. */
  get fromDevice(): number {
    return this.#fromDevice.size
  }

  /** The allocator, watched. */
  layer<E, R>(allocator: Layer.Layer<Allocator, E, R>): Layer.Layer<Allocator, E, R | DeviceContext> {
    const above = Layer.effect(Allocator, Effect.map(Allocator, (inner) => this.#above(inner)))
    const below = Layer.effect(DeviceContext, Effect.map(DeviceContext, (device) => this.#below(device)))
    return above.pipe(Layer.provide(allocator), Layer.provide(below))
  }

  /** Fails with the first rule that was broken. */
  readonly expectKept: Effect.Effect<void> = Effect.sync(() => {
    if (this.#problem !== undefined) Expect.fail(this.#problem)
  })

  /** Fails if the allocator's layer has closed with buffers that were not returned. */
  readonly expectClosed: Effect.Effect<void> = Effect.suspend(() => {
    // Buffers are not returned to a lost device.
    if (this.#fromDevice.size > 0 && this.#status.error === undefined) {
      const bytes = Array.from(this.#fromDevice).reduce((sum, { size }) => sum + size, 0)
      const kept = `${this.#fromDevice.size} buffers of ${bytes} bytes together`
      this.#breaks("return", `its layer has closed, and it never gave back ${kept}`)
    }
    return this.expectKept
  })

  #breaks(rule: Rule, what: string): void {
    this.#problem ??= broken(rule, what)
  }

  #above(inner: Allocator["Service"]): Allocator["Service"] {
    return {
      ...inner,
      allocate: (bytes, options) =>
        Effect.onExit(
          Effect.suspend(() => inner.allocate(bytes, options)),
          (exit) => Effect.sync(() => this.#answered(bytes, options?.usage ?? BufferUsage.defaultUsage, exit))
        ),
      freeUnsafe: (buffer) => {
        this.#expectAlive()
        this.#given.delete(buffer)
        return this.#freed(() => inner.freeUnsafe(buffer))
      }
    }
  }

  #freed(free: () => Exit.Exit<void, GpuError>): Exit.Exit<void, GpuError> {
    try {
      const exit = free()
      if (Exit.isExit(exit)) return exit
      this.#breaks("answer", "freeUnsafe returned no Exit")
    } catch (error) {
      this.#breaks("answer", `freeUnsafe threw ${format(error)}`)
    }
    return Exit.void
  }

  #answered(bytes: number, usage: BufferUsage.BufferUsage, exit: Exit.Exit<DeviceBuffer, GpuError>): void {
    this.#expectAlive()
    if (Exit.isSuccess(exit)) return this.#expectRight(bytes, usage, exit.value)
    for (const reason of exit.cause.reasons) {
      if (Cause.isInterruptReason(reason)) continue
      if (!Cause.isFailReason(reason) || !isGpuError(reason.error)) {
        const what = Cause.isFailReason(reason) ? reason.error : reason.defect
        this.#breaks("answer", `an allocation of ${bytes} bytes ended with ${format(what)}, and no GpuError`)
      } else if (reason.error.reason._tag === "OutOfMemory") {
        this.refusals++
        if (bytes === 0) this.#breaks("size", "it had no memory for 0 bytes, which take none")
      }
    }
  }

  #expectRight(bytes: number, usage: BufferUsage.BufferUsage, buffer: DeviceBuffer): void {
    if (!(buffer instanceof DeviceBuffer)) {
      return this.#breaks(
        "answer",
        `an allocation of ${bytes} bytes succeeded with ${format(buffer)}, and no DeviceBuffer`
      )
    }
    const { destroyed, owner, size } = buffer
    if (bytes === 0 ? size !== 0 : size < bytes) {
      this.#breaks("size", `it gave a buffer of ${size} bytes when asked for ${bytes}`)
    }
    if (buffer.usage !== usage) {
      const [given, asked] = [BufferUsage.format(buffer.usage), BufferUsage.format(usage)]
      this.#breaks("usage", `it gave a buffer for ${given} when asked for ${asked}`)
    }
    if (destroyed) this.#breaks("alive", `it gave a buffer of ${size} bytes that was destroyed before`)
    if (owner !== this.#info) this.#breaks("alive", `it gave a buffer of ${size} bytes of another device`)
    if (size === 0) return
    for (const other of this.#given) {
      if (other === buffer || overlaps(other.wholeMemory, buffer.wholeMemory)) {
        this.#breaks("owner", `it gave memory of ${size} bytes that it had given before and not got back`)
      }
    }
    this.#given.add(buffer)
  }

  /** A buffer that it gave must live until it is returned. */
  #expectAlive(): void {
    if (this.#status.error !== undefined) return
    for (const { destroyed, size } of this.#given) {
      if (destroyed) this.#breaks("alive", `a buffer of ${size} bytes was destroyed before it got that back`)
    }
  }

  #below(device: DeviceContext["Service"]): DeviceContext["Service"] {
    return {
      info: device.info,
      status: device.status,
      driverObjects: device.driverObjects,
      createBuffer: (bytes, usage, label, isDeferred) =>
        Effect.onExit(device.createBuffer(bytes, usage, label, isDeferred), (exit) =>
          Effect.sync(() => {
            if (Exit.isSuccess(exit)) this.#fromDevice.add(exit.value)
          })),
      createFromHost: (data, mode, usage, label) => device.createFromHost(data, mode, usage, label),
      createRegionUnsafe: (part, size, usage, label) => device.createRegionUnsafe(part, size, usage, label),
      destroyBufferUnsafe: (buffer) => {
        if (this.#returned.has(buffer)) {
          this.#breaks("once", `it gave a buffer of ${buffer.size} bytes back to the device twice`)
        }
        if (this.#fromDevice.delete(buffer)) this.#returned.add(buffer)
        return device.destroyBufferUnsafe(buffer)
      }
    }
  }
}

/** The allocator under a test's pool, and its watch. */
export interface Watched {
  readonly service: Allocator["Service"]
  readonly watch: AllocatorWatch
  /** Whether it is the library's own allocator, whose buffers are in the driver's counts. */
  readonly isUsual: boolean
}

/** The allocator of the test that runs; `undefined` outside of the suite. */
export const watched: Context.Reference<Watched | undefined> = Context.Reference<Watched | undefined>(
  "effect-gpu-pool/testing/watched",
  { defaultValue: () => undefined }
)

/** Runs an effect on the allocator under test, as a pool of its own. */
export const onAllocator = <A, E, R>(
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, E, Exclude<R, Allocator> | DeviceContext | QueueDriver> =>
  Effect.flatMap(watched, (found) =>
    found === undefined
      ? Effect.provide(effect, layerImmediate)
      : Effect.provideService(effect, Allocator, found.service))

/** The buffers of the allocator under test that are in use. */
export const liveBuffers: Effect.Effect<number, never, DeviceContext> = Effect.flatMap(
  watched,
  (found) =>
    found === undefined || found.isUsual
      ? DeviceContext.useSync(({ driverObjects }) => driverObjects.liveByKind.buffer ?? 0)
      : Effect.sync(() => found.watch.given)
)

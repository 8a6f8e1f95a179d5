/**
 * The dispatches of one queue: compiles a kernel at its first one, and checks the arguments of each.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { valid } from "../../domain/arguments/ArgumentProblem.ts"
import type { GpuError } from "../../domain/GpuError.ts"
import type { Kernel } from "../../domain/kernel/Kernel.ts"
import type * as Workgroup from "../../domain/kernel/Workgroup.ts"
import { BytesInFlight } from "../device/BytesInFlight.ts"
import type { DeviceContext } from "../device/DeviceContext.ts"
import type { CompiledKernel, KernelCache } from "../device/KernelCache.ts"
import type { Dispatch, QueueDriver } from "../device/QueueDriver.ts"
import type { Dispatcher, KernelTimes } from "../device/queues/KernelTimes.ts"
import { distrustUnverified } from "../device/UnverifiedMemory.ts"
import * as BoundArguments from "./BoundArguments.ts"
import type * as DispatchArguments from "./DispatchArguments.ts"

type Arguments = Readonly<Record<string, DispatchArguments.ArgumentValue>>

export class Dispatches {
  readonly #dispatcher: Dispatcher
  readonly #device: DeviceContext["Service"]
  readonly #cache: KernelCache["Service"]
  readonly #pending: BytesInFlight

  constructor(
    driver: QueueDriver["Service"],
    device: DeviceContext["Service"],
    cache: KernelCache["Service"],
    /** Measures how long kernels run, where a program asks for it. */
    kernelTimes: KernelTimes | undefined
  ) {
    this.#dispatcher = kernelTimes?.(driver, device.info) ?? driver
    this.#device = device
    this.#cache = cache
    this.#pending = BytesInFlight.of(driver)
  }

  /** The dispatches of another driver, with the same kernels. */
  on(driver: QueueDriver["Service"], device: DeviceContext["Service"]): Dispatches {
    return new Dispatches(driver, device, this.#cache, undefined)
  }

  compiled(kernel: Kernel): Effect.Effect<CompiledKernel, GpuError> {
    return this.#cache.get(kernel)
  }

  /** Records a dispatch that was checked before. */
  dispatchUnsafe(dispatch: Dispatch): Exit.Exit<void, GpuError> {
    return this.#dispatcher.dispatchUnsafe(dispatch)
  }

  dispatch(kernel: Kernel, args: Arguments, items: Workgroup.Range): Effect.Effect<void, GpuError> {
    return this.#pending.record("CommandQueue.dispatch", () => {
      const compiled = this.#cache.getUnsafe(kernel)
      return compiled === undefined
        ? this.#compileAndRecord(kernel, args, items)
        : this.#record(compiled, kernel, args, items)
    })
  }

  #compileAndRecord(kernel: Kernel, args: Arguments, items: Workgroup.Range): Effect.Effect<void, GpuError> {
    return Effect.flatMap(
      this.#device.status.error ?? this.#cache.get(kernel),
      (compiled) => this.#pending.record("CommandQueue.dispatch", () => this.#record(compiled, kernel, args, items))
    )
  }

  /** The cache may have dropped the kernel since it was compiled for this dispatch: then it is compiled again. */
  #record(
    compiled: CompiledKernel,
    kernel: Kernel,
    args: Arguments,
    items: Workgroup.Range
  ): Effect.Effect<void, GpuError> {
    if (compiled.released) return this.#compileAndRecord(kernel, args, items)
    const bound = valid(BoundArguments.bind(kernel, args, items, this.#device))
    const { count, images, range, samplers, scalars, vectors } = bound
    if (count === 0) return Exit.void
    const exit = this.#dispatcher.dispatchUnsafe({ compiled, vectors, scalars, images, samplers, count, range })
    if (Exit.isSuccess(exit)) return exit
    return distrustUnverified(exit, ...vectors.map(({ buffer }) => buffer), ...images)
  }
}

/** Failures of threads as the library's error. */
import { GpuError } from "effect-gpu-pool"

export const backend = "workers"

/** The failure of a call, or of recorded commands. */
export const driverError = (call: string, log: string, commands: ReadonlyArray<string>): GpuError.GpuError =>
  GpuError.make(
    new GpuError.DriverError({
      backend,
      call,
      codeName: undefined,
      code: undefined,
      log,
      commands,
      hint: commands.length === 0
        ? "A body sees its arguments and what JavaScript has everywhere: pass other values by Kernel.hostFunction."
        : "Correct the body, and record again what came after it."
    })
  )

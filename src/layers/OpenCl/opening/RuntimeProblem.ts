/**
 * Whether this JavaScript runtime can detach the driver's memory.
 *
 * @internal
 */
import { DeviceUnavailable, type GpuError, make as makeError } from "../../../domain/GpuError.ts"

/**
 * DeviceUnavailable on a runtime on which a mapping could not be ended, or `undefined`. A program sees a mapping as an
 * ArrayBuffer over the driver's memory, which has another owner when it has ended. Only `transfer` detaches such a
 * buffer, since koffi's cannot be transferred by `structuredClone`. Node has it as of version 21.
 *
 * @see https://tc39.es/ecma262/#sec-arraybuffer.prototype.transfer
 */
export const runtimeProblem = (): GpuError | undefined =>
  "transfer" in ArrayBuffer.prototype ? undefined : makeError(
    new DeviceUnavailable({
      tried: [{
        backend: "opencl",
        device: "this runtime",
        why: "it has no ArrayBuffer.prototype.transfer, without which a program would see mapped memory after its end"
      }],
      hint: "Use Node 22.19 or newer, or another backend: WebGpu.layer() or Host.layer()."
    })
  )

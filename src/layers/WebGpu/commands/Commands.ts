/**
 * Recorded commands, kept as functions until their flush: so no native object exists before it, all calls of a flush are
 * inside its error scopes, and labels are written only when something failed.
 *
 * @internal
 */
import * as CommandLabel from "../../../domain/arguments/CommandLabel.ts"
import type { DeviceBuffer } from "../../../services/device/DeviceBuffer.ts"
import type { DispatchCommand } from "../kernels/WebGpuKernel.ts"
import { gpuOf, roundUp4 } from "../WebGpuBuffer.ts"
import type * as WebGpuHandle from "../WebGpuHandle.ts"
import { command, type EncodedCommand, type Pattern, type Temporaries } from "./EncodedCommand.ts"

export type Command = EncodedCommand | DispatchCommand

/** Fills with the pattern, or with zeros if no pattern is given. */
export const fill = (
  target: DeviceBuffer,
  offset: number,
  bytes: number,
  pattern: Pattern | undefined
): EncodedCommand =>
  command(CommandLabel.fill(bytes, target), (encoder) => {
    const size = roundUp4(bytes)
    const [there, from] = [gpuOf(target), target.origin + offset]
    if (pattern === undefined) return encoder.clearBuffer(there, from, size)
    for (let done = 0; done < size; done += pattern.bytes) {
      encoder.copyBufferToBuffer(pattern.buffer, 0, there, from + done, Math.min(pattern.bytes, size - done))
    }
  })

/** Encodes commands in order. Neighbouring dispatches share a pass: WebGPU orders them within it. */
export const encode = (
  encoder: WebGpuHandle.CommandEncoder,
  commands: ReadonlyArray<Command>,
  uniforms: WebGpuHandle.Buffer | undefined,
  temporaries: Temporaries
): void => {
  let pass: WebGpuHandle.ComputePassEncoder | undefined
  let pipeline: WebGpuHandle.ComputePipeline | undefined
  for (const command of commands) {
    if (command._tag === "dispatch" && uniforms !== undefined) {
      pass ??= encoder.beginComputePass()
      if (pipeline !== command.kernel.pipeline) pass.setPipeline(pipeline = command.kernel.pipeline)
      command.kernel.encode(pass, command, uniforms, command)
      continue
    }
    pass?.end()
    pass = undefined
    pipeline = undefined
    if (command._tag === "encoded") command.encode(encoder, temporaries, uniforms)
  }
  pass?.end()
}

/**
 * Recorded commands, kept as data until their flush: so no native object exists before it, all calls of a flush are
 * inside its error scopes, and labels are written only when something failed.
 *
 * @internal
 */
import * as CommandLabel from "../../../domain/arguments/CommandLabel.ts"
import type { DeviceBuffer } from "../../../services/device/DeviceBuffer.ts"
import type { DispatchCommand, WebGpuKernel } from "../kernels/WebGpuKernel.ts"
import { gpuOf, roundUp4 } from "../WebGpuBuffer.ts"
import type * as WebGpuHandle from "../WebGpuHandle.ts"
import type { LazyCommand } from "./LazyCommand.ts"
import * as RectangleCommands from "./RectangleCommands.ts"
import type { Temporaries } from "./Temporaries.ts"

export interface CopyCommand {
  readonly _tag: "copy"
  readonly source: DeviceBuffer
  readonly sourceName: string | undefined
  readonly sourceOffset: number
  readonly target: DeviceBuffer
  readonly targetName: string | undefined
  readonly targetOffset: number
  readonly bytes: number
}

export interface FillCommand {
  readonly _tag: "fill"
  readonly target: DeviceBuffer
  readonly targetName: string | undefined
  readonly offset: number
  readonly bytes: number
  /** A buffer full of the pattern, to copy from; none for zero. */
  readonly pattern: { readonly buffer: WebGpuHandle.Buffer; readonly bytes: number } | undefined
}

export type Command =
  | RectangleCommands.CopyRectCommand
  | CopyCommand
  | FillCommand
  | DispatchCommand
  | LazyCommand

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
      command.kernel.encode(pass, command, uniforms)
      continue
    }
    pass?.end()
    pass = undefined
    pipeline = undefined
    if (command._tag === "copy") encodeCopy(encoder, command)
    else if (command._tag === "copyRect") RectangleCommands.encode(encoder, command)
    else if (command._tag === "fill") encodeFill(encoder, command)
    else if (command._tag === "later") command.encode(encoder, temporaries, uniforms)
  }
  pass?.end()
}

const encodeCopy = (encoder: WebGpuHandle.CommandEncoder, command: CopyCommand): void => {
  const { bytes, source, sourceOffset, target, targetOffset } = command
  const [from, to] = [source.origin + sourceOffset, target.origin + targetOffset]
  encoder.copyBufferToBuffer(gpuOf(source), from, gpuOf(target), to, roundUp4(bytes))
}

const encodeFill = (encoder: WebGpuHandle.CommandEncoder, { bytes, offset, pattern, target }: FillCommand): void => {
  const size = roundUp4(bytes)
  const from = target.origin + offset
  if (pattern === undefined) {
    encoder.clearBuffer(gpuOf(target), from, size)
    return
  }
  for (let done = 0; done < size; done += pattern.bytes) {
    encoder.copyBufferToBuffer(pattern.buffer, 0, gpuOf(target), from + done, Math.min(pattern.bytes, size - done))
  }
}

/** The facts for a command's label. They are kept until its flush has succeeded. */
export type Name =
  | CopyCommand
  | RectangleCommands.CopyRectCommand
  | FillCommand
  | DispatchName
  | LazyCommand

interface DispatchName {
  readonly _tag: "dispatch"
  readonly kernel: WebGpuKernel
  readonly count: number
}

/** The part of a command that names it. */
export const name = (command: Command): Name =>
  command._tag === "dispatch" ? { _tag: "dispatch", kernel: command.kernel, count: command.count } : command

/** A command as errors name it. */
export const label = (command: Name): string => {
  switch (command._tag) {
    case "copy":
      return CommandLabel.copy(command.bytes, command.sourceName, command.targetName)
    case "copyRect":
      return RectangleCommands.label(command)
    case "fill":
      return CommandLabel.fill(command.bytes, command.targetName)
    case "dispatch":
      return CommandLabel.dispatch(command.kernel.kernel.name, command.count)
    case "later":
      return command.label()
  }
}

/**
 * The recorded commands of one submit, as numbers and references in places that the queue uses again for later ones. No
 * native object exists before they are encoded, all calls of a submit are inside its error scopes, and labels are
 * written only when something failed.
 *
 * @internal
 */
import * as CommandLabel from "../../../domain/arguments/CommandLabel.ts"
import type { Extents } from "../../../domain/kernel/Workgroup.ts"
import type { DeviceBuffer } from "../../../services/device/DeviceBuffer.ts"
import type { Dispatch } from "../../../services/device/QueueDriver.ts"
import { gpuOf, roundUp4 } from "../WebGpuBuffer.ts"
import type * as WebGpuHandle from "../WebGpuHandle.ts"
import { encodeCopy } from "./ByteCopies.ts"
import type { EncodedCommand, Pattern, Temporaries } from "./EncodedCommand.ts"

type Groups = readonly [x: number, y: number, z?: number]

/** What the list needs of a kernel. */
interface ListedKernel {
  readonly kernel: { readonly name: string }
  readonly pipeline: WebGpuHandle.ComputePipeline
  readonly encode: (
    pass: WebGpuHandle.ComputePassEncoder,
    uniforms: WebGpuHandle.Buffer,
    dispatch: Dispatch,
    groups: Groups,
    uniformOffset: number
  ) => void
}

/** A place for a command. What a kind of command does not use has the values of an earlier command. */
class Place {
  kind: "copy" | "fill" | "dispatch" | "encoded" = "copy"

  /** Bytes, or the items of a dispatch. */
  count = 0
  from = 0
  to = 0
  groups: Groups = [0, 0]
  uniformOffset = 0

  // What encoding needs.
  source: DeviceBuffer | Pattern | undefined = undefined
  target: DeviceBuffer | undefined = undefined
  kernel: ListedKernel | undefined = undefined
  dispatch: Dispatch | undefined = undefined
  command: EncodedCommand | undefined = undefined

  // What a label needs besides. Submits pile up until a fiber waits; their commands' arguments need not.
  sourceLabel: string | undefined = undefined
  /** Also the name of a kernel. */
  targetLabel: string | undefined = undefined
  range: Extents | undefined = undefined
  label: CommandLabel.CommandLabel | undefined = undefined
}

export class RecordedCommands {
  readonly #places: Array<Place> = []
  length = 0

  copy(source: DeviceBuffer, from: number, target: DeviceBuffer, to: number, bytes: number): void {
    const place = this.#next()
    place.kind = "copy"
    place.count = bytes
    place.from = from
    place.to = to
    place.source = source
    place.target = target
    place.sourceLabel = source.label
    place.targetLabel = target.label
  }

  /** Fills with the pattern, or with zeros without one. */
  fill(target: DeviceBuffer, to: number, bytes: number, pattern: Pattern | undefined): void {
    const place = this.#next()
    place.kind = "fill"
    place.count = bytes
    place.to = to
    place.source = pattern
    place.target = target
    place.targetLabel = target.label
  }

  dispatch(kernel: ListedKernel, dispatch: Dispatch, groups: Groups, uniformOffset: number): void {
    const place = this.#next()
    place.kind = "dispatch"
    place.count = dispatch.count
    place.range = dispatch.range
    place.groups = groups
    place.uniformOffset = uniformOffset
    place.kernel = kernel
    place.dispatch = dispatch
    place.targetLabel = kernel.kernel.name
  }

  add(command: EncodedCommand): void {
    const place = this.#next()
    place.kind = "encoded"
    place.command = command
    place.label = command.label
  }

  /** Encodes them in order. Neighbouring dispatches share a pass: WebGPU orders them within it. */
  encode(
    encoder: WebGpuHandle.CommandEncoder,
    uniforms: WebGpuHandle.Buffer | undefined,
    temporaries: Temporaries
  ): void {
    let pass: WebGpuHandle.ComputePassEncoder | undefined
    let pipeline: WebGpuHandle.ComputePipeline | undefined
    for (let index = 0; index < this.length; index++) {
      const place = this.#places[index]!
      if (place.kind === "dispatch") {
        const kernel = place.kernel!
        pass ??= encoder.beginComputePass()
        if (pipeline !== kernel.pipeline) pass.setPipeline(pipeline = kernel.pipeline)
        kernel.encode(pass, uniforms!, place.dispatch!, place.groups, place.uniformOffset)
        continue
      }
      pass?.end()
      pass = undefined
      pipeline = undefined
      if (place.kind === "copy") encodeCopyOf(place, encoder, temporaries)
      else if (place.kind === "fill") encodeFillOf(place, encoder)
      else place.command!.encode(encoder, temporaries, uniforms)
    }
    pass?.end()
  }

  /** Drops all but what the labels need. */
  encoded(): void {
    for (let index = 0; index < this.length; index++) {
      const place = this.#places[index]!
      place.source = undefined
      place.target = undefined
      place.kernel = undefined
      place.dispatch = undefined
      place.command = undefined
    }
  }

  labels(): Array<string> {
    return this.#places.slice(0, this.length).map(labelOf)
  }

  /** Makes room for the commands of another submit. */
  clear(): void {
    for (let index = 0; index < this.length; index++) this.#places[index]!.label = undefined
    this.length = 0
  }

  #next(): Place {
    return this.#places[this.length++] ??= new Place()
  }
}

const encodeCopyOf = (place: Place, encoder: WebGpuHandle.CommandEncoder, temporaries: Temporaries): void => {
  const { count, from, to } = place
  const source = place.source as DeviceBuffer
  const target = place.target!
  const here = gpuOf(source)
  const there = gpuOf(target)
  const bytes = roundUp4(count)
  if (here !== there) return encodeCopy(encoder, here, source.origin + from, there, target.origin + to, bytes)
  temporaries.copy(encoder, source, target, [[from, to, bytes]], bytes)
}

const encodeFillOf = ({ count, source, target, to }: Place, encoder: WebGpuHandle.CommandEncoder): void => {
  const pattern = source as Pattern | undefined
  const size = roundUp4(count)
  const [there, from] = [gpuOf(target!), target!.origin + to]
  if (pattern === undefined) {
    encoder.clearBuffer(there, from, size)
    return
  }
  for (let done = 0; done < size; done += pattern.bytes) {
    encodeCopy(encoder, pattern.buffer, 0, there, from + done, Math.min(pattern.bytes, size - done))
  }
}

const labelOf = ({ count, kind, label, range, sourceLabel, targetLabel }: Place): string => {
  const target = { label: targetLabel }
  switch (kind) {
    case "copy":
      return CommandLabel.copy(count, { label: sourceLabel }, target)()
    case "fill":
      return CommandLabel.fill(count, target)()
    case "dispatch":
      return CommandLabel.dispatch(targetLabel!, count, range)()
    case "encoded":
      return label!()
  }
}

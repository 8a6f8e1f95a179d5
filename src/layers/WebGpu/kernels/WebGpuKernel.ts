/**
 * Kernels compiled by a WebGPU device.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as CommandLabel from "../../../domain/arguments/CommandLabel.ts"
import { GpuError, invalidRequest, limitExceeded, make as makeError, Unsupported } from "../../../domain/GpuError.ts"
import * as ImageFormat from "../../../domain/images/ImageFormat.ts"
import * as ImageUsage from "../../../domain/images/ImageUsage.ts"
import type { Kernel, KernelSource } from "../../../domain/kernel/Kernel.ts"
import type { ImageArg } from "../../../domain/kernel/KernelArgument.ts"
import * as SourceExcerpt from "../../../domain/kernel/SourceExcerpt.ts"
import * as SourceNesting from "../../../domain/kernel/SourceNesting.ts"
import { countOf, extentsOf } from "../../../domain/kernel/Workgroup.ts"
import { CompiledKernel } from "../../../services/device/KernelCache.ts"
import type { Dispatch } from "../../../services/device/QueueDriver.ts"
import { command as encoded } from "../commands/EncodedCommand.ts"
import { driverError, inScopes, logOf, type ScopedFailure, thrown } from "../commands/ErrorScopes.ts"
import type { RecordedCommands } from "../commands/RecordedCommands.ts"
import * as WebGpuImageFormat from "../images/WebGpuImageFormat.ts"
import { awaitDevice } from "../opening/AwaitDevice.ts"
import { featureHint, type OpenDevice } from "../opening/OpenDevice.ts"
import type * as WebGpuHandle from "../WebGpuHandle.ts"
import { BindGroups, type Bound } from "./BindGroups.ts"
import { KernelTimestamps } from "./KernelTimestamps.ts"
import * as ReadConflicts from "./ReadConflicts.ts"
import { UniformRing } from "./UniformRing.ts"
import { localBytes, sizeProblem } from "./WgslGroups.ts"
import {
  type Binding,
  generate,
  groupsInTurns,
  maxDispatchItems,
  viewDimension,
  type WgslSource,
  workgroups,
  writeScalars
} from "./WgslSource.ts"

export class WebGpuKernel extends CompiledKernel {
  readonly source: WgslSource
  readonly pipeline: WebGpuHandle.ComputePipeline
  readonly bindGroups: BindGroups
  readonly #opened: OpenDevice
  /** Which vectors are only read. */
  readonly #reads: ReadonlyArray<boolean>
  /** Read once: the driver answers each question for a limit. */
  readonly #largestGrid: number

  constructor(
    kernel: Kernel,
    source: WgslSource,
    pipeline: WebGpuHandle.ComputePipeline,
    bindGroups: BindGroups,
    opened: OpenDevice
  ) {
    super(kernel)
    this.source = source
    this.pipeline = pipeline
    this.bindGroups = bindGroups
    this.#opened = opened
    this.#reads = source.bindings.map((argument) => argument._tag === "VectorArg" && argument.access === "read")
    this.#largestGrid = opened.device.limits.maxComputeWorkgroupsPerDimension
  }

  /** For the scalars of all dispatches on the device. */
  uniformRing(): UniformRing {
    return new UniformRing(this.#opened)
  }

  /** Records a dispatch, or returns why it cannot run. Its scalars are then in the ring. */
  record(dispatch: Dispatch, uniforms: UniformRing, commands: RecordedCommands): GpuError | undefined {
    const { info } = this.#opened
    const unfilterable = filterProblem(this.#opened, this, dispatch)
    if (unfilterable !== undefined) return unfilterable
    const size = extentsOf(this.kernel.workgroupSize)
    const { count, range } = dispatch
    const isLine = range === undefined || (this.kernel.form === "groups" && range[1] === 1 && range[2] === 1)
    const layout = this.source.takesTurns ? groupsInTurns : workgroups
    const groups = isLine ? layout(count, size[0], this.#largestGrid) : countOf(range, size)
    if (groups === undefined) {
      return limitExceeded({
        operation: "CommandQueue.dispatch",
        requested: count,
        limitName: "maxDispatchItems",
        limit: maxDispatchItems(size[0], this.#largestGrid),
        unit: "items",
        owner: { kind: "device", name: info.name }
      })
    }
    const { members, uniformBytes } = this.source
    const uniformOffset = uniforms.add(uniformBytes)
    writeScalars(uniforms.view, uniformOffset, members, dispatch)
    const conflicts = ReadConflicts.of(dispatch.vectors, this.#reads)
    const timestamps = dispatch.timed && KernelTimestamps.of(this.#opened)
    if (conflicts === undefined && timestamps === undefined) {
      commands.dispatch(this, dispatch, groups, uniformOffset)
      return undefined
    }
    // In a pass of its own, where it is timed or reads copies. A device without timestamps times nothing.
    commands.add(encoded(CommandLabel.dispatch(this.kernel.name, count, range), (encoder, { scratch }, uniforms) => {
      // A device that has kernels has loaded it.
      const bound = conflicts ? ReadConflicts.resolved(encoder, dispatch, conflicts, scratch.value!) : dispatch
      const pass = timestamps ? timestamps.begin(encoder, dispatch.timed!) : encoder.beginComputePass()
      pass.setPipeline(this.pipeline)
      this.encode(pass, uniforms!, bound, groups, uniformOffset)
      pass.end()
    }))
    return undefined
  }

  /** Into a pass that has the kernel's pipeline already. */
  encode(
    pass: WebGpuHandle.ComputePassEncoder,
    uniforms: WebGpuHandle.Buffer,
    bound: Bound,
    groups: readonly [x: number, y: number, z?: number],
    uniformOffset: number
  ): void {
    pass.setBindGroup(0, this.bindGroups.get(uniforms, this.source.uniformBytes, bound), [uniformOffset])
    pass.dispatchWorkgroups(...groups)
  }
}

export const compile = (
  kernel: Kernel,
  written: KernelSource,
  opened: OpenDevice
): Effect.Effect<WebGpuKernel, GpuError> =>
  Effect.suspend(() => {
    const refused = imageProblem(kernel, opened)
    if (refused !== undefined) return refused
    const source = generate(kernel, written, opened.info.isCpu === true)
    if (source instanceof GpuError) return source
    return opened.status.error ?? scalarsProblem(kernel, source, opened) ?? localProblem(kernel, opened) ??
      nestingProblem(kernel, source) ?? sizeProblem(kernel, source.code) ??
      compileSource(kernel, source, opened)
  })

const unsupported = (operation: string, feature: string, hint: string): GpuError =>
  makeError(new Unsupported({ operation, backend: "webgpu", feature, hint }))

/** The error where WGSL or the device lacks an image that the kernel takes. */
const imageProblem = (kernel: Kernel, opened: OpenDevice): GpuError | undefined => {
  const { features } = opened.device
  const operation = `KernelCache.get, kernel "${kernel.name}"`
  for (const argument of kernel.args) {
    if (argument._tag !== "ImageArg") continue
    const { access, format, kind, name } = argument
    if (kind === "1dArray") {
      return unsupported(operation, `1dArray images (argument "${name}")`, "Use rows of a 2d image.")
    }
    if (kind === "1dBuffer") {
      return unsupported(operation, `1dBuffer images (argument "${name}")`, "Bind the buffer itself, by a VectorArg.")
    }
    if (access === "read" || format === undefined) continue
    const written = WebGpuImageFormat.supported(features, ImageUsage.storage)
    if (written.some((known) => ImageFormat.equals(known, format))) continue
    return unsupported(
      operation,
      `${ImageFormat.format(format)} images that kernels write (argument "${name}")`,
      featureHint(opened, WebGpuImageFormat.missingFeature(features, format, ImageUsage.storage)) ??
        `Write one of ${written.map(ImageFormat.format).join(", ")}.`
    )
  }
  return undefined
}

/** Images of float32 take part in no bind group with a sampler that may filter, unless the device can filter them. */
const filterProblem = (
  opened: OpenDevice,
  { source }: WebGpuKernel,
  { images }: Dispatch
): GpuError | undefined => {
  if (images.length === 0 || !source.bindings.some(isSampler) || opened.device.features.has("float32-filterable")) {
    return undefined
  }
  const taken = source.bindings.filter((argument) => argument._tag === "ImageArg")
  const at = images.findIndex(({ format }, index) => format.type === "float32" && taken[index]!.access === "read")
  return at === -1 ? undefined : unsupported(
    "CommandQueue.dispatch",
    `a float32 image (argument "${taken[at]!.name}") beside a sampler, without float32-filterable`,
    featureHint(opened, "float32-filterable") ??
      "Use float16 or a normalised format, or load its elements in a kernel without samplers."
  )
}

/** Drivers report a uniform block that is too large only when a dispatch binds it. */
const scalarsProblem = (kernel: Kernel, { uniformBytes }: WgslSource, { device }: OpenDevice): GpuError | undefined => {
  const limit = device.limits.maxUniformBufferBindingSize
  return uniformBytes <= limit ? undefined : limitExceeded({
    operation: `KernelCache.get, kernel "${kernel.name}"`,
    requested: uniformBytes,
    limitName: "maxUniformBufferBindingSize",
    limit,
    owner: { kind: "device" }
  })
}

/** Local memory as WGSL has it: the check for all backends counts the bytes of its elements. */
const localProblem = (kernel: Kernel, { device, info }: OpenDevice): GpuError | undefined => {
  const requested = localBytes(kernel)
  const limit = device.limits.maxComputeWorkgroupStorageSize
  return requested <= limit ? undefined : limitExceeded({
    operation: `KernelCache.get, kernel "${kernel.name}"`,
    requested,
    limitName: "maxLocalBytes",
    limit,
    owner: { kind: "device", name: info.name }
  })
}

/** Mesa's llvmpipe has room for 80 levels and ends the process beyond, at the first dispatch. */
const maxStatements = 64

/** WGSL compilers refuse what is nested too deeply, but not long chains of `else if`, of which each link is a level. */
const nestingProblem = (kernel: Kernel, { code }: WgslSource): GpuError | undefined => {
  const levels = SourceNesting.deepest(code, { bracket: 0, operator: 0, control: 1 })
  return levels <= maxStatements ? undefined : invalidRequest(
    `KernelCache.get, kernel "${kernel.name}"`,
    `the WGSL has ${levels} statements in one another, each link of a chain of else if counted, and ${maxStatements} is the most`,
    "Use a switch, or move inner statements into functions."
  )
}

const compileSource = (
  kernel: Kernel,
  source: WgslSource,
  opened: OpenDevice
): Effect.Effect<WebGpuKernel, GpuError> =>
  awaitDevice({
    status: opened.status,
    call: "GPUDevice.createComputePipelineAsync",
    start: async () => {
      const { device, driverObjects, status } = opened
      const failure = (call: string, failures: ReadonlyArray<ScopedFailure>): GpuError =>
        driverError(call, failures, [`kernel ${kernel.name}`], SourceExcerpt.of(source.code, logOf(failures)))
      let module: WebGpuHandle.ShaderModule | undefined
      let layout: WebGpuHandle.BindGroupLayout | undefined
      let pending: Promise<WebGpuHandle.ComputePipeline | ScopedFailure> | undefined
      const scoped = await inScopes(device, () => {
        module = device.createShaderModule({ label: kernel.name, code: source.code })
        layout = device.createBindGroupLayout({ label: kernel.name, entries: layoutEntries(kernel, source) })
        pending = device.createComputePipelineAsync({
          label: kernel.name,
          layout: device.createPipelineLayout({ bindGroupLayouts: [layout] }),
          compute: { module, entryPoint: source.entryPoint }
        }).catch(thrown)
      })
      const pipeline = await pending
      const log = module === undefined ? [] : await compilerLog(module)
      if (log.length > 0) return Exit.fail(failure("GPUDevice.createShaderModule", log))
      if (scoped.length > 0 || layout === undefined || pipeline === undefined || "codeName" in pipeline) {
        const failures = pipeline !== undefined && "codeName" in pipeline ? [...scoped, pipeline] : scoped
        return Exit.fail(failure("GPUDevice.createComputePipelineAsync", failures))
      }
      if (status.error !== undefined) return Exit.fail(status.error)
      driverObjects.add("kernel")
      return Exit.succeed(
        new WebGpuKernel(kernel, source, pipeline, new BindGroups(device, layout, source.numbers), opened)
      )
    }
  })

type LayoutEntry = Parameters<WebGpuHandle.Device["createBindGroupLayout"]>[0]["entries"] extends
  Iterable<infer Entry> ? Entry
  : never

/** Written out, since the layout that a pipeline infers drops the bindings that a body does not use. */
const layoutEntries = (
  { form }: Kernel,
  { bindings, numbers, uniformBytes }: WgslSource
): Array<LayoutEntry> => {
  const visibility = 0x4
  // With its size the compiler refuses a source whose struct of scalars is larger, not only the dispatch.
  const least = form === "source" ? { minBindingSize: uniformBytes } : {}
  return [
    { binding: 0, visibility, buffer: { type: "uniform", hasDynamicOffset: true, ...least } },
    ...bindings.map((argument, index): LayoutEntry => ({
      binding: numbers[index]!,
      visibility,
      ...layoutOf(argument, bindings.some(isSampler))
    }))
  ]
}

const isSampler = ({ _tag }: Binding): boolean => _tag === "SamplerArg"

/** Without samplers nothing is filtered, and images of any float format will do. */
const layoutOf = (argument: Binding, filtered: boolean): Omit<LayoutEntry, "binding" | "visibility"> => {
  switch (argument._tag) {
    case "VectorArg":
      return { buffer: { type: argument.access === "read" ? "read-only-storage" : "storage" } }
    case "ImageArg":
      return textureLayout(argument, filtered)
    case "SamplerArg":
      return { sampler: { type: "filtering" } }
  }
}

const sampleTypes = { int: "sint", uint: "uint" } as const

const textureLayout = (
  { access, channel, format, kind }: ImageArg,
  filtered: boolean
): Pick<LayoutEntry, "texture" | "storageTexture"> => {
  const gpuFormat = format === undefined ? undefined : WebGpuImageFormat.gpuFormat(format)
  if (access === "write" && gpuFormat !== undefined) {
    return { storageTexture: { access: "write-only", format: gpuFormat, viewDimension: viewDimension(kind) } }
  }
  const sampleType = channel !== "float" ? sampleTypes[channel] : filtered ? "float" : "unfilterable-float"
  return { texture: { sampleType, viewDimension: viewDimension(kind) } }
}

/** The compiler's errors, each with the line of the generated source that it is about. */
const compilerLog = async (module: WebGpuHandle.ShaderModule): Promise<ReadonlyArray<ScopedFailure>> => {
  const { messages } = await module.getCompilationInfo()
  return messages.filter(({ type }) => type === "error").map(({ lineNum, linePos, message }) => ({
    codeName: "GPUValidationError",
    message: `${lineNum}:${linePos} error: ${message}`
  }))
}

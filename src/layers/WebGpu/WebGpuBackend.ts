/**
 * The adapters of Dawn, or of the runtime's own WebGPU, in the list of devices. WebGPU cannot list adapters, only
 * request one. So this requests the fast, the frugal and the software adapter, and leaves out duplicates.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { messageOf } from "../../domain/arguments/Format.ts"
import type { DriverFacts } from "../../domain/device/DriverFacts.ts"
import { absentDevice } from "../../domain/selection/AbsentDevice.ts"
import type { ListedDevice } from "../../domain/selection/ListedDevice.ts"
import type { Backend } from "../../services/backend/Backend.ts"
import { sameDevice } from "../../services/backend/SameDevice.ts"
import { browserGpu, processGpu } from "./opening/NodeGpu.ts"
import { nameOf } from "./opening/OpenDevice.ts"
import * as WebGpu from "./WebGpu.ts"
import type * as WebGpuApi from "./WebGpuApi.ts"
import type * as WebGpuHandle from "./WebGpuHandle.ts"

type Request = Parameters<WebGpuApi.Gpu["requestAdapter"]>[0]

const requests: ReadonlyArray<Request> = [
  { powerPreference: "high-performance" },
  { powerPreference: "low-power" },
  { forceFallbackAdapter: true }
]

/** The request that an entry of the list answered. */
const requestOf = new WeakMap<ListedDevice, Request>()

/** The source of the adapters: npm `webgpu`, or the runtime itself, as Deno. */
const platform = () => ({ index: 0, name: browserGpu() === undefined ? "Dawn" : "navigator.gpu", vendor: "" })

export const webGpuBackend: Backend = {
  name: "webgpu",
  list: Effect.flatMap(processGpu([]), (gpu) =>
    Effect.map(
      Effect.forEach(requests, (request) => Effect.map(adapterFor(gpu, request), (info) => ({ request, info }))),
      (answers) => {
        const listed = distinct(answers).map(({ info, request }, index) => listedOf(info, index, request))
        return listed.length === 0 ? [noAdapter(answers)] : listed
      }
    )),
  rank: ({ type }) => type === "cpu" ? 3 : 0,
  open: (listed, options) => sameDevice(listed, WebGpu.layer({ ...requestOf.get(listed), ...options })),
  facts: Effect.map(
    Effect.serviceOption(WebGpu.WebGpu),
    Option.match({ onNone: () => ({}), onSome: ({ adapter, device }) => factsOf(adapter, device) })
  )
}

const factsOf = (adapter: WebGpuHandle.Adapter | undefined, device: WebGpuHandle.Device): DriverFacts => {
  const { architecture, description, subgroupMaxSize, subgroupMinSize, vendor } = adapter?.info ?? device.adapterInfo ??
    noInfo
  return {
    vendor: vendor ?? null,
    architecture: architecture ?? null,
    description: description ?? null,
    leastSubgroupSize: subgroupMinSize ?? null,
    mostSubgroupSize: subgroupMaxSize ?? null,
    features: namesOf(adapter?.features ?? device.features),
    featuresInUse: namesOf(device.features),
    limits: limitsOf(device.limits)
  }
}

const noInfo: Partial<WebGpuApi.AdapterInfo> & { readonly vendor: string; readonly architecture: string } = {
  vendor: "",
  architecture: ""
}

/** Every runtime has a set of names, though `WebGpuApi.Features` declares no iterator. */
const namesOf = (features: WebGpuApi.Features): ReadonlyArray<string> =>
  Symbol.iterator in features ? Array.from(features as Iterable<string>).sort() : []

/** All limits, also those that the library does not use. `for in`, because they are getters of the object's class. */
const limitsOf = (limits: WebGpuApi.Limits): { readonly [name: string]: number } => {
  const found: { [name: string]: number } = {}
  for (const name in limits) {
    const value: unknown = limits[name as keyof WebGpuApi.Limits]
    if (typeof value === "number") found[name] = value
  }
  return found
}

interface Answer {
  readonly request: Request
  /** The reason, as a text, where there is none. */
  readonly info: WebGpuHandle.AdapterInfo | string
}

interface Found extends Answer {
  readonly info: WebGpuHandle.AdapterInfo
}

const adapterFor = (gpu: WebGpuHandle.Gpu, request: Request): Effect.Effect<WebGpuHandle.AdapterInfo | string> =>
  Effect.promise(() =>
    gpu.requestAdapter(request).then(
      (adapter) => adapter?.info ?? "requestAdapter found none that fits",
      (cause: unknown) => messageOf(cause)
    )
  )

const isFound = (answer: Answer): answer is Found => typeof answer.info !== "string"

const distinct = (answers: ReadonlyArray<Answer>): ReadonlyArray<Found> => {
  const found = answers.filter(isFound)
  return found.filter(({ info }, at) => found.findIndex((other) => identity(other.info) === identity(info)) === at)
}

const identity = ({ architecture, description, device, isFallbackAdapter, vendor }: WebGpuHandle.AdapterInfo): string =>
  JSON.stringify([vendor, architecture, device, description, isFallbackAdapter])

const listedOf = (info: WebGpuHandle.AdapterInfo, index: number, request: Request): ListedDevice => {
  const listed: ListedDevice = {
    backend: "webgpu",
    platform: platform(),
    device: { index, name: nameOf(info), vendor: info.vendor },
    type: info.isFallbackAdapter ? "cpu" : "gpu",
    driver: info.description,
    memoryBytes: undefined,
    unusable: undefined
  }
  requestOf.set(listed, request)
  return listed
}

const noAdapter = (answers: ReadonlyArray<Answer>): ListedDevice =>
  absentDevice("webgpu", platform(), [...new Set(answers.map(({ info }) => String(info)))].join("; "))

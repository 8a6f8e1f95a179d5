/**
 * Managers of buffers on a device: the real classes of other libraries, what people write by themselves, the calls of WebGPU alone, and
 * the pools of this library. Each plays the same requests.
 */
import { install } from "@effect-gpu-pool/interop/install"
import { Context, Effect, Layer, Schema, type Scope } from "effect"
import { BufferPool, type GpuError, Lease } from "effect-gpu-pool"
import { WebGpu } from "effect-gpu-pool/webgpu"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import type { Tensor as OnnxTensor } from "onnxruntime-web"
import { encode } from "../../packages/interop/test/workloads/OnnxModel.ts"
import type { Step } from "../Traces.ts"
import { NaiveMap } from "./NaiveMap.ts"
import * as Requests from "./Requests.ts"

export const Name = Schema.Literals([
  "createBuffer and destroy",
  "a map of free buffers by size",
  "TensorFlow.js, BufferManager",
  "jax-js, WebGPUBackend",
  "onnxruntime-web, a run of one node",
  "ours, install",
  "ours, BufferPool"
])

export type Name = typeof Name.Type

/** Whether more than the manager is in its time. */
export const isRun = (name: Name): boolean => name === "onnxruntime-web, a run of one node"

/** Goes on with what it has in its slots after the steps before. */
export type Play = (steps: ReadonlyArray<Step>) => Effect.Effect<void, GpuError.GpuError, Scope.Scope>

/** STORAGE, COPY_SRC and COPY_DST: what the libraries ask for, and what our pool's default is. */
export const usage = 0x80 | 0x04 | 0x08

/** A manager whose calls are plain functions. */
const plain = <A>(acquire: (size: number) => A, release: (taken: A) => void): Play => {
  const slots = new Map<number, A>()
  return (steps) =>
    Effect.sync(() => {
      for (const { size, slot } of steps) {
        const old = slots.get(slot)
        if (old !== undefined) release(old)
        if (size > 0) slots.set(slot, acquire(size))
        else slots.delete(slot)
      }
    })
}

export const raw = (device: GPUDevice): Play =>
  plain((size) => device.createBuffer({ size, usage }), (buffer) => buffer.destroy())

const naive = (device: GPUDevice): Play => {
  const map = new NaiveMap(device, usage)
  return plain((size) => map.take(size), (buffer) => map.give(buffer))
}

const tensorflow = async (device: GPUDevice): Promise<Play> => {
  const { WebGPUBackend } = await import("@tensorflow/tfjs-backend-webgpu")
  const { bufferManager } = new WebGPUBackend(device)
  return plain((size) => bufferManager.acquireBuffer(size, usage), (buffer) => bufferManager.releaseBuffer(buffer))
}

/** What jax-js has of each device: a number stands for a buffer. */
interface JaxBackend {
  readonly malloc: (size: number) => number
  readonly decRef: (slot: number) => void
}

/** The module beside its entry that makes the devices has no name of its own: what the entry imports from says it. */
const jaxBackend = async (): Promise<JaxBackend> => {
  const entry = import.meta.resolve("@jax-js/jax")
  const inside = /from "(\.\/backend-[^"]+)"/.exec(readFileSync(fileURLToPath(entry), "utf8"))?.[1]
  if (inside === undefined) throw new Error("the entry of jax-js imports no module of backends")
  const parts = Object.values(await import(new URL(inside, entry).href) as Record<string, unknown>)
  const getBackend = parts.find((part) => typeof part === "function" && part.name === "getBackend")
  if (getBackend === undefined) throw new Error("jax-js has no getBackend")
  return (getBackend as (name: "webgpu") => JaxBackend)("webgpu")
}

/** It takes the device that `navigator.gpu` gives. */
const jax = async (): Promise<Play> => {
  const { init } = await import("@jax-js/jax")
  await init("webgpu")
  const backend = await jaxBackend()
  return plain((size) => backend.malloc(size), (slot) => backend.decRef(slot))
}

/**
 * Its manager is inside of its WebAssembly: the smallest thing that takes a buffer from it is a run, whose output stays on the device. The
 * input is the same buffer in each of them.
 */
const onnx = async (device: GPUDevice): Promise<Play> => {
  const { InferenceSession, Tensor } = await import("onnxruntime-web/webgpu")
  const dims = ["n"]
  const model = encode({
    inputs: [{ name: "x", dims }],
    outputs: [{ name: "y", dims }],
    weights: [],
    nodes: [{ operator: "Neg", inputs: ["x"], outputs: ["y"] }]
  })
  const session = await InferenceSession.create(model, {
    executionProviders: [{ name: "webgpu", device }],
    preferredOutputLocation: "gpu-buffer"
  })
  const input = device.createBuffer({ size: Requests.mostBytes, usage })
  const outputs = new Map<number, OnnxTensor>()
  return Effect.fnUntraced(function*(steps) {
    for (const { size, slot } of steps) {
      outputs.get(slot)?.dispose()
      outputs.delete(slot)
      if (size === 0) continue
      const x = Tensor.fromGpuBuffer(input, { dataType: "float32", dims: [size / 4] })
      const { y } = yield* Effect.promise(() => session.run({ x }))
      outputs.set(slot, y!)
    }
  })
}

const pool = Effect.fnUntraced(function*(device: GPUDevice) {
  const layer = BufferPool.layer().pipe(Layer.provide(WebGpu.layerFromDevice(device)))
  const pool = Context.get(yield* Layer.build(layer), BufferPool.BufferPool)
  const slots = new Map<number, BufferPool.PooledBuffer>()
  return Effect.fnUntraced(function*(steps: ReadonlyArray<Step>) {
    for (const { size, slot } of steps) {
      const old = slots.get(slot)
      if (old !== undefined) yield* Lease.release(old)
      if (size > 0) slots.set(slot, yield* pool.allocate(size))
      else slots.delete(slot)
    }
  })
})

const installed = (device: GPUDevice): Play => {
  install(device)
  return raw(device)
}

const opened: { readonly [N in Name]: (device: GPUDevice) => Effect.Effect<Play, GpuError.GpuError, Scope.Scope> } = {
  "createBuffer and destroy": (device) => Effect.sync(() => raw(device)),
  "a map of free buffers by size": (device) => Effect.sync(() => naive(device)),
  "TensorFlow.js, BufferManager": (device) => Effect.promise(() => tensorflow(device)),
  "jax-js, WebGPUBackend": () => Effect.promise(jax),
  "onnxruntime-web, a run of one node": (device) => Effect.promise(() => onnx(device)),
  "ours, install": (device) => Effect.sync(() => installed(device)),
  "ours, BufferPool": pool
}

/** A manager on a device, until the scope closes. */
export const open = (name: Name, device: GPUDevice): Effect.Effect<Play, GpuError.GpuError, Scope.Scope> =>
  opened[name](device)

/** onnxruntime-web on a device, and models of attention for it. */
import type { Tensor } from "onnxruntime-web"
import type { Model, Node, Weights } from "./OnnxModel.ts"
import { random, randomValues } from "./Random.ts"
import type { Course } from "./Workload.ts"

/** A library that keeps what it has freed, as this one does by itself, leaves a pool nothing to lend. */
export const openSession = async (device: GPUDevice, model: Uint8Array, { keeps }: Course) => {
  const ort = await import("onnxruntime-web/webgpu")
  const session = await ort.InferenceSession.create(model, {
    executionProviders: [{
      name: "webgpu",
      device,
      ...keeps === true ? {} : { storageBufferCacheMode: "lazyRelease" }
    }],
    preferredOutputLocation: "gpu-buffer"
  })
  return { ort, session }
}

export const width = 64

/**
 * Layers of attention. With a cache each of them takes the keys and the values of earlier tokens, and returns them with those of the
 * new token.
 */
export const attention = (layers: number, withCache: boolean): Model => {
  const next = random(3)
  const weights: Array<Weights> = []
  const nodes: Array<Node> = []
  const weight = (name: string): string => {
    weights.push({ name, dims: [width, width], values: randomValues(width * width, next, 1 / Math.sqrt(width)) })
    return name
  }
  const add = (
    operator: string,
    inputs: ReadonlyArray<string>,
    output: string,
    attributes: Node["attributes"] = {}
  ) => {
    nodes.push({ operator, inputs, outputs: [output], attributes })
    return output
  }
  let x = "x"
  for (let layer = 0; layer < layers; layer++) {
    const [query, key, value] = ["query", "key", "value"].map((part) =>
      add("MatMul", [x, weight(`${part}_weight${layer}`)], `${part}${layer}`)
    )
    const all = (part: string, fresh: string) =>
      withCache ? add("Concat", [`past_${part}${layer}`, fresh], `present_${part}${layer}`, { axis: 0 }) : fresh
    const [keys, values] = [all("key", key!), all("value", value!)]
    const turned = add("Transpose", [keys], `turned${layer}`, { perm: [1, 0] })
    const scores = add("Softmax", [add("MatMul", [query!, turned], `scores${layer}`)], `shares${layer}`, { axis: 1 })
    x = add("Add", [x, add("MatMul", [scores, values], `mixed${layer}`)], layer === layers - 1 ? "y" : `x${layer}`)
  }
  const caches = (time: string, length: string) =>
    withCache
      ? Array.from({ length: layers }, (_, layer) =>
        ["key", "value"].map((part) => ({ name: `${time}_${part}${layer}`, dims: [length, width] }))).flat()
      : []
  const rows = withCache ? 1 : "tokens"
  return {
    inputs: [{ name: "x", dims: [rows, width] }, ...caches("past", "past")],
    outputs: [{ name: "y", dims: [rows, width] }, ...caches("present", "present")],
    weights,
    nodes
  }
}

export const read = async (tensor: Tensor): Promise<Float32Array> => {
  const values = Float32Array.from(await tensor.getData() as Float32Array)
  tensor.dispose()
  return values
}

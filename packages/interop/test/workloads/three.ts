/** three.js: a new mesh each frame, in a target that is read back. */
import * as three from "three/webgpu"
import type { Workload } from "./Workload.ts"

const side = 64

/** What a renderer asks of a canvas that is never shown: it draws to targets. */
const canvasOf = (device: GPUDevice): Pick<three.WebGPURendererParameters, "canvas" | "context"> => {
  const shown = device.createTexture({ size: [side, side], format: "bgra8unorm", usage: 0x10 })
  const canvas: unknown = { width: side, height: side, style: {}, addEventListener: () => {}, setAttribute: () => {} }
  const context: unknown = { canvas, configure: () => {}, getCurrentTexture: () => shown }
  return { canvas: canvas as HTMLCanvasElement, context: context as GPUCanvasContext }
}

/** Node has neither; the renderer starts a loop, which draws nothing here. */
const provideFrames = (): void => {
  if (typeof globalThis.requestAnimationFrame === "function") return
  Object.assign(globalThis, { self: globalThis, requestAnimationFrame: () => 0, cancelAnimationFrame: () => {} })
}

export const framesOf = (count: number): Workload => async (device) => {
  provideFrames()
  const renderer = new three.WebGPURenderer({ device, ...canvasOf(device), antialias: false })
  await renderer.init()
  const target = new three.RenderTarget(side, side)
  const camera = new three.PerspectiveCamera(50, 1, 0.1, 10)
  camera.position.z = 2
  const scene = new three.Scene()
  const results: Array<ArrayBufferView> = []
  for (let frame = 0; frame < count; frame++) {
    const geometry = new three.TorusKnotGeometry(0.4, 0.15, 32 + frame, 8)
    const mesh = new three.Mesh(geometry, new three.MeshNormalMaterial())
    mesh.rotation.y = frame / 7
    scene.add(mesh)
    renderer.setRenderTarget(target)
    renderer.render(scene, camera)
    results.push(await renderer.readRenderTargetPixelsAsync(target, 0, 0, side, side))
    scene.remove(mesh)
    geometry.dispose()
    mesh.material.dispose()
  }
  return results
}

export const workload = framesOf(30)

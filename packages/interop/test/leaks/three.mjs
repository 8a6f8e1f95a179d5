/** A mesh of each frame is removed from the scene, and its geometry and material are not disposed. */
import { provideGpu } from "./gpu.mjs"

const gpu = provideGpu()
Object.assign(globalThis, { self: globalThis, requestAnimationFrame: () => 0, cancelAnimationFrame: () => {} })
const three = await import("three/webgpu")
const adapter = await gpu.requestAdapter()
const device = await adapter.requestDevice()

const shown = device.createTexture({ size: [64, 64], format: "bgra8unorm", usage: GPUTextureUsage.RENDER_ATTACHMENT })
const canvas = { width: 64, height: 64, style: {}, addEventListener: () => {}, setAttribute: () => {} }
const context = { canvas, configure: () => {}, getCurrentTexture: () => shown }
const renderer = new three.WebGPURenderer({ device, canvas, context, antialias: false })
await renderer.init()
const scene = new three.Scene()
const camera = new three.PerspectiveCamera(50, 1, 0.1, 10)
camera.position.z = 2

const draw = () => {
  const mesh = new three.Mesh(new three.BoxGeometry(1, 1, 1), new three.MeshBasicMaterial())
  scene.add(mesh)
  renderer.render(scene, camera) // leaks
  scene.remove(mesh)
}

for (let frame = 0; frame < 5; frame++) draw()
process.exit(0)

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

/** A scene on a device, and what its camera sees. */
export class Stage {
  readonly scene = new three.Scene()
  readonly #camera = new three.PerspectiveCamera(50, 1, 0.1, 10)
  readonly #target = new three.RenderTarget(side, side)
  readonly #renderer: three.WebGPURenderer

  private constructor(renderer: three.WebGPURenderer) {
    this.#renderer = renderer
    this.#camera.position.z = 2
    renderer.setRenderTarget(this.#target)
  }

  static async open(device: GPUDevice): Promise<Stage> {
    provideFrames()
    const renderer = new three.WebGPURenderer({ device, ...canvasOf(device), antialias: false })
    await renderer.init()
    return new Stage(renderer)
  }

  /** Adds a knot of so many segments; what it returns removes it. */
  add(segments: number, turn: number): () => void {
    const geometry = new three.TorusKnotGeometry(0.4, 0.15, segments, 8)
    const mesh = new three.Mesh(geometry, new three.MeshNormalMaterial())
    mesh.rotation.y = turn
    this.scene.add(mesh)
    return () => {
      this.scene.remove(mesh)
      geometry.dispose()
      mesh.material.dispose()
    }
  }

  /** Draws a frame, and reads it back. */
  async draw(): Promise<ArrayBufferView> {
    this.#renderer.render(this.scene, this.#camera)
    return this.#renderer.readRenderTargetPixelsAsync(this.#target, 0, 0, side, side)
  }
}

export const framesOf = (count: number): Workload => async (device) => {
  const stage = await Stage.open(device)
  const results: Array<ArrayBufferView> = []
  for (let frame = 0; frame < count; frame++) {
    const remove = stage.add(32 + frame, frame / 7)
    results.push(await stage.draw())
    remove()
  }
  return results
}

export const workload = framesOf(30)

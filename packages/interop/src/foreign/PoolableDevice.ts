/**
 * The device of other code.
 *
 * @since 0.1.0
 */
/**
 * A GPUDevice, of any browser or of npm `webgpu`, under any declarations of WebGPU.
 *
 * @category models
 * @since 0.1.0
 */
export interface PoolableDevice {
  readonly lost: Promise<{ readonly reason: string; readonly message: string }>
  readonly limits: { readonly maxBufferSize: number }
  readonly queue: { submit(commandBuffers: never): unknown }
  createBuffer(descriptor: never): { destroy(): unknown }
  destroy(): unknown
}

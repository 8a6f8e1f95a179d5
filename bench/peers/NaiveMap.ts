/** The pool that people write by themselves: the free buffers of each size. */
export class NaiveMap {
  readonly #device: GPUDevice
  readonly #usage: number
  readonly #free = new Map<number, Array<GPUBuffer>>()

  constructor(device: GPUDevice, usage: number) {
    this.#device = device
    this.#usage = usage
  }

  take(size: number): GPUBuffer {
    return this.#free.get(size)?.pop() ?? this.#device.createBuffer({ size, usage: this.#usage })
  }

  give(buffer: GPUBuffer): void {
    const free = this.#free.get(buffer.size)
    if (free === undefined) this.#free.set(buffer.size, [buffer])
    else free.push(buffer)
  }
}

/** A device without a driver, as observations know it; its objects' methods are those of their classes, as WebGPU's are. */
export class FakeBuffer {
  label: string
  readonly size: number
  readonly usage: number
  isDestroyed = false

  constructor({ label = "", size, usage }: BufferDescriptor) {
    this.label = label
    this.size = size
    this.usage = usage
  }

  destroy(): void {
    this.isDestroyed = true
  }
}

export interface BufferDescriptor {
  readonly label?: string
  readonly size: number
  readonly usage: number
}

export class FakeDevice {
  label: string
  lose!: (info: { readonly reason: string; readonly message: string }) => void
  readonly lost = new Promise<{ readonly reason: string; readonly message: string }>((resolve) => this.lose = resolve)

  constructor(label = "fake") {
    this.label = label
  }

  createBuffer(descriptor: BufferDescriptor): FakeBuffer {
    if (descriptor.size < 0) throw new TypeError("size")
    return new FakeBuffer(descriptor)
  }

  createTexture(descriptor: BufferDescriptor): FakeBuffer {
    return new FakeBuffer(descriptor)
  }

  destroy(): void {
    this.lose({ reason: "destroyed", message: "" })
  }
}

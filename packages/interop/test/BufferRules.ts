/**
 * What WebGPU says about buffers, as functions of a device. They throw where the device does something else.
 *
 * @see https://www.w3.org/TR/webgpu/#buffers
 */

export interface Rule {
  readonly name: string
  readonly check: (device: GPUDevice) => Promise<void>
}

/** No block size of the default policy, so that a block of a pool has more bytes than the buffer. */
export const oddSize = 1044

const usages = {
  mapRead: 1,
  mapWrite: 2,
  from: 4,
  to: 8,
  index: 0x10,
  vertex: 0x20,
  uniform: 0x40,
  storage: 0x80,
  indirect: 0x100
}
const plain = usages.storage | usages.from | usages.to
const readable = usages.mapRead | usages.to

const expect = (what: string, found: unknown, wanted: unknown): void => {
  const [one, other] = [JSON.stringify(found), JSON.stringify(wanted)]
  if (one !== other) throw new Error(`${what} is ${one}, not ${other}`)
}

const nameOf = (error: unknown): string => error instanceof Error ? error.name : String(error)

const thrown = (act: () => unknown): string => {
  try {
    act()
    return "nothing"
  } catch (error) {
    return nameOf(error)
  }
}

const rejected = (promise: Promise<unknown>): Promise<string> => promise.then(() => "nothing", nameOf)

/** Whether what happens makes an error of this kind in a scope. */
export const fails = async (
  device: GPUDevice,
  act: () => unknown,
  filter: GPUErrorFilter = "validation"
): Promise<boolean> => {
  device.pushErrorScope(filter)
  await act()
  return await device.popErrorScope() !== null
}

const expectFailure = async (device: GPUDevice, what: string, act: () => unknown): Promise<void> =>
  expect(`whether ${what} fails`, await fails(device, act), true)

const expectSuccess = async (device: GPUDevice, what: string, act: () => unknown): Promise<void> =>
  expect(`whether ${what} fails`, await fails(device, act), false)

const make = (device: GPUDevice, usage = plain, size = oddSize): GPUBuffer => device.createBuffer({ size, usage })

/** Encodes and submits. */
const run = (device: GPUDevice, encode: (encoder: GPUCommandEncoder) => void): void => {
  const encoder = device.createCommandEncoder()
  encode(encoder)
  device.queue.submit([encoder.finish()])
}

/** The bytes of a buffer, by a copy. */
export const bytesOf = async (device: GPUDevice, buffer: GPUBuffer): Promise<Uint8Array> => {
  const target = make(device, readable, buffer.size)
  run(device, (encoder) => encoder.copyBufferToBuffer(buffer, 0, target, 0, buffer.size))
  await target.mapAsync(1)
  const bytes = new Uint8Array(target.getMappedRange().slice(0))
  target.destroy()
  return bytes
}

const sumOf = (bytes: Uint8Array): number => bytes.reduce((sum, byte) => sum + byte, 0)

const ones = (size: number): Uint8Array<ArrayBuffer> => new Uint8Array(size).fill(1)

/** The zeros of rules that something else must not have changed. */
const untouched = async (device: GPUDevice, buffer: GPUBuffer): Promise<void> =>
  expect("the sum of the bytes", sumOf(await bytesOf(device, buffer)), 0)

const attributes: ReadonlyArray<Rule> = [
  {
    name: "a buffer has the size, usage, label and state that were asked for",
    check: async (device) => {
      const buffer = device.createBuffer({ size: oddSize, usage: plain, label: "weights" })
      expect("its attributes", [buffer.size, buffer.usage, buffer.label, buffer.mapState], [
        oddSize,
        plain,
        "weights",
        "unmapped"
      ])
      expect("the label without one", make(device).label, "")
      buffer.label = "renamed"
      expect("its label", buffer.label, "renamed")
      buffer.destroy()
      expect("its size after its end", [buffer.size, buffer.usage, buffer.mapState], [oddSize, plain, "unmapped"])
    }
  },
  {
    name: "usages that WebGPU has not, or not together, make an error",
    check: async (device) => {
      for (const usage of [0, 1 << 20, usages.mapRead | usages.storage, usages.mapWrite | usages.to]) {
        await expectFailure(device, `usage ${usage}`, () => make(device, usage))
      }
    }
  },
  {
    name: "a buffer above the limit makes a validation error, and its uses too",
    check: async (device) => {
      const size = device.limits.maxBufferSize + 4
      let buffer: GPUBuffer | undefined
      await expectFailure(device, "its creation", () => buffer = make(device, plain, size))
      expect("its size", buffer!.size, size)
      await expectFailure(device, "a write", () => device.queue.writeBuffer(buffer!, 0, ones(4)))
    }
  },
  {
    name: "an empty buffer, and one of no whole words, are buffers",
    check: async (device) => {
      for (const size of [0, 7]) {
        let buffer: GPUBuffer | undefined
        await expectSuccess(device, `size ${size}`, () => buffer = make(device, plain, size))
        expect("its size", buffer!.size, size)
        buffer!.destroy()
      }
    }
  },
  {
    name: "what is no descriptor is thrown at once",
    check: async (device) => {
      // @ts-expect-error What a program in JavaScript may do.
      expect("the error", thrown(() => device.createBuffer({ usage: plain })), "TypeError")
    }
  }
]

const zeros: ReadonlyArray<Rule> = [
  {
    name: "a buffer is zero, whoever had its memory before",
    check: async (device) => {
      for (const usage of [plain, plain | usages.uniform, plain | usages.vertex | usages.index]) {
        const before = make(device, usage)
        device.queue.writeBuffer(before, 0, ones(oddSize))
        before.destroy()
        const buffer = make(device, usage)
        await untouched(device, buffer)
        buffer.destroy()
      }
    }
  },
  {
    name: "a buffer that is read without any command is zero",
    check: async (device) => {
      const before = make(device, readable)
      device.queue.writeBuffer(before, 0, ones(oddSize))
      await before.mapAsync(1)
      before.destroy()
      const buffer = make(device, readable)
      await buffer.mapAsync(1)
      expect("the sum of its bytes", sumOf(new Uint8Array(buffer.getMappedRange())), 0)
      expect("its range", buffer.mapState, "mapped")
      buffer.destroy()
    }
  },
  {
    name: "what a write leaves out is zero",
    check: async (device) => {
      const before = make(device)
      device.queue.writeBuffer(before, 0, ones(oddSize))
      before.destroy()
      const buffer = make(device)
      device.queue.writeBuffer(buffer, 8, ones(16))
      const bytes = await bytesOf(device, buffer)
      expect("the sum of the bytes", [sumOf(bytes), bytes[7], bytes[8]], [16, 0, 1])
      buffer.destroy()
    }
  },
  {
    name: "zeros come before commands of a submit, and a refused submit does not take them away",
    check: async (device) => {
      const before = make(device)
      device.queue.writeBuffer(before, 0, ones(oddSize))
      before.destroy()
      const buffer = make(device)
      const gone = make(device, plain, 256)
      gone.destroy()
      await expectFailure(
        device,
        "a submit of a destroyed buffer",
        () => run(device, (encoder) => encoder.clearBuffer(gone))
      )
      await untouched(device, buffer)
      buffer.destroy()
    }
  }
]

const mapping: ReadonlyArray<Rule> = [
  {
    name: "a buffer that is mapped at creation is zero, and has what was written into it",
    check: async (device) => {
      const buffer = device.createBuffer({ size: oddSize, usage: plain, mappedAtCreation: true })
      expect("its state", buffer.mapState, "mapped")
      const range = buffer.getMappedRange()
      expect("its bytes", [range.byteLength, sumOf(new Uint8Array(range))], [oddSize, 0])
      new Uint8Array(range).fill(1)
      await expectFailure(device, "a write before", () => device.queue.writeBuffer(buffer, 0, ones(4)))
      buffer.unmap()
      expect("its state and its range", [buffer.mapState, range.byteLength], ["unmapped", 0])
      expect("its bytes", sumOf(await bytesOf(device, buffer)), oddSize)
      expect(
        "the error of a size of no whole words",
        thrown(() => device.createBuffer({ size: 7, usage: plain, mappedAtCreation: true })),
        "RangeError"
      )
      buffer.destroy()
    }
  },
  {
    name: "a mapping gives the bytes, in the ranges that it has",
    check: async (device) => {
      const buffer = make(device, readable)
      device.queue.writeBuffer(buffer, 0, ones(oddSize))
      const mapped = buffer.mapAsync(1)
      expect("its state", buffer.mapState, "pending")
      await mapped
      const whole = buffer.getMappedRange()
      expect("its bytes", sumOf(new Uint8Array(whole)), oddSize)
      expect("the error of a second range over it", thrown(() => buffer.getMappedRange(8, 8)), "OperationError")
      buffer.unmap()
      expect("the range after", whole.byteLength, 0)
      await buffer.mapAsync(1, 16, 64)
      expect("a range in it", buffer.getMappedRange(16, 32).byteLength, 32)
      expect("the error of a range before it", thrown(() => buffer.getMappedRange(8, 8)), "OperationError")
      expect("the error of a range behind it", thrown(() => buffer.getMappedRange(72, 16)), "OperationError")
      buffer.unmap()
      await buffer.mapAsync(1, 1024)
      expect("the rest", buffer.getMappedRange(1024).byteLength, oddSize - 1024)
      buffer.destroy()
    }
  },
  {
    name: "a mapping behind the end, in another mode or twice is refused",
    check: async (device) => {
      const buffer = make(device, readable)
      const range = [[8, oddSize], [1040, 8], [oddSize + 4, 0], [4, 8]] as const
      for (const [offset, size] of range) {
        await expectFailure(
          device,
          `a mapping of ${size} B from ${offset}`,
          async () => expect("the error", await rejected(buffer.mapAsync(1, offset, size)), "OperationError")
        )
      }
      await expectFailure(
        device,
        "a mapping to write",
        async () => expect("the error", await rejected(buffer.mapAsync(2)), "OperationError")
      )
      const first = buffer.mapAsync(1)
      expect("the error of a second", await rejected(buffer.mapAsync(1)), "OperationError")
      await first
      buffer.destroy()
    }
  },
  {
    name: "unmapping and destroying end a mapping, pending or not",
    check: async (device) => {
      for (const end of ["unmap", "destroy"] as const) {
        const buffer = make(device, readable)
        const pending = rejected(buffer.mapAsync(1))
        buffer[end]()
        expect(`the error of ${end}`, await pending, "AbortError")
        expect("its state", buffer.mapState, "unmapped")
        const other = make(device, readable)
        await other.mapAsync(1)
        const range = other.getMappedRange()
        other[end]()
        expect("its state and its range", [other.mapState, range.byteLength], ["unmapped", 0])
        buffer.destroy()
        other.destroy()
      }
    }
  },
  {
    name: "a mapped buffer is refused by the queue",
    check: async (device) => {
      const buffer = make(device, readable)
      await buffer.mapAsync(1)
      await expectFailure(device, "a write", () => device.queue.writeBuffer(buffer, 0, ones(oddSize)))
      await expectFailure(device, "a submit", () => run(device, (encoder) => encoder.clearBuffer(buffer)))
      buffer.unmap()
      await untouched(device, make(device))
      await expectSuccess(device, "a write after", () => device.queue.writeBuffer(buffer, 0, ones(4)))
      buffer.destroy()
    }
  }
]

/** Uses that lie behind the end of a buffer by few bytes. */
const ranges: ReadonlyArray<Rule> = [
  {
    name: "a write behind the end is refused, and changes nothing",
    check: async (device) => {
      const buffer = make(device)
      await expectFailure(device, "a write over the end", () => device.queue.writeBuffer(buffer, 4, ones(oddSize)))
      await expectFailure(device, "a write at the end", () => device.queue.writeBuffer(buffer, oddSize, ones(4)))
      await expectFailure(
        device,
        "words over the end",
        () => device.queue.writeBuffer(buffer, oddSize - 4, new Float32Array(8), 2, 2)
      )
      await expectSuccess(
        device,
        "the last word",
        () => device.queue.writeBuffer(buffer, oddSize - 4, new Float32Array(8), 2, 1)
      )
      await untouched(device, buffer)
      expect("the error of a byte", thrown(() => device.queue.writeBuffer(buffer, 0, ones(1))), "OperationError")
      buffer.destroy()
    }
  },
  {
    name: "what has no usage as a target is refused",
    check: async (device) => {
      const buffer = make(device, usages.storage | usages.from)
      await expectFailure(device, "a write", () => device.queue.writeBuffer(buffer, 0, ones(4)))
      await expectFailure(device, "a clear", () => run(device, (encoder) => encoder.clearBuffer(buffer)))
      buffer.destroy()
    }
  },
  {
    name: "clears and copies reach to the end, and not behind it",
    check: async (device) => {
      const [one, other] = [make(device), make(device, plain, 2 * oddSize)]
      const encoded = (encode: (encoder: GPUCommandEncoder) => void) => () => {
        const encoder = device.createCommandEncoder()
        encode(encoder)
        return encoder.finish()
      }
      const wrong: ReadonlyArray<(encoder: GPUCommandEncoder) => void> = [
        (encoder) => encoder.clearBuffer(one, 4, oddSize),
        (encoder) => encoder.clearBuffer(one, oddSize + 4),
        (encoder) => encoder.copyBufferToBuffer(one, 4, other, 0, oddSize),
        (encoder) => encoder.copyBufferToBuffer(other, 0, one, 4, oddSize),
        (encoder) => encoder.copyBufferToBuffer(other, 0, one, 0, 2 * oddSize),
        (encoder) => encoder.copyBufferToBuffer(one, 0, one, 512, 4)
      ]
      for (const encode of wrong) await expectFailure(device, String(encode), encoded(encode))
      device.queue.writeBuffer(one, 0, ones(oddSize))
      device.queue.writeBuffer(other, 0, ones(2 * oddSize))
      run(device, (encoder) => {
        encoder.clearBuffer(one, 4)
        encoder.copyBufferToBuffer(one, 0, other, oddSize, oddSize)
        encoder.clearBuffer(other, 0, 4)
      })
      expect("the sums", [sumOf(await bytesOf(device, one)), sumOf(await bytesOf(device, other))], [4, oddSize])
      one.destroy()
      other.destroy()
    }
  },
  {
    name: "vertices, indices and indirect arguments end with their buffers",
    check: async (device) => {
      const buffer = make(device, usages.vertex | usages.index | usages.indirect | usages.to)
      const bundle = (encode: (encoder: GPURenderBundleEncoder) => void) => () => {
        const encoder = device.createRenderBundleEncoder({ colorFormats: ["rgba8unorm"] })
        encode(encoder)
        return encoder.finish()
      }
      await expectFailure(device, "vertices", bundle((encoder) => encoder.setVertexBuffer(0, buffer, 4, oddSize)))
      await expectFailure(
        device,
        "vertices from the end",
        bundle((encoder) => encoder.setVertexBuffer(0, buffer, oddSize + 4))
      )
      await expectFailure(device, "indices", bundle((encoder) => encoder.setIndexBuffer(buffer, "uint32", 4, oddSize)))
      await expectSuccess(
        device,
        "all of it",
        bundle((encoder) => {
          encoder.setVertexBuffer(0, buffer)
          encoder.setVertexBuffer(1, buffer, 4, oddSize - 4)
          encoder.setIndexBuffer(buffer, "uint32", 4)
        })
      )
      buffer.destroy()
    }
  },
  {
    name: "the rows of textures end with their buffers",
    check: async (device) => {
      const buffer = make(device)
      const texture = device.createTexture({ size: [4, 8], format: "rgba8unorm", usage: 3 })
      const encoded = (encode: (encoder: GPUCommandEncoder) => void) => () => {
        const encoder = device.createCommandEncoder()
        encode(encoder)
        return encoder.finish()
      }
      const rows = (offset: number) => ({ buffer, bytesPerRow: 256, offset })
      // Five rows: four of 256 bytes, and the 16 bytes of the last.
      await expectSuccess(
        device,
        "five rows",
        encoded((encoder) => {
          encoder.copyTextureToBuffer({ texture }, rows(4), [4, 5])
          encoder.copyBufferToTexture(rows(4), { texture }, { width: 4, height: 5 })
        })
      )
      await expectFailure(
        device,
        "rows behind the end",
        encoded((encoder) => encoder.copyTextureToBuffer({ texture }, rows(8), [4, 5]))
      )
      await expectFailure(
        device,
        "rows from behind the end",
        encoded((encoder) => encoder.copyBufferToTexture(rows(8), { texture }, { width: 4, height: 5 }))
      )
      texture.destroy()
      buffer.destroy()
    }
  }
]

/** A kernel that writes the length of its array, and the first word of another. */
const lengthKernel = `
@group(0) @binding(0) var<storage, read_write> result: array<u32>;
@group(0) @binding(1) var<storage, read_write> other: array<u32>;
@compute @workgroup_size(1) fn main() {
  result[0] = arrayLength(&other);
  result[1] = other[0];
  other[1] = 7;
}`

const pipelineOf = (device: GPUDevice): GPUComputePipeline =>
  device.createComputePipeline({
    layout: "auto",
    compute: { module: device.createShaderModule({ code: lengthKernel }), entryPoint: "main" }
  })

const bindings: ReadonlyArray<Rule> = [
  {
    name: "a binding without a size reaches to the end of its buffer, and kernels see its length",
    check: async (device) => {
      const pipeline = pipelineOf(device)
      const [result, other] = [make(device, plain, 256), make(device)]
      for (const [offset, size, length] of [[0, undefined, 261], [256, undefined, 197], [512, 64, 16]] as const) {
        const layout = pipeline.getBindGroupLayout(0)
        const resource = { buffer: other, offset, ...(size === undefined ? {} : { size }) }
        const group = device.createBindGroup({
          layout,
          entries: [{ binding: 0, resource: { buffer: result } }, { binding: 1, resource }]
        })
        run(device, (encoder) => {
          const pass = encoder.beginComputePass()
          pass.setPipeline(pipeline)
          pass.setBindGroup(0, group)
          pass.dispatchWorkgroups(1)
          pass.end()
        })
        const [found] = new Uint32Array((await bytesOf(device, result)).buffer)
        expect("the length", found, length)
      }
      result.destroy()
      other.destroy()
    }
  },
  {
    name: "a binding behind the end of its buffer is refused",
    check: async (device) => {
      const layout = device.createBindGroupLayout({
        entries: [{ binding: 0, visibility: 4, buffer: { type: "storage" } }]
      })
      const buffer = make(device)
      const bind = (offset: number, size?: number) => () =>
        device.createBindGroup({
          layout,
          entries: [{ binding: 0, resource: { buffer, offset, ...(size === undefined ? {} : { size }) } }]
        })
      await expectFailure(device, "a size over the end", bind(0, oddSize + 4))
      await expectFailure(device, "a size over the end from an offset", bind(1024, 24))
      await expectFailure(device, "an offset behind the end", bind(1280))
      await expectFailure(device, "an empty size", bind(0, 0))
      await expectSuccess(device, "the last words", bind(1024, 20))
      buffer.destroy()
    }
  },
  {
    name: "indirect arguments end with their buffer",
    check: async (device) => {
      const pipeline = pipelineOf(device)
      const buffer = make(device, usages.indirect | usages.to)
      const encoded = (offset: number) => () => {
        const encoder = device.createCommandEncoder()
        const pass = encoder.beginComputePass()
        const group = device.createBindGroup({
          layout: pipeline.getBindGroupLayout(0),
          entries: [0, 1].map((binding) => ({ binding, resource: { buffer: make(device, plain, 256) } }))
        })
        pass.setPipeline(pipeline)
        pass.setBindGroup(0, group)
        pass.dispatchWorkgroupsIndirect(buffer, offset)
        pass.end()
        return encoder.finish()
      }
      await expectSuccess(device, "the last ones", encoded(oddSize - 12))
      await expectFailure(device, "ones over the end", encoded(oddSize - 8))
      buffer.destroy()
    }
  }
]

const ends: ReadonlyArray<Rule> = [
  {
    name: "a buffer can be destroyed twice, and at any time",
    check: async (device) => {
      const buffer = make(device)
      await expectSuccess(device, "the second end", () => {
        buffer.destroy()
        buffer.destroy()
        buffer.unmap()
      })
    }
  },
  {
    name: "a destroyed buffer is refused by writes and mappings",
    check: async (device) => {
      const buffer = make(device)
      buffer.destroy()
      await expectFailure(device, "a write", () => device.queue.writeBuffer(buffer, 0, ones(4)))
      const mappable = make(device, readable)
      mappable.destroy()
      await expectFailure(
        device,
        "a mapping",
        async () => expect("the error", await rejected(mappable.mapAsync(1)), "OperationError")
      )
      expect("the error of a range", thrown(() => mappable.getMappedRange()), "OperationError")
    }
  },
  {
    name: "a destroyed buffer can be bound and encoded, and nothing of its submit runs",
    check: async (device) => {
      const [buffer, other] = [make(device), make(device)]
      device.queue.writeBuffer(other, 0, ones(oddSize))
      const submits: ReadonlyArray<(encoder: GPUCommandEncoder) => void> = [
        (encoder) => encoder.clearBuffer(buffer),
        (encoder) => encoder.copyBufferToBuffer(buffer, 0, other, 0, 16),
        (encoder) => encoder.copyBufferToBuffer(other, 0, buffer, 0, 16)
      ]
      for (const isBefore of [true, false]) {
        for (const encode of submits) {
          const encoder = device.createCommandEncoder()
          const clearing = device.createCommandEncoder()
          clearing.clearBuffer(other)
          await expectSuccess(device, "encoding", () => encode(encoder))
          let commands: GPUCommandBuffer | undefined
          await expectSuccess(device, "finishing", () => commands = encoder.finish())
          if (isBefore) buffer.destroy()
          await expectFailure(device, "the submit", () => device.queue.submit([clearing.finish(), commands!]))
        }
      }
      expect("the sum of the other's bytes", sumOf(await bytesOf(device, other)), oddSize)
      other.destroy()
    }
  },
  {
    name: "commands of before refuse a buffer that ended since, also when its memory is another's",
    check: async (device) => {
      const pipeline = pipelineOf(device)
      const [buffer, result] = [make(device), make(device, plain, 256)]
      const group = device.createBindGroup({
        layout: pipeline.getBindGroupLayout(0),
        entries: [{ binding: 0, resource: { buffer: result } }, { binding: 1, resource: { buffer } }]
      })
      const encoder = device.createCommandEncoder()
      encoder.clearBuffer(buffer)
      const commands = encoder.finish()
      buffer.destroy()
      const next = make(device)
      device.queue.writeBuffer(next, 0, ones(oddSize))
      await expectFailure(device, "the submit of the commands", () => device.queue.submit([commands]))
      await expectFailure(device, "a dispatch with the bind group", () =>
        run(device, (later) => {
          const pass = later.beginComputePass()
          pass.setPipeline(pipeline)
          pass.setBindGroup(0, group)
          pass.dispatchWorkgroups(1)
          pass.end()
        }))
      expect("the sum of the next one's bytes", sumOf(await bytesOf(device, next)), oddSize)
      await untouched(device, result)
      next.destroy()
      result.destroy()
    }
  },
  {
    name: "a bundle of before refuses a buffer that ended since",
    check: async (device) => {
      const buffer = make(device, usages.vertex | usages.to)
      const bundles = device.createRenderBundleEncoder({ colorFormats: ["rgba8unorm"] })
      bundles.setVertexBuffer(0, buffer)
      const bundle = bundles.finish()
      const texture = device.createTexture({ size: [4, 4], format: "rgba8unorm", usage: 16 })
      const draw = () =>
        run(device, (encoder) => {
          const view = texture.createView()
          const pass = encoder.beginRenderPass({ colorAttachments: [{ view, loadOp: "clear", storeOp: "store" }] })
          pass.executeBundles([bundle])
          pass.end()
        })
      await expectSuccess(device, "a draw", draw)
      buffer.destroy()
      const next = make(device, usages.vertex | usages.to)
      await expectFailure(device, "a draw after", draw)
      next.destroy()
      texture.destroy()
    }
  },
  {
    name: "commands that were submitted before the end still run",
    check: async (device) => {
      const [buffer, target] = [make(device), make(device)]
      device.queue.writeBuffer(buffer, 0, ones(oddSize))
      run(device, (encoder) => encoder.copyBufferToBuffer(buffer, 0, target, 0, oddSize))
      buffer.destroy()
      const next = make(device)
      device.queue.writeBuffer(next, 0, new Uint8Array(oddSize).fill(2))
      expect("the sum of the bytes", sumOf(await bytesOf(device, target)), oddSize)
      target.destroy()
      next.destroy()
    }
  }
]

const errors: ReadonlyArray<Rule> = [
  {
    name: "the innermost scope for a kind of errors gets the first of them",
    check: async (device) => {
      device.pushErrorScope("validation")
      device.pushErrorScope("out-of-memory")
      const buffer = make(device)
      device.queue.writeBuffer(buffer, oddSize, ones(4))
      make(device, 0)
      expect("the inner scope", await device.popErrorScope(), null)
      const error = await device.popErrorScope()
      expect("the outer scope", error?.constructor.name, "GPUValidationError")
      expect("the error without a scope", await rejected(device.popErrorScope()), "OperationError")
      buffer.destroy()
    }
  },
  {
    name: "an error without a scope is an event of the device",
    check: async (device) => {
      const heard = new Promise<string>((resolve) =>
        device.addEventListener("uncapturederror", (event) => {
          event.preventDefault()
          resolve(event.error.constructor.name)
        }, { once: true })
      )
      make(device, 0)
      await device.queue.onSubmittedWorkDone()
      expect("the error", await heard, "GPUValidationError")
    }
  }
]

export const rules: ReadonlyArray<Rule> = [
  ...attributes,
  ...zeros,
  ...mapping,
  ...ranges,
  ...bindings,
  ...ends,
  ...errors
]

/** Leaves blocks of all usages behind that are not zero. */
export const soil = (device: GPUDevice): void => {
  for (const usage of [0x8c, 0xcc, 0xbc, 0x9, 0x28, 0x138, 0x108]) {
    for (const size of [oddSize, oddSize + 40, 256, 2 * oddSize]) {
      const [one, other] = [device.createBuffer({ size, usage }), device.createBuffer({ size, usage })]
      for (const buffer of [one, other]) {
        device.queue.writeBuffer(buffer, 0, new Uint8Array(size).fill(0xff))
        buffer.destroy()
      }
    }
  }
}

/**
 * Conway's game of life, whose cells host and device share: the program sets the first ones where kernels compute on them,
 * and looks at the last ones where kernels left them. Nothing is copied.
 */
import { Effect } from "effect"
import { BufferPool, CommandQueue, Kernel, KernelArgument, Mapping } from "effect-gpu-pool"
import { Svm } from "effect-gpu-pool/opencl"

/** The memory of the cells. `"buffers"` is not shared memory: a device may have to copy when it is mapped. */
export type Memory = Svm.Grain | "buffers"

export interface LifeOptions {
  /** Cells in a row, and rows. The edges meet. */
  readonly size: number
  readonly generations: number
  readonly memory: Memory
}

export interface World {
  /** Rows of cells, `#` where one lives. */
  readonly rows: ReadonlyArray<string>
  readonly living: number
}

const step = Kernel.make({
  name: "life",
  args: [
    KernelArgument.VectorArg("u32", "cells", { access: "read" }),
    KernelArgument.VectorArg("u32", "next", { access: "write" }),
    KernelArgument.ScalarArg("u32", "size")
  ],
  body: {
    opencl: `
      const uint row = i / size, column = i % size;
      uint around = 0;
      for (uint down = size - 1; down <= size + 1; down++)
        for (uint right = size - 1; right <= size + 1; right++)
          around += cells[(row + down) % size * size + (column + right) % size];
      const uint neighbours = around - cells[i];
      next[i] = neighbours == 3 || (neighbours == 2 && cells[i] == 1);
    `
  }
})

/** Five cells that take more than a thousand generations to settle, where there is room. */
const rPentomino: ReadonlyArray<readonly [row: number, column: number]> = [[0, 1], [0, 2], [1, 0], [1, 1], [2, 1]]

/** The cells as the program sees them, until the scope closes. */
const show = (lease: BufferPool.PooledBuffer, { memory, size }: LifeOptions) => {
  const shape = [size, size]
  switch (memory) {
    case "fine":
      return Svm.view(lease, Uint32Array, { shape })
    case "coarse":
    case "buffers":
      return Mapping.map(lease, Uint32Array, { shape })
  }
}

export const play = Effect.fn("Life.play")(function*(options: LifeOptions) {
  const { generations, size } = options
  let cells = yield* BufferPool.allocate(4 * size * size, { label: "cells" })
  let next = yield* BufferPool.allocate(4 * size * size, { label: "next cells" })
  yield* Effect.scoped(Effect.gen(function*() {
    const shown = yield* show(cells, options)
    shown.data.fill(0)
    const middle = Math.floor(size / 2) - 1
    for (const [row, column] of rPentomino) shown.setUnsafe(1, middle + row, middle + column)
  }))
  for (let generation = 0; generation < generations; generation++) {
    yield* CommandQueue.dispatch(step, { cells, next, size }, size * size)
    const last = cells
    cells = next
    next = last
  }
  return worldOf(yield* show(cells, options))
}, Effect.scoped)

const worldOf = ({ data, shape }: Mapping.MappedArray<Uint32Array>): World => {
  const width = shape[1]!
  const rows = Array.from(
    { length: shape[0]! },
    (_, row) => Array.from(data.subarray(row * width, (row + 1) * width), (cell) => cell === 1 ? "#" : ".").join("")
  )
  return { rows, living: data.reduce((sum, cell) => sum + cell, 0) }
}

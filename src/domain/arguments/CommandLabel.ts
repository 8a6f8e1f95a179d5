/**
 * The labels of recorded commands in errors, the same on every backend.
 *
 * Backends keep the labels that the buffers have when a command is recorded: when the command fails later, another
 * lease may have the block.
 *
 * @internal
 */

import type { Extent } from "../data/Rectangle.ts"

type Label = string | undefined

export const name = (label: Label): string => label ?? "(no label)"

export const write = (bytes: number, target: Label): string => `write ${bytes} B -> ${name(target)}`

export const read = (bytes: number, source: Label): string => `read ${bytes} B ${name(source)}`

export const copy = (bytes: number, source: Label, target: Label): string =>
  `copy ${bytes} B ${name(source)} -> ${name(target)}`

export const fill = (bytes: number, target: Label): string => `fill ${bytes} B -> ${name(target)}`

export const touch = (buffer: Label): string => `touch ${name(buffer)}`

export const migrate = (buffers: ReadonlyArray<Label>, to: string): string =>
  `migrate ${buffers.map(name).join(", ")} -> ${to}`

export const dispatch = (kernel: string, count: number): string => `dispatch ${kernel} (${count} items)`

const region = ([bytes, rows, slices]: Extent): string => `rectangle ${bytes} B x ${rows} x ${slices}`

export const writeRect = (extent: Extent, target: Label): string => `write ${region(extent)} -> ${name(target)}`

export const readRect = (extent: Extent, source: Label): string => `read ${region(extent)} ${name(source)}`

export const copyRect = (extent: Extent, source: Label, target: Label): string =>
  `copy ${region(extent)} ${name(source)} -> ${name(target)}`

export const map = (bytes: number, buffer: Label): string => `map ${bytes} B ${name(buffer)}`

export const unmap = (buffer: Label): string => `unmap ${name(buffer)}`

/**
 * The labels of recorded commands in errors, the same on every backend.
 *
 * A label is a function, since only an error needs the text. It keeps the labels that the buffers have when the command
 * is recorded: when the command fails later, another lease may have the block.
 *
 * @internal
 */

import type { Extent } from "../data/Rectangle.ts"
import type { Extents } from "../kernel/Workgroup.ts"

/** A buffer or an image. */
interface Labelled {
  readonly label: string | undefined
}

export type CommandLabel = () => string

export const name = (label: string | undefined): string => label ?? "(no label)"

export const write = (bytes: number, { label }: Labelled): CommandLabel => () => `write ${bytes} B -> ${name(label)}`

export const read = (bytes: number, { label }: Labelled): CommandLabel => () => `read ${bytes} B ${name(label)}`

export const copy = (bytes: number, { label: source }: Labelled, { label: target }: Labelled): CommandLabel => () =>
  `copy ${bytes} B ${name(source)} -> ${name(target)}`

export const fill = (bytes: number, { label }: Labelled): CommandLabel => () => `fill ${bytes} B -> ${name(label)}`

export const touch = ({ label }: Labelled): CommandLabel => () => `touch ${name(label)}`

export const migrate = (objects: ReadonlyArray<Labelled>, to: string): CommandLabel => {
  const labels = objects.map(({ label }) => label)
  return () => `migrate ${labels.map(name).join(", ")} -> ${to}`
}

export const dispatch = (kernel: string, count: number, range?: Extents | undefined): CommandLabel => () =>
  `dispatch ${kernel} (${range?.join(" x ") ?? count} items)`

const region = ([bytes, rows, slices]: Extent): string => `rectangle ${bytes} B x ${rows} x ${slices}`

export const writeRect = (extent: Extent, { label }: Labelled): CommandLabel => () =>
  `write ${region(extent)} -> ${name(label)}`

export const readRect = (extent: Extent, { label }: Labelled): CommandLabel => () =>
  `read ${region(extent)} ${name(label)}`

export const copyRect =
  (extent: Extent, { label: source }: Labelled, { label: target }: Labelled): CommandLabel => () =>
    `copy ${region(extent)} ${name(source)} -> ${name(target)}`

export const map = (bytes: number, { label }: Labelled): CommandLabel => () => `map ${bytes} B ${name(label)}`

export const unmap = ({ label }: Labelled): CommandLabel => () => `unmap ${name(label)}`

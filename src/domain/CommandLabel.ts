/**
 * What recorded commands are called in errors, the same on every backend.
 *
 * Backends keep the labels of the buffers as they are when a command is recorded: by the time it fails, its block may
 * be another lease's.
 *
 * @internal
 */

type Label = string | undefined

const name = (label: Label): string => label ?? "(no label)"

/** @internal */
export const write = (bytes: number, target: Label): string => `write ${bytes} B -> ${name(target)}`

/** @internal */
export const read = (bytes: number, source: Label): string => `read ${bytes} B ${name(source)}`

/** @internal */
export const copy = (bytes: number, source: Label, target: Label): string =>
  `copy ${bytes} B ${name(source)} -> ${name(target)}`

/** @internal */
export const fill = (bytes: number, target: Label): string => `fill ${bytes} B -> ${name(target)}`

/** @internal */
export const touch = (buffer: Label): string => `touch ${name(buffer)}`

/** @internal */
export const dispatch = (kernel: string, count: number): string => `dispatch ${kernel} (${count} items)`

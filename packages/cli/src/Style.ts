/**
 * Colours, where they are shown: on a terminal, unless `NO_COLOR` is set.
 *
 * @internal
 */
import { TerminalCapabilities } from "effect/cli/TerminalCapabilities"
import * as Effect from "effect/Effect"

export interface Style {
  readonly good: (text: string) => string
  readonly bad: (text: string) => string
  readonly strong: (text: string) => string
  readonly faint: (text: string) => string
}

const ansi = (code: number, end: number) => (text: string): string => `\u001b[${code}m${text}\u001b[${end}m`
const plain = (text: string): string => text

export const colours: Style = { good: ansi(32, 39), bad: ansi(31, 39), strong: ansi(1, 22), faint: ansi(2, 22) }
export const none: Style = { good: plain, bad: plain, strong: plain, faint: plain }

/** As Effect decides it for help and errors. */
export const style: Effect.Effect<Style> = Effect.map(TerminalCapabilities, ({ canColor }) => canColor ? colours : none)

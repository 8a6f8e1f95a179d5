/**
 * Which keys do what.
 *
 * @internal
 */
import type { Commands } from "./Controls.ts"
import type { KeyAction } from "./Keys.ts"

/** What keys do, beyond what the controls do. */
export interface KeyCommands extends Commands {
  /** Moves the cursor by columns of pixels. */
  readonly step: (columns: number) => void
  readonly toEvent: (by: number) => void
  readonly toPeak: () => void
  readonly panBy: (share: number) => void
  readonly nextGrouping: () => void
  readonly nextAxis: () => void
  readonly focusFilter: () => void
}

const action = (keys: ReadonlyArray<string>, shown: string, what: string, run: KeyAction["run"]): KeyAction => (
  { keys, shown, what, run }
)

const wide = ({ shiftKey }: KeyboardEvent): number => shiftKey ? 10 : 1

export const actionsOf = (commands: KeyCommands): ReadonlyArray<KeyAction> => [
  action(
    ["ArrowLeft"],
    "←",
    "move the cursor to the left; with Shift, by ten pixels",
    (event) => commands.step(-wide(event))
  ),
  action(
    ["ArrowRight"],
    "→",
    "move the cursor to the right; with Shift, by ten pixels",
    (event) => commands.step(wide(event))
  ),
  action([","], ",", "move the cursor to the event before", () => commands.toEvent(-1)),
  action(["."], ".", "move the cursor to the event after", () => commands.toEvent(1)),
  action(["Home"], "Home", "move the cursor to the beginning", () => commands.toEvent(-Infinity)),
  action(["End"], "End", "move the cursor to the end", () => commands.toEvent(Infinity)),
  action(["m"], "m", "move the cursor to the most bytes that are seen", commands.toPeak),
  action(["n"], "n", "next failure", () => commands.toFailure(1)),
  action(["p"], "p", "previous failure", () => commands.toFailure(-1)),
  action(["+", "=", "ArrowUp"], "+ ↑", "zoom in at the cursor", () => commands.zoom(0.5)),
  action(["-", "ArrowDown"], "− ↓", "zoom out", () => commands.zoom(2)),
  action(["a"], "a", "see what is before", () => commands.panBy(-0.25)),
  action(["d"], "d", "see what is after", () => commands.panBy(0.25)),
  action(["0"], "0", "see everything", commands.showAll),
  action(["g"], "g", "group by label, call site, size", commands.nextGrouping),
  action(["x"], "x", "time, or events, as the axis", commands.nextAxis),
  action(["/"], "/", "filter by label or call site", commands.focusFilter),
  action(["t"], "t", "dark or light", commands.nextTheme),
  action(["?"], "?", "this help", commands.help)
]

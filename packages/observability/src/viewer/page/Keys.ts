/**
 * What keys do, and the help that says so.
 *
 * @internal
 */
import type { Commands } from "./Controls.ts"
import { element } from "./Elements.ts"
import type { Viewport } from "./Viewport.ts"

interface KeyAction {
  /** The names that events have for them. */
  readonly keys: ReadonlyArray<string>
  /** The text in the help. */
  readonly shown: string
  readonly what: string
  readonly run: (event: KeyboardEvent) => void
}

/** What keys do, beyond what the controls do. */
export interface KeyCommands extends Commands, Pick<Viewport, "panBy" | "step" | "toEvent" | "toPeak"> {
  /** Chooses the lease at the cursor that is drawn above, or below, the one that is chosen. */
  readonly pickNext: (step: 1 | -1) => void
  readonly zoomToPicked: () => void
  readonly unpick: () => void
  readonly nextGrouping: () => void
  readonly nextAxis: () => void
  readonly focusFilter: () => void
  /** Shows the next host, or the one before, of a fleet. */
  readonly nextHost: ((step: 1 | -1) => void) | undefined
}

const action = (keys: ReadonlyArray<string>, shown: string, what: string, run: KeyAction["run"]): KeyAction => (
  { keys, shown, what, run }
)

const wide = ({ shiftKey }: KeyboardEvent): number => shiftKey ? 10 : 1

const ofHosts = (nextHost: KeyCommands["nextHost"]): ReadonlyArray<KeyAction> =>
  nextHost === undefined ? [] : [
    action(["]"], "]", "show the next host", () => nextHost(1)),
    action(["["], "[", "show the host before", () => nextHost(-1))
  ]

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
  action(["k"], "k", "choose the lease at the cursor, and the one drawn above", () => commands.pickNext(1)),
  action(["j"], "j", "choose the lease drawn below", () => commands.pickNext(-1)),
  action(["z"], "z", "see the life of the chosen lease", commands.zoomToPicked),
  action(["Escape"], "Esc", "choose no lease", commands.unpick),
  action(["s"], "s", "set the moment A, with which the cursor is compared; again: forget it", commands.toggleSince),
  action(["g"], "g", "group by label, call site, size", commands.nextGrouping),
  action(["x"], "x", "time, or events, as the axis", commands.nextAxis),
  action(["/"], "/", "filter by label or call site", commands.focusFilter),
  ...ofHosts(commands.nextHost),
  action(["t"], "t", "dark or light", commands.nextTheme),
  action(["?"], "?", "this help", commands.help)
]

/** Whether keys are typed as text in this element. */
const takesText = (target: EventTarget | null): boolean =>
  target instanceof HTMLInputElement || target instanceof HTMLSelectElement

/** Runs the action of a pressed key, except where keys are typed as text; `before` runs before it. */
export const listenToKeys = (actions: ReadonlyArray<KeyAction>, before: () => void): void => {
  const byKey = new Map(actions.flatMap((action) => action.keys.map((key) => [key, action] as const)))
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || takesText(event.target)) return
    // keys are those of the help while that is open
    if (document.querySelector("dialog[open]") !== null) return
    const action = byKey.get(event.key)
    if (action === undefined) return
    event.preventDefault()
    before()
    action.run(event)
  })
}

export const helpDialog = (actions: ReadonlyArray<KeyAction>): HTMLDialogElement => {
  const rows = actions.map(({ shown, what }) =>
    element("div", {}, element("dt", {}, element("kbd", {}, shown)), element("dd", {}, what))
  )
  return element(
    "dialog",
    { id: "help", "aria-label": "Help" },
    element("h2", {}, "Keys and mouse"),
    element(
      "dl",
      { class: "keys" },
      ...rows,
      ...[
        ["click", "move the cursor; on a block, choose the lease"],
        ["drag", "see the part between"],
        ["wheel", "zoom at the mouse; with Shift, move"],
        ["Shift + drag", "move what is seen"]
      ].map(([shown, what]) =>
        element("div", {}, element("dt", {}, element("kbd", {}, shown!)), element("dd", {}, what!))
      )
    ),
    element(
      "p",
      {},
      "Each column of pixels shows the moment at which the leases had the most bytes, so that no peak is lost; the thin line in it is the least."
    ),
    element("form", { method: "dialog" }, element("button", {}, "Close"))
  )
}

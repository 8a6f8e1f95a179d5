/**
 * What keys do, and the help that says so.
 *
 * @internal
 */
import { element } from "./Elements.ts"

export interface KeyAction {
  /** The names that events have for them. */
  readonly keys: ReadonlyArray<string>
  /** The text in the help. */
  readonly shown: string
  readonly what: string
  readonly run: (event: KeyboardEvent) => void
}

/** Whether keys are typed as text in this element. */
const takesText = (target: EventTarget | null): boolean =>
  target instanceof HTMLInputElement || target instanceof HTMLSelectElement

/** Runs the action of a pressed key, except where keys are typed as text. */
export const listenToKeys = (actions: ReadonlyArray<KeyAction>): void => {
  const byKey = new Map(actions.flatMap((action) => action.keys.map((key) => [key, action] as const)))
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || takesText(event.target)) return
    const action = byKey.get(event.key)
    if (action === undefined) return
    event.preventDefault()
    action.run(event)
  })
}

export const helpDialog = (actions: ReadonlyArray<KeyAction>): HTMLDialogElement => {
  const rows = actions.map(({ shown, what }) =>
    element("div", {}, element("dt", {}, element("kbd", {}, shown)), element("dd", {}, what))
  )
  const dialog: HTMLDialogElement = element(
    "dialog",
    { id: "help", "aria-label": "Help" },
    element("h2", {}, "Keys and mouse"),
    element(
      "dl",
      { class: "keys" },
      ...rows,
      ...[
        ["click", "move the cursor"],
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
  return dialog
}

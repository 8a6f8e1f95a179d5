/**
 * What a backend's own modules know of an open device, found by what the backend's service shows of it: so a service that is
 * provided elsewhere, or spread with some of its members replaced, still leads to it, and programs cannot look into it.
 *
 * @internal
 */

export class OwnSide<Shown extends object, Opened> {
  readonly #opened = new WeakMap<Shown, Opened>()

  /** `shown` belongs to one opening alone. */
  add(shown: Shown, opened: Opened): void {
    this.#opened.set(shown, opened)
  }

  of(shown: Shown): Opened {
    const opened = this.#opened.get(shown)
    if (opened === undefined) throw new Error("a service was given a device that its backend has not opened")
    return opened
  }
}

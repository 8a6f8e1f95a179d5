/**
 * What a backend's own modules know of an open device, found by what the backend's service shows of it: so a service that is
 * provided elsewhere, or spread with some of its members replaced, still leads to it, and programs cannot look into it.
 *
 * @internal
 */

export class BackendHandle<Shown extends object, OpenedDevice> {
  readonly #opened = new WeakMap<Shown, OpenedDevice>()

  /** `shown` belongs to one opening alone. */
  add(shown: Shown, opened: OpenedDevice): void {
    this.#opened.set(shown, opened)
  }

  of(shown: Shown): OpenedDevice {
    const opened = this.#opened.get(shown)
    if (opened === undefined) throw new Error("a service was given a device that its backend has not opened")
    return opened
  }
}

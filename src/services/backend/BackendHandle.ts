/**
 * What a backend's own modules know of an open device, looked up by an object that the backend's service exposes. So a
 * service that is provided elsewhere, or spread with some members replaced, still leads to it, and programs cannot look
 * into it.
 *
 * @internal
 */

export class BackendHandle<Shown extends object, OpenedDevice> {
  readonly #opened = new WeakMap<Shown, OpenedDevice>()

  /** `shown` must belong to one opening of a device. */
  add(shown: Shown, opened: OpenedDevice): void {
    this.#opened.set(shown, opened)
  }

  of(shown: Shown): OpenedDevice {
    const opened = this.#opened.get(shown)
    if (opened === undefined) throw new Error("a service was given a device that its backend has not opened")
    return opened
  }
}

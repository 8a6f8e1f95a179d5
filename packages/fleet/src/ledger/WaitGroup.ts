/**
 * The waiting requests that could be on the very same devices, in their order, and how often each of them was bypassed.
 *
 * A later request that gets one of these devices bypasses all requests before it. So of two requests, the earlier was bypassed at least as
 * often as the later, and one short list of the bypasses has the count of each: it never has more entries than the bound.
 *
 * @internal
 */
import type { DeviceAccount } from "./DeviceAccount.ts"
import { OrderedList } from "./OrderedList.ts"
import { isBefore, type Order, type WaitingRequest } from "./WaitingRequest.ts"

export class WaitGroup {
  readonly devices: ReadonlyArray<DeviceAccount>
  readonly #members: ReadonlySet<DeviceAccount>
  readonly requests = new OrderedList<WaitingRequest>(isBefore)
  /** No request in it is for fewer bytes. */
  leastBytes = Infinity
  /** The places of the bypasses, in order: each counts for the requests that are not behind it. */
  #bypasses: Array<Order> = []

  constructor(devices: ReadonlyArray<DeviceAccount>) {
    this.devices = devices
    this.#members = new Set(devices)
  }

  has(device: DeviceAccount): boolean {
    return this.#members.has(device)
  }

  /** How often the first request was bypassed: none more often. */
  get mostBypasses(): number {
    return this.#bypasses.length
  }

  /** How often each request was bypassed. */
  *counts(): Generator<readonly [request: WaitingRequest, bypasses: number], void> {
    let passed = 0
    for (const request of this.requests) {
      while (passed < this.#bypasses.length && isBefore(this.#bypasses[passed]!, request)) passed++
      yield [request, this.#bypasses.length - passed]
    }
  }

  /** A request comes in. If others are behind it, it counts as bypassed as often as the next of them. */
  add(request: WaitingRequest): void {
    const last = this.#bypasses.at(-1)
    if (last !== undefined && !isBefore(last, request)) this.#withoutThoseOf(request)
    this.#insert(request)
  }

  /** Before a request comes in: takes away the bypasses that would count for it and not for the next one. */
  #withoutThoseOf(request: WaitingRequest): void {
    const { after, before } = this.requests.around(request)
    const isForItAlone = (place: Order): boolean =>
      !isBefore(place, request) && (after === undefined || isBefore(place, after))
    this.#bypasses = before === undefined
      ? this.#bypasses.filter((place) => !isForItAlone(place))
      : this.#bypasses.map((place) => isForItAlone(place) ? before : place)
  }

  /** The same for requests that were in other groups before: in order, with their counts. */
  fill(counted: ReadonlyArray<readonly [request: WaitingRequest, bypasses: number]>): void {
    for (const [request] of counted) this.#insert(request)
    let most = 0
    for (let at = counted.length - 1; at >= 0; at--) {
      const [request, bypasses] = counted[at]!
      for (; most < bypasses; most++) this.#bypasses.unshift(request)
    }
  }

  #insert(request: WaitingRequest): void {
    this.requests.add(request)
    this.leastBytes = Math.min(this.leastBytes, request.bytes)
  }

  remove(request: WaitingRequest): void {
    this.requests.remove(request)
    const { first } = this.requests
    if (first === undefined) {
      this.#bypasses = []
      this.leastBytes = Infinity
      return
    }
    // None before the first request is left that these count for.
    while (this.#bypasses.length > 0 && isBefore(this.#bypasses[0]!, first)) this.#bypasses.shift()
  }

  /** A request has got one of the devices: those before it count as bypassed. */
  bypassedBy(request: WaitingRequest): void {
    const { first } = this.requests
    if (first === undefined || !isBefore(first, request)) return
    let at = this.#bypasses.length
    while (at > 0 && isBefore(request, this.#bypasses[at - 1]!)) at--
    this.#bypasses.splice(at, 0, request)
  }
}

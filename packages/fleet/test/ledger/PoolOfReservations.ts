/** A pool's machine that serves nothing but reservations, without a device: what it decides, in order. */
import type { DeviceLimits } from "effect-gpu-pool/DeviceInfo"
import { noOuterLimits } from "effect-gpu-pool/OuterLimits"
import { type Ending, PoolMachine, type PoolOutput } from "effect-gpu-pool/PoolMachine"
import type { Evidence, PoolPort, Reusable } from "effect-gpu-pool/PoolState"
import { type Answer, Request } from "effect-gpu-pool/Request"
import { Reservation } from "effect-gpu-pool/Reservation"
import { waitQueue } from "effect-gpu-pool/WaitQueue"
import * as Exit from "effect/Exit"
import { info } from "../../../../test/support/someDevice.ts"

const limits: DeviceLimits = { ...info.limits, memoryBytes: undefined }

const succeeded: Ending = { isFailure: false, isInterrupted: false, reason: undefined }
const interrupted: Ending = { isFailure: true, isInterrupted: true, reason: undefined }

const none: ReadonlyArray<never> = []

const source = {
  service: "Reservations",
  what: undefined,
  closed: false,
  borrows: true,
  clears: false,
  mostBorrowed: (blockSize: number) => blockSize,
  limitProblem: () => undefined
}

const owner = { closed: false, hasLeases: false, addAwaiting: () => {}, removeAwaiting: () => {} }

class ReservationRequest extends Request {
  override get inHandler(): boolean {
    return false
  }
  override get answer(): Answer {
    return Exit.void
  }
  override get hasEnded(): boolean {
    return this.isOver
  }
  override get jobKeys(): ReadonlyArray<never> {
    return none
  }
  override get memoryKeys(): ReadonlyArray<never> {
    return none
  }
}

export class PoolOfReservations implements PoolPort {
  readonly #machine: PoolMachine
  readonly #requests = new Map<string, ReservationRequest>()
  readonly #open = new Set<string>()
  #tasks: Array<() => void> = []
  #decided: Array<string> = []

  constructor(maxBytes: number, maxBypasses: number) {
    const options = { maxBytes, limits, owner: { kind: "pool" }, maxBypasses, queue: waitQueue, trims: false } as const
    this.#machine = new PoolMachine<Reusable>(options, this)
    this.#machine.listen(false)
  }

  ask(id: string, bytes: number, onExhausted: "fail" | "wait"): void {
    const { memory, state } = this.#machine
    const options = {
      owner: this,
      memory: state,
      parent: undefined,
      budgets: none,
      label: undefined,
      fiberId: 0,
      sequence: 0
    }
    const request = new ReservationRequest({
      source,
      operation: "reserve",
      asks: new Reservation(options),
      size: bytes,
      exactSize: bytes,
      blockSize: bytes,
      partSize: Infinity,
      family: 0,
      label: undefined,
      callSite: undefined,
      owner,
      waitPolicy: { onExhausted, waitAtMost: Infinity },
      budget: undefined,
      accounts: [memory],
      from: undefined,
      section: undefined
    })
    this.#requests.set(id, request)
    this.#perform(id, request, this.#machine.ask(request))
  }

  /** A reservation that was granted ends, or one that waits is interrupted. */
  end(id: string): void {
    const request = this.#requests.get(id)
    if (request === undefined || !this.#requests.delete(id)) return
    this.#machine.reservationEnded(request, this.#open.delete(id) ? succeeded : interrupted)
  }

  /** What it has granted and failed since the last call. */
  decided(): ReadonlyArray<string> {
    for (let task = this.#tasks.shift(); task !== undefined; task = this.#tasks.shift()) task()
    const decided = this.#decided
    this.#decided = []
    return decided
  }

  #perform(id: string, request: ReservationRequest, output: PoolOutput): void {
    if (output === "Wait") {
      request.resume = () => this.#perform(id, request, this.#machine.advance(request))
      return
    }
    this.#decided.push(`${id} ${output}`)
    if (output === "Granted") this.#open.add(id)
    else this.end(id)
  }

  schedule(task: () => void): void {
    this.#tasks.push(task)
  }

  queueing(): void {
    this.#machine.listen(false)
  }

  readonly hasSeveralQueues = false
  readonly outer = noOuterLimits

  free(): boolean {
    return false
  }
  choose(): "any" {
    return "any"
  }
  evidence(): Evidence {
    return { holders: none, holderGroups: none }
  }
  clear(): undefined {
    return undefined
  }
  lost(): undefined {
    return undefined
  }
  grant(): void {}
  handOver(): void {}
  watch(): void {}
  startIdleClock(): void {}
  endLeases(): void {}
  endGranted(): void {}
  closeSources(): void {}
  over(): void {}
  interruptCalls(): void {}
}

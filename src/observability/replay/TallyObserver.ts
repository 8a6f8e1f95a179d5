/**
 * Counts what a replayed memory does.
 *
 * @internal
 */
import type { Origin } from "../../domain/pool/machine/Reservation.ts"
import type { FreeReason } from "../../domain/pool/PoolEvent.ts"
import type { MachineRequest, Told } from "./MachineRequest.ts"
import type { MemoryObserver } from "./ReplayedMemory.ts"
import type { ReplayedBlock, ReplayedLease } from "./ReplayedSource.ts"
import type { Tally } from "./Tally.ts"

export class TallyObserver implements Partial<MemoryObserver> {
  readonly #tally: Tally
  /** Those that have said that they wait, and not that they do no more. */
  readonly #waiting = new WeakSet<MachineRequest>()

  constructor(tally: Tally) {
    this.#tally = tally
  }

  hit({ asked }: Told, _lease: ReplayedLease, { capacity }: ReplayedBlock, from: Origin): void {
    this.#tally.leased(asked, capacity, from)
  }

  leased({ replayed: { asked } }: MachineRequest, { capacity }: ReplayedBlock, from: Origin): void {
    this.#tally.leased(asked, capacity, from)
  }

  kept(_request: MachineRequest, { capacity }: ReplayedBlock): void {
    this.#tally.kept(capacity)
  }

  released({ size }: ReplayedLease): void {
    this.#tally.released(size)
  }

  freed({ capacity }: ReplayedBlock, why: FreeReason): void {
    this.#tally.freed(capacity, why)
  }

  refused(): void {
    this.#tally.refusals++
  }

  waiting(request: MachineRequest): void {
    if (!this.#waiting.has(request)) this.#tally.waiting(request.replayed.asked)
    this.#waiting.add(request)
  }

  waited(request: MachineRequest): void {
    if (this.#waiting.delete(request)) this.#tally.waited(request.replayed.asked)
  }
}

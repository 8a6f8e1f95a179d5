/**
 * What a ledger tells the broker around it, each within the step that decides it.
 *
 * @since 0.1.0
 */
import type { GpuError } from "effect-gpu-pool/GpuError"
import type { Placement } from "../protocol/FleetModel.ts"

/**
 * What the broker does for its ledger.
 *
 * @category models
 * @since 0.1.0
 */
export interface LedgerPort {
  /** A reservation has its place. Also called when it is asked for again under the same identifier. */
  placed(placement: Placement): void
  /** A reservation gets none. */
  failed(id: string, error: GpuError): void
  /** A host is lost in this epoch, with all that it had. */
  lost(host: string, epoch: number, detail: string): void
}

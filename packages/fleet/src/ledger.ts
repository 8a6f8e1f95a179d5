/**
 * What the broker of a fleet decides, synchronous and without I/O, for models and simulations.
 *
 * @since 0.1.0
 */

/**
 * Which hosts are there, where reservations are placed, and who waits.
 *
 * @category ledger
 * @since 0.1.0
 */
export * as Ledger from "./ledger/Ledger.ts"

/**
 * What receives the decisions of a ledger.
 *
 * @category ledger
 * @since 0.1.0
 */
export * as LedgerPort from "./ledger/LedgerPort.ts"

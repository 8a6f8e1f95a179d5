/**
 * The driver's memory, as an ArrayBuffer for the program.
 *
 * @internal
 */
import { lend } from "../../../domain/data/LentMemory.ts"
import type { OpenClApi } from "../OpenClApi.ts"

/** Shows the driver's memory. `detachMemory` must detach it before the driver gets it back. */
export const memoryAt = (api: OpenClApi, address: bigint, bytes: number): ArrayBuffer => lend(api.view(address, bytes))

/**
 * What a chosen device provides. It names no backend, so that what only speaks of devices loads no driver.
 *
 * @since 0.1.0
 */
import type { CommandQueue } from "../services/CommandQueue.ts"
import type { DeviceContext } from "../services/DeviceContext.ts"
import type { Images } from "../services/images/Images.ts"
import type { KernelCache } from "../services/KernelCache.ts"

/**
 * What a chosen device provides, whichever backend it is of.
 *
 * @category models
 * @since 0.1.0
 */
export type Services = DeviceContext | CommandQueue | KernelCache | Images

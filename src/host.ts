/**
 * The host backend of effect-gpu-pool: buffers in process memory, for programs without a device and for tests.
 *
 * @since 0.1.0
 */

/**
 * Layers that open a device in process memory, its planned faults, and a look at its memory.
 *
 * @category backends
 * @since 0.1.0
 */
export * as Host from "./layers/Host/Host.ts"

/**
 * The language of the host backend, for backends that run JavaScript elsewhere.
 *
 * @category backends
 * @since 0.1.0
 */
export * as JavaScript from "./layers/Host/language/JavaScript.ts"

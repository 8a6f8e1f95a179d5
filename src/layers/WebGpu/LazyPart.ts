/**
 * Modules that are loaded at their first use: programs that use buffers alone never load them.
 *
 * @internal
 */
import * as LazyModule from "../../services/calls/LazyModule.ts"

export const later = LazyModule.module("layers/WebGpu/Later", () => import("./Later.ts"))

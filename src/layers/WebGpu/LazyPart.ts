/**
 * What programs that use buffers alone do not load.
 *
 * @internal
 */
import * as LazyModule from "../../services/calls/LazyModule.ts"

export const later = LazyModule.module("layers/WebGpu/Later", () => import("./Later.ts"))

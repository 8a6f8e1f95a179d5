/**
 * What programs that use buffers alone do not load.
 *
 * @internal
 */
import * as LoadedPart from "../../services/calls/LoadedPart.ts"

export const later = LoadedPart.module("layers/WebGpu/Later", () => import("./Later.ts"))

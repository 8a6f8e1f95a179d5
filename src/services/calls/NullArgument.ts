/**
 * Null for an argument of a kernel, which PyOpenCL passes on as a null pointer.
 *
 * @internal
 */
import { type GpuError, invalidRequest } from "../../domain/GpuError.ts"

/**
 * Why an argument cannot be null. WebGPU cannot bind null, so a kernel that needs a null argument would run on OpenCL
 * only.
 *
 * @see https://www.w3.org/TR/webgpu/#typedefdef-gpubindingresource
 */
export const nullProblem = (operation: string, name: string, kind: "buffer" | "image" | "sampler"): GpuError =>
  invalidRequest(
    operation,
    `argument "${name}" is null, and no kernel takes null for ${
      kind === "image" ? "an" : "a"
    } ${kind}: WebGPU cannot bind it`,
    kind === "sampler"
      ? "Pass any sampler, or define a kernel without the argument."
      : `Pass ${
        kind === "image" ? "an image" : "a buffer"
      } of one element and a scalar that says whether to use it, or ` +
        "define a kernel without the argument."
  )

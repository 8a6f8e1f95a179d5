/**
 * Labels of buffers, images and devices: drivers get them, and some end the process when one is no string.
 *
 * @internal
 */
import { type GpuError, invalidRequest } from "../GpuError.ts"
import { formatted } from "./Format.ts"

/** Whether a label can go to a driver. */
export const isLabel = (label: unknown): label is string | undefined => label === undefined || typeof label === "string"

/** Why it cannot, or `undefined`. Programs without types can pass anything. */
export const problem = (operation: string, label: unknown): GpuError | undefined =>
  isLabel(label)
    ? undefined
    : invalidRequest(operation, `the label ${formatted(label)} is no string`, "Pass a string, or leave it out.")

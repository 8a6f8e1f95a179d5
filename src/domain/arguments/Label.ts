/**
 * Labels of buffers, images and devices. Drivers get them, and some abort the process when one is no string.
 *
 * @internal
 */
import { type GpuError, invalidRequest } from "../GpuError.ts"
import { formatted } from "./Format.ts"

/** Whether a label can go to a driver. */
export const isLabel = (label: unknown): label is string | undefined => label === undefined || typeof label === "string"

/** Why a label cannot go to a driver, or `undefined`. */
export const problem = (operation: string, label: unknown): GpuError | undefined =>
  isLabel(label)
    ? undefined
    : invalidRequest(operation, `the label ${formatted(label)} is no string`, "Pass a string, or leave it out.")

/**
 * What follows from the usage of an image, and what is wrong with one.
 *
 * @internal
 */
import * as UsageFlags from "../UsageFlags.ts"
import { copyDst, copySrc, type ImageUsage, sampled, storage } from "./ImageUsage.ts"

const flags = UsageFlags.of("image", { sampled, storage, copySrc, copyDst })

/** The flags by name, for messages. */
export const format: UsageFlags.UsageFlags["format"] = flags.format

export const lackProblem: UsageFlags.UsageFlags["lackProblem"] = flags.lackProblem

export const has: typeof UsageFlags.has = UsageFlags.has

/**
 * What is wrong with a usage, or `undefined` for a good one.
 */
export const problem = (usage: ImageUsage): string | undefined =>
  flags.unknown(usage) ?? (usage === 0 ? "the usage allows no operation" : undefined)

/**
 * Memory that is about to be mapped. Only what maps loads this.
 *
 * @internal
 */
import { type Claim, type MappedPart, MappedParts } from "../../../domain/data/MappedParts.ts"
import type { DeviceBuffer } from "../../device/DeviceBuffer.ts"
import * as MappedMemory from "./MappedMemory.ts"

/** A claim, and what stands for the driver's object that it is of. */
export interface ObjectClaim extends Claim {
  readonly object: object
}

/** A part of the memory of a driver's object: bytes from its first one on, or elements. */
export const claim = (object: object, part: MappedPart): ObjectClaim => ({
  ...MappedMemory.partsOf(object, () => new MappedParts()).claim(part),
  object
})

/** Bytes of a buffer. */
export const claimBytes = (
  { origin, root }: DeviceBuffer,
  offset: number,
  bytes: number,
  writes: boolean
): ObjectClaim => claim(root.identity, { origin: [origin + offset], extent: [bytes], writes })

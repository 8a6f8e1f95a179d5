/**
 * Which bytes of one device allocation are mapped now.
 *
 * @internal
 */
import { type MappedPart, MappedParts } from "./MappedParts.ts"

/** @internal */
export interface MappedRange extends MappedPart {
  readonly from: number
  readonly to: number
}

/** @internal */
export class MappedRanges extends MappedParts<MappedRange> {
  constructor() {
    super((one, other) => one.from < other.to && other.from < one.to)
  }
}

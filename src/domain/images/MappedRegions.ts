/**
 * Which regions of one image are mapped now.
 *
 * @internal
 */
import { type MappedPart, MappedParts } from "../MappedParts.ts"
import type { ImageRegion } from "./ImageShape.ts"

/** @internal */
export interface MappedRegion extends MappedPart {
  /** One element at least. */
  readonly region: ImageRegion
}

/** @internal */
export class MappedRegions extends MappedParts<MappedRegion> {
  constructor() {
    super(({ region: one }, { region: other }) =>
      one.extent.every((length, axis) =>
        one.origin[axis]! < other.origin[axis]! + other.extent[axis]! &&
        other.origin[axis]! < one.origin[axis]! + length
      )
    )
  }
}

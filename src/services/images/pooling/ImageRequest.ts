/**
 * One request for a lease on an image, from its check to its answer.
 *
 * @internal
 */
import { type GpuError, make as makeError, Released } from "../../../domain/GpuError.ts"
import type { ImageFormat } from "../../../domain/images/ImageFormat.ts"
import type { ImageShape } from "../../../domain/images/ImageShape.ts"
import type { ImageUsage } from "../../../domain/images/ImageUsage.ts"
import type { PooledImage } from "../PooledImage.ts"
import type { ImageList } from "./ImageList.ts"

/** @internal */
export const operation = "ImagePool.allocate"

/** @internal */
export interface ImageRequest {
  readonly shape: ImageShape
  readonly format: ImageFormat
  readonly usage: ImageUsage
  /** With what the pool itself needs. */
  readonly blockUsage: ImageUsage
  readonly label: string | undefined
  /** Bytes of the elements. */
  readonly size: number
  /** Images of one key stand for each other. */
  readonly key: string
  /** The list that will own the lease. */
  readonly list: ImageList
  /** Bytes of the pool that are reserved for it, until the driver is asked. */
  reserved: number
  /** Set in the step that grants it, so that whoever asked can end it wherever it is interrupted. */
  granted: PooledImage | undefined
}

/**
 * Programs without types can pass anything: what has no such fields gets a key that no image has.
 *
 * @internal
 */
export const keyOf = (shape: ImageShape, format: ImageFormat, usage: ImageUsage): string => {
  const { depth, height, kind, layers, width } = shape ?? {}
  const { order, type } = format ?? {}
  return `${order} ${type} ${kind} ${width} ${height} ${depth} ${layers} ${usage}`
}

/**
 * The error of asking for a lease in a scope or pool that is closed.
 *
 * @internal
 */
export const unavailable = (
  { label, size }: { readonly label: string | undefined; readonly size: number },
  why: Released["why"]
): GpuError => makeError(new Released({ operation, label, size, why, what: "image" }))

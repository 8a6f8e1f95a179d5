/**
 * A source of buffers whose requests can ask for memory apart from other buffers.
 *
 * @internal
 */
import type { RequestOptions } from "../../domain/pool/PoolOptions.ts"
import * as BufferLike from "./BufferLike.ts"
import { BufferSource } from "./BufferSource.ts"

interface ApartOptions extends RequestOptions {
  readonly apart?: ReadonlyArray<BufferLike.BufferLike> | undefined
}

export class ApartSource extends BufferSource {
  apartOf({ apart }: ApartOptions): ReadonlyArray<object> | undefined {
    const found = this.keepsApart ? apart?.flatMap((buffer) => BufferLike.deviceBuffer(buffer)?.allocation ?? []) : []
    return found?.length ? found : undefined
  }
}

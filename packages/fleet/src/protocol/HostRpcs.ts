/**
 * What clients ask a host, directly.
 *
 * @since 0.1.0
 */
import { GpuError } from "effect-gpu-pool/GpuError"
import * as Rpc from "effect/rpc/Rpc"
import * as RpcGroup from "effect/rpc/RpcGroup"
import * as Schema from "effect/Schema"
import { Grant } from "./FleetModel.ts"

/**
 * The most bytes of one chunk.
 *
 * @category functions
 * @since 0.1.0
 */
export const chunkBytes = 256 * 1024

/** Which reservation a call is about. A host answers HostLost for another epoch than its own. */
const within = { lease: Schema.String, epoch: Schema.Number }

/**
 * A part of what a job answers.
 *
 * @category models
 * @since 0.1.0
 */
export type RunPart = typeof RunPart.Type

/**
 * The schema of a {@link RunPart}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const RunPart = Schema.Union([
  Schema.TaggedStruct("Chunk", { data: Schema.Uint8Array }),
  /** The chunks before it are the encoded output of the job, or its encoded error. */
  Schema.TaggedStruct("End", { outcome: Schema.Literals(["output", "error"]) })
])

/**
 * The calls.
 *
 * @category models
 * @since 0.1.0
 */
export class HostRpcs extends RpcGroup.make(
  /**
   * Reserves the bytes that the broker has placed, for as long as the client reads the stream. It begins with `granted`, and goes on
   * with `alive` at each heartbeat.
   */
  Rpc.make("Hold", {
    payload: { ...Grant.fields, epoch: Schema.Number },
    success: Schema.Literals(["granted", "alive"]),
    error: GpuError,
    stream: true
  }),
  /** Runs a job in a reservation. Its encoded input is `input`, or what was sent before under the identifier `transfer`. */
  Rpc.make("Run", {
    payload: {
      ...within,
      job: Schema.String,
      input: Schema.UndefinedOr(Schema.Uint8Array),
      transfer: Schema.UndefinedOr(Schema.String)
    },
    success: RunPart,
    error: GpuError,
    stream: true
  }),
  /** Sends a chunk of a job's encoded input, which has `size` bytes. Answers when the host has room for the next. */
  Rpc.make("Send", {
    payload: {
      ...within,
      transfer: Schema.String,
      size: Schema.Number,
      offset: Schema.Number,
      data: Schema.Uint8Array
    },
    error: GpuError
  }),
  /** Allocates a buffer within a reservation. */
  Rpc.make("Allocate", {
    payload: { ...within, buffer: Schema.String, bytes: Schema.Number, label: Schema.UndefinedOr(Schema.String) },
    error: GpuError
  }),
  Rpc.make("Write", {
    payload: { ...within, buffer: Schema.String, offset: Schema.Number, data: Schema.Uint8Array },
    error: GpuError
  }),
  Rpc.make("Read", {
    payload: { ...within, buffer: Schema.String, offset: Schema.Number, length: Schema.Number },
    success: Schema.Uint8Array,
    error: GpuError,
    stream: true
  }),
  Rpc.make("Free", { payload: { ...within, buffer: Schema.String }, error: GpuError })
) {}

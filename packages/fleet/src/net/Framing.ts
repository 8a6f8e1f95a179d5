/**
 * Messages as bytes, each in a frame that begins with its length.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as RpcSerialization from "effect/rpc/RpcSerialization"

/** In bytes. Chunks of data are 64 times smaller. */
const mostFrame = 2 ** 24

/**
 * A server closes the connection of who sends something else than frames, because what follows cannot be understood either. For
 * Effect's RPC server, only too long a message is a reason to close: otherwise it answers each further packet with an error.
 */
export const layer: Layer.Layer<RpcSerialization.RpcSerialization> = Layer.effect(
  RpcSerialization.RpcSerialization,
  Effect.map(RpcSerialization.RpcSerialization, (serialization) => ({
    ...serialization,
    makeUnsafe: () => {
      const parser = serialization.makeUnsafe()
      return {
        encode: parser.encode,
        decode: (data) => {
          try {
            return parser.decode(data)
          } catch {
            throw new RpcSerialization.MaxBufferSizeExceeded({ maxBufferSize: mostFrame })
          }
        }
      }
    }
  }))
).pipe(Layer.provide(RpcSerialization.layerSchemaBinary({ maxFrameSize: mostFrame })))

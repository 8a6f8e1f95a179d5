/**
 * Writes of several fibers on one socket.
 *
 * @internal
 */
import * as Semaphore from "effect/Semaphore"
import type { Writer } from "effect/socket/Socket"

/**
 * Lets one fiber write at a time. Else each of them listens for the room that a slow peer makes, and Node warns of a leak when more than
 * ten do.
 */
export const oneWriter = (writer: Writer): Writer => {
  const semaphore = Semaphore.makeUnsafe(1)
  return {
    write: (chunk) => semaphore.withPermit(writer.write(chunk)),
    writeAll: (chunks) => semaphore.withPermit(writer.writeAll(chunks))
  }
}

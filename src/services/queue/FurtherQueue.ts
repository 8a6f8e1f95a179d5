/**
 * The check of a request for a further queue.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { valid } from "../../domain/arguments/ArgumentProblem.ts"
import * as Label from "../../domain/arguments/Label.ts"
import { type GpuError, unsupported } from "../../domain/GpuError.ts"
import { validated } from "../calls/Validated.ts"
import type { DeviceContext } from "../device/DeviceContext.ts"
import type { Queue, QueueOptions } from "./CommandQueue.ts"

/** Opens a queue with a label, which ends with the scope. */
export type Open = (label: string | undefined) => Effect.Effect<Queue, GpuError, Scope.Scope>

export const openQueue = (
  { info, status }: DeviceContext["Service"],
  own: Queue,
  open: Open | undefined,
  options: QueueOptions | undefined
): Effect.Effect<Queue, GpuError, Scope.Scope> =>
  validated("CommandQueue.make", (operation) => {
    const { label, share } = options ?? {}
    valid(Label.problem(operation, label))
    valid(status.error)
    if (open !== undefined) return open(label)
    if (share === true) return Effect.succeed(own)
    return unsupported(
      operation,
      info.backend,
      "a second queue of a device",
      "Set share to take that one, or leave the queue out."
    )
  })

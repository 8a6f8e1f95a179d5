/**
 * Command queues that other code has made: the checks before they are used. A number that is no address of a queue
 * crashes the process, since no driver can detect it.
 *
 * @internal
 */
import { valid } from "../../../domain/arguments/ArgumentProblem.ts"
import { formatted } from "../../../domain/arguments/Format.ts"
import { type GpuError, invalidRequest } from "../../../domain/GpuError.ts"
import { handleProblem } from "../memory/AdoptedHandle.ts"
import type { OpenClApi } from "../OpenClApi.ts"
import * as OpenClCode from "../OpenClCode.ts"
import { driverError, type FailedCall } from "../OpenClError.ts"

const CL_QUEUE_CONTEXT = 0x1090
const CL_QUEUE_DEVICE = 0x1091
const CL_QUEUE_PROPERTIES = 0x1093
const CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE = 1n
const CL_INVALID_COMMAND_QUEUE = -36

/** The context and device that a queue must belong to. */
export interface Owner {
  readonly context: bigint
  /** When left out, any device of the context will do. */
  readonly device?: bigint | undefined
}

/** Throws why a queue cannot be used in the order of its commands. */
export const checkQueue = (
  operation: string,
  api: OpenClApi,
  queue: bigint,
  { context, device }: Owner,
  onFailure: (failed: FailedCall) => GpuError = driverError
): void => {
  valid(handleProblem(operation, queue, "cl_command_queue"))
  const info = (what: number): bigint => {
    const value = new BigUint64Array(new ArrayBuffer(8))
    const code = api.clGetCommandQueueInfo(queue, what, 8, value, null)
    if (code === OpenClCode.success) return value[0]!
    throw code !== CL_INVALID_COMMAND_QUEUE ? onFailure({ call: "clGetCommandQueueInfo", code }) : invalidRequest(
      operation,
      `the driver knows no command queue ${formatted(queue)}`,
      "Pass the handle that clCreateCommandQueue returned, before it is released."
    )
  }
  if ((info(CL_QUEUE_PROPERTIES) & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) !== 0n) {
    throw invalidRequest(
      operation,
      "the queue executes out of order, so it does not order its commands",
      "Create it without CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE."
    )
  }
  const expected = [["context", CL_QUEUE_CONTEXT, context], ["device", CL_QUEUE_DEVICE, device]] as const
  for (const [name, what, wanted] of expected) {
    if (wanted === undefined || info(what) === wanted) continue
    throw invalidRequest(
      operation,
      `the queue belongs to another ${name}`,
      "Pass the context and the device that it was created with."
    )
  }
}

/**
 * How a command ends: its exit code, and its error on stderr.
 *
 * @internal
 */
import type { GpuError } from "effect-gpu-pool/GpuError"
import * as CliError from "effect/cli/CliError"
import * as Runtime from "effect/Runtime"

/** The command could not do what was asked: exit code 1. */
export const failing = (userMessage: string, cause: unknown = userMessage): CliError.UserError =>
  new CliError.UserError({ cause, userMessage })

export const forUser = (error: GpuError): CliError.UserError => failing(error.message, error)

/** The command did what was asked, and the answer is no: exit code 2, by which scripts tell it from a mistake. */
export class AnswerIsNo extends Error {
  override readonly name = "AnswerIsNo"
  override readonly [Runtime.errorExitCode] = 2
  override readonly [Runtime.errorReported] = false
  override readonly [CliError.userMessage]: string

  constructor(message: string) {
    super(message)
    this[CliError.userMessage] = message
  }
}

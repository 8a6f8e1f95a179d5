/**
 * What programs have thrown, and values as JSON, such that printing them steers no terminal and forges no line.
 *
 * @internal
 */
import * as Format from "effect-gpu-pool/Format"
import { format } from "effect/Formatter"

/** A value as JSON, in lines if it is indented. */
export const json = (value: object, indent?: number): string =>
  Format.lines(JSON.stringify(value, undefined, indent), Infinity)

/** The message of an error, or whatever else was thrown, with the members of an object. */
export const messageOf = (thrown: unknown): string =>
  thrown instanceof Error ? Format.messageOf(thrown) : format(thrown)

/** What a program has thrown, and where: `RangeError: no tile, at /jobs.ts:4:9`. */
export const failureOf = (thrown: unknown): string =>
  thrown instanceof Error ? Format.thrownPlace(thrown) : Format.line(format(thrown))

/**
 * How a program learns of what failed where no effect of its own could fail, as in a finalizer.
 *
 * @internal
 */
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"

export type Warn = (message: string) => Effect.Effect<void>

/** A warning to the program's loggers. */
export const toLoggers: Warn = (message) => Effect.logWarning(message)

/** A warning on the console, for pages: Effect's loggers would add 2 kB to what they load. */
export const toConsole: Warn = (message) => Console.warn(message)

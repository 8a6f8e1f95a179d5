/**
 * What to do next about a driver's error, the same words on every backend.
 *
 * @internal
 */

export const compile = "Correct the kernel's body or preamble at the line that the log names, and ask for it again."

export const recorded =
  "The results of these commands and of later ones are unspecified: check their kernels, arguments " +
  "and buffers, then record the work again."

export const call =
  "Check what the code means in the driver's documentation and whether the device is in good order, then " +
  "try again."

/** The hint for a failure among recorded commands, or, without any, of a call by itself. */
export const forCommands = (commands: ReadonlyArray<string>): string => commands.length === 0 ? call : recorded

/**
 * Hints for driver errors, or for a missing driver: the same words on every backend.
 *
 * @internal
 */

/** The name of a device in errors about memory of another opening of the same device. */
export const anotherOpening = (device: string): string => `another opening of ${device}`

export const openedTwice =
  "Perhaps a layer was built twice: each call of a backend's layer() makes a layer that opens a device of its " +
  "own. Keep one in a constant and provide that everywhere, or provide the pool together with its device, as " +
  "BufferPool.layer().pipe(Layer.provideMerge(gpu))."

export const compile = "Correct the kernel's body or preamble at the line that the log names, and ask for it again."

export const recorded =
  "The results of these commands and of later ones are unspecified: check their kernels, arguments " +
  "and buffers, then record the work again."

export const call =
  "Check what the code means in the driver's documentation and whether the device is in good order, then " +
  "try again."

export const uncaptured =
  "No call of the library raised it, but one that the program or another library has made on the raw device: correct that one."

/** The hint for a failure among recorded commands, or, without any, of a call by itself. */
export const forCommands = (commands: ReadonlyArray<string>): string => commands.length === 0 ? call : recorded

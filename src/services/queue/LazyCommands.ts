/**
 * What a queue loads at the first dispatch, rectangle or view, or with a second queue. It is one module, since bundlers
 * make a file of its own of what several modules share.
 *
 * @internal
 */
export { Dispatches } from "./Dispatches.ts"
export { openQueue } from "./FurtherQueue.ts"
export { readView } from "./ReadView.ts"
export { RectangleCommands } from "./RectangleCommands.ts"

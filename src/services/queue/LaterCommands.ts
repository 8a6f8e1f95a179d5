/**
 * What a queue loads at the first dispatch or rectangle. It is one piece, since bundlers make a file of whatever several pieces
 * share.
 *
 * @internal
 */
export { bind } from "./DispatchArguments.ts"
export { RectangleCommands } from "./RectangleCommands.ts"

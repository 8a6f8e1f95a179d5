/**
 * The place of a call in the program, as "file:line:column".
 *
 * @since 0.1.0
 */
export { note, of, track, trackFrames } from "./CallPlaces.ts"

/**
 * How this backend's modules get at the open device of a program.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import { OpenCl } from "./OpenCl.ts"
import { Opened } from "./Opened.ts"

/** @internal */
export const opened: Effect.Effect<Opened, never, OpenCl> = OpenCl.useSync(({ sealed }) => sealed.open(Opened))

/** @internal */
export const useOpened = <A, E, R>(f: (opened: Opened) => Effect.Effect<A, E, R>): Effect.Effect<A, E, R | OpenCl> =>
  Effect.flatMap(opened, f)

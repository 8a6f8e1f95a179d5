/** The flags of the programs that draw a map. */
import { Flag } from "effect/cli"
import * as Earth from "./Earth.ts"

const isSize = (size: number): boolean => size >= 32 && Earth.height % size === 0

export const mapFlags = {
  out: Flag.String("out").pipe(
    Flag.withDefault("fleet.png"),
    Flag.withDescription("The file to write (default fleet.png)")
  ),
  scale: Flag.Int("scale").pipe(
    Flag.filter((scale) => scale >= 1 && scale <= 8, () => "a whole number from 1 to 8"),
    Flag.withDefault(2),
    Flag.withDescription("Pixels from one of the 2048 x 1024 heights to the next (default 2)")
  ),
  size: Flag.Int("size").pipe(
    Flag.filter(isSize, () => "a power of two from 32 to 1024"),
    Flag.withDefault(256),
    Flag.withDescription("Pixels of a square's side (default 256)")
  )
}

/** The job of the fleet: one square of the map, on whichever host has the bytes free. */
import { FleetJob } from "@effect-gpu-pool/fleet"
import { Effect, Schema } from "effect"
import type { Earth } from "./Earth.ts"
import * as Terrain from "./Terrain.ts"

export class Painted extends Schema.Class<Painted>("Painted")({
  x: Schema.Int,
  y: Schema.Int,
  /** Red, green and blue of the square's pixels, row by row. */
  rgb: Schema.Uint8Array,
  /** Who painted it. */
  host: Schema.String
}) {}

/** Painting a square twice is the same as once, so it runs again elsewhere if its host is lost. */
export const Tile = FleetJob.make("Tile", {
  input: Schema.Struct({ x: Schema.Int, y: Schema.Int, size: Schema.Int, scale: Schema.Int }),
  output: Painted,
  bytes: Terrain.bytesOf,
  isIdempotent: true
})

/** What a host runs for it. Each host has the heights, so only the square's place is sent. */
export const handler = (earth: Earth) =>
  FleetJob.handler(
    Tile,
    Effect.fnUntraced(function*(square) {
      const { host } = yield* FleetJob.CurrentHost
      return new Painted({ x: square.x, y: square.y, rgb: yield* Terrain.paint(earth, square), host })
    })
  )

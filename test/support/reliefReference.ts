/** What the examples that draw reliefs compute on a device, in float64 and without it. */

/** The uniform cubic B-spline by de Boor's recursion. */
export const curve = (value: (index: number) => number, position: number): number => {
  const first = Math.floor(position)
  let points = [-1, 0, 1, 2].map((k) => value(first + k))
  for (const degree of [3, 2, 1]) {
    points = points.slice(1).map((point, k) => {
      const share = (position - first + degree - 1 - k) / degree
      return points[k]! * (1 - share) + point * share
    })
  }
  return points[0]!
}

/** The brightness of a slope of metres to the right and down per metre, in light from an azimuth and an altitude in degrees. */
export const lightOn = (right: number, down: number, azimuth: number, altitude: number): number => {
  const [turn, rise] = [azimuth * Math.PI / 180, altitude * Math.PI / 180]
  const light = [Math.cos(rise) * Math.sin(turn), -Math.cos(rise) * Math.cos(turn), Math.sin(rise)] as const
  const out = [-right, -down, 1] as const
  const cosine = (light[0] * out[0] + light[1] * out[1] + light[2] * out[2]) / Math.hypot(...out)
  return 0.35 + 0.8 * Math.max(0, cosine)
}

const palette = [
  [0x4f, 0x8a, 0x63],
  [0x86, 0xb0, 0x6f],
  [0xb7, 0xc9, 0x83],
  [0xe3, 0xd6, 0xa0],
  [0xd6, 0xb0, 0x7a],
  [0xb9, 0x8a, 0x64],
  [0x99, 0x70, 0x5a],
  [0xf4, 0xef, 0xe9]
] as const

/** Red, green and blue of a share from 0 to 1 of the heights. */
export const tint = (share: number): ReadonlyArray<number> => {
  const below = Math.min(Math.floor(share * 7), 6)
  return palette[below]!.map((channel, at) => channel + (share * 7 - below) * (palette[below + 1]![at]! - channel))
}

/**
 * Sines and arcsines for kernels. WGSL lets a driver's own sin() be wrong by 2^-11, which is 3 km on the ground, and its
 * asin() by 4,096 units in the last place. Multiplications, additions and square roots are exact enough everywhere, so the
 * kernels bring power series of their own, and one tolerance holds on every device.
 */

/** How many factors it takes until the next one changes no 32-bit result: up to π/2 for the sine, 1/2 for the arcsine. */
const sineTerms = 7
const arcsineTerms = 11

/** sin x = x − x³/3! + x⁵/5! − ... */
const sineFactor = (k: number): number => k === 0 ? 1 : -sineFactor(k - 1) / (2 * k * (2 * k + 1))

/** asin x = x + 1/2 · x³/3 + (1·3)/(2·4) · x⁵/5 + ... */
const arcsineFactor = (k: number): number => binomial(k) / (2 * k + 1)
const binomial = (k: number): number => k === 0 ? 1 : binomial(k - 1) * (2 * k - 1) / (2 * k)

/** The odd power series of `x` whose square is `square`, as an expression of both languages. */
const series = (terms: number, factor: (k: number) => number): string => {
  const factors = Array.from({ length: terms }, (_, k) => `${factor(k).toExponential(9)}f`)
  return `x * ${factors.reduceRight((rest, factor) => `(${factor} + square * ${rest})`)}`
}

const sine = series(sineTerms, sineFactor)
const arcsine = series(arcsineTerms, arcsineFactor)
const pi = "3.14159274f"
const halfPi = "1.57079637f"

/**
 * `haversine(angle)` is sin²(angle / 2) for angles up to a full turn, `arcsine(sine)` is for 0 to 1. The haversine keeps
 * small distances exact, where the cosine of the angle would round to 1.
 */
export const preamble = {
  wgsl: `
    fn haversine(angle: f32) -> f32 {
      let x = min(0.5f * abs(angle), ${pi} - 0.5f * abs(angle));
      let square = x * x;
      let sine = ${sine};
      return sine * sine;
    }
    fn arcsine(sine: f32) -> f32 {
      let folded = sine > 0.5f;
      let x = select(sine, sqrt(0.5f - 0.5f * sine), folded);
      let square = x * x;
      let angle = ${arcsine};
      return select(angle, ${halfPi} - 2.0f * angle, folded);
    }`,
  opencl: `
    float haversine(float angle) {
      const float x = fmin(0.5f * fabs(angle), ${pi} - 0.5f * fabs(angle));
      const float square = x * x;
      const float sine = ${sine};
      return sine * sine;
    }
    float arcsine(float sine) {
      const int folded = sine > 0.5f;
      const float x = folded ? sqrt(0.5f - 0.5f * sine) : sine;
      const float square = x * x;
      const float angle = ${arcsine};
      return folded ? ${halfPi} - 2.0f * angle : angle;
    }`
}

/** The same for host kernels, whose sine is exact. */
export const haversine = (angle: number): number => Math.sin(angle / 2) ** 2

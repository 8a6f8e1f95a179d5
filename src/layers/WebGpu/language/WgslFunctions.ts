/**
 * Functions in WGSL for the operations that it lacks, or that its rules leave open.
 *
 * @internal
 */
import { type Functions, functionsOf } from "../../../domain/language/FunctionTable.ts"

/** Alike in f32 and f16. */
const forBoth = (type: "f32" | "f16"): ReadonlyArray<string> => {
  const isNaN = (name: string): string => `isNaN__f32(${type === "f16" ? `f32(${name})` : name})`
  return [
    `fn minimum__${type}(a: ${type}, b: ${type}) -> ${type} {
  return select(select(min(a, b), b, ${isNaN("b")}), a, ${isNaN("a")});
}`,
    `fn maximum__${type}(a: ${type}, b: ${type}) -> ${type} {
  return select(select(max(a, b), b, ${isNaN("b")}), a, ${isNaN("a")});
}`,
    `fn sign__${type}(a: ${type}) -> ${type} {
  return select(select(a, ${type}(-1.0), a < 0), ${type}(1.0), a > 0);
}`,
    `fn fmod__${type}(a: ${type}, b: ${type}) -> ${type} {
  let product = b * trunc(quotient__${type}(a, b));
  return a - product;
}`
  ]
}

export const functions: Functions = functionsOf([
  "fn bits__f32(bits: u32) -> f32 { return bitcast<f32>(bits); }",
  // No bitcast to halves, which naga does not know: https://github.com/gfx-rs/wgpu/issues/8896
  "fn bits__f16(bits: u32) -> f16 { return f16(unpack2x16float(bits).x); }",
  "fn isNaN__f32(a: f32) -> bool { return (bitcast<u32>(a) & 0x7fffffffu) > 0x7f800000u; }",
  "fn isFinite__f32(a: f32) -> bool { return (bitcast<u32>(a) & 0x7f800000u) != 0x7f800000u; }",
  `fn signed__f32(magnitude: f32, sign: f32) -> f32 {
  return bitcast<f32>(bitcast<u32>(magnitude) | (bitcast<u32>(sign) & 0x80000000u));
}`,
  // As `Quotient.ts` has it; those of f16 are within the range of f32.
  `fn quotient__f32(a: f32, b: f32) -> f32 {
  let scale = select(1.0f, 0.25f, abs(b) > 1e37f);
  return (a * scale) / (b * scale);
}`,
  "fn quotient__f16(a: f16, b: f16) -> f16 { return f16(f32(a) / f32(b)); }",
  ...forBoth("f32"),
  ...forBoth("f16"),
  `fn i32__f32(a: f32) -> i32 {
  if (isNaN__f32(a)) { return 0i; }
  if (a >= 2147483648.0f) { return 2147483647i; }
  if (a <= -2147483648.0f) { return i32(-2147483648); }
  return i32(a);
}`,
  `fn u32__f32(a: f32) -> u32 {
  if (isNaN__f32(a) || a <= 0.0f) { return 0u; }
  if (a >= 4294967296.0f) { return 4294967295u; }
  return u32(a);
}`,
  `fn wholePower__f32(a: f32, exponent: f32) -> f32 {
  var rest = u32(exponent);
  var square = a;
  var product = 1.0f;
  while (rest != 0u) {
    if ((rest & 1u) == 1u) { product *= square; }
    square *= square;
    rest >>= 1u;
  }
  return product;
}`,
  // A product may be subnormal, so taken for zero, where its reciprocal is a finite number.
  `fn powerOfMagnitude__f32(a: f32, b: f32) -> f32 {
  if (trunc(b) != b || abs(b) > 16.0f) { return pow(a, b); }
  let product = wholePower__f32(a, abs(b));
  if (b >= 0.0f) { return product; }
  if (product < 1.1754943508222875e-38f) { return wholePower__f32(1.0f / a, -b); }
  return 1.0f / product;
}`,
  `fn power__f32(a: f32, b: f32) -> f32 {
  if (b == 0.0f || a == 1.0f) { return 1.0f; }
  if (isNaN__f32(a) || isNaN__f32(b)) { return bits__f32(0x7fc00000u); }
  let magnitude = abs(a);
  if (magnitude == 1.0f && !isFinite__f32(b)) { return 1.0f; }
  var power = powerOfMagnitude__f32(magnitude, b);
  if (magnitude == 0.0f) { power = select(0.0f, bits__f32(0x7f800000u), b < 0.0f); }
  if ((bitcast<u32>(a) >> 31u) == 0u) { return power; }
  let whole = trunc(b) == b;
  if (!whole && a != 0.0f && isFinite__f32(a)) { return bits__f32(0x7fc00000u); }
  let odd = whole && abs(b) < 16777216.0f && (i32(b) & 1i) == 1i;
  return select(power, -power, odd);
}`,
  `fn asinOfHalf__f32(a: f32) -> f32 {
  let z = a * a;
  let p = ((((4.2163199048e-2f * z + 2.4181311049e-2f) * z + 4.5470025998e-2f) * z + 7.4953002686e-2f) * z
    + 1.6666752422e-1f) * z;
  return a + a * p;
}`,
  `fn asin__f32(a: f32) -> f32 {
  let magnitude = abs(a);
  if (magnitude > 1.0f) { return bits__f32(0x7fc00000u); }
  if (magnitude <= 0.5f || isNaN__f32(a)) { return asinOfHalf__f32(a); }
  let angle = 1.5707963268f - 2.0f * asinOfHalf__f32(sqrt(0.5f * (1.0f - magnitude)));
  return select(angle, -angle, a < 0.0f);
}`,
  `fn acos__f32(a: f32) -> f32 {
  let magnitude = abs(a);
  if (magnitude > 1.0f) { return bits__f32(0x7fc00000u); }
  if (magnitude <= 0.5f || isNaN__f32(a)) { return 1.5707963268f - asinOfHalf__f32(a); }
  let angle = 2.0f * asinOfHalf__f32(sqrt(0.5f * (1.0f - magnitude)));
  return select(angle, 3.1415926536f - angle, a < 0.0f);
}`,
  `fn atanOfOne__f32(a: f32) -> f32 {
  let large = a > 0.4142135624f;
  let x = select(a, (a - 1.0f) / (a + 1.0f), large);
  let z = x * x;
  let p = (((8.05374449538e-2f * z - 1.38776856032e-1f) * z + 1.99777106478e-1f) * z - 3.33329491539e-1f) * z;
  return select(0.0f, 0.7853981634f, large) + (x + x * p);
}`,
  `fn atan__f32(a: f32) -> f32 {
  let magnitude = abs(a);
  let large = magnitude > 1.0f;
  let angle = atanOfOne__f32(select(magnitude, 1.0f / magnitude, large));
  return signed__f32(select(angle, 1.5707963268f - angle, large), a);
}`,
  `fn atan2__f32(a: f32, b: f32) -> f32 {
  if (isNaN__f32(a) || isNaN__f32(b)) { return bits__f32(0x7fc00000u); }
  let y = abs(a);
  let x = abs(b);
  var ratio = quotient__f32(min(x, y), max(x, y));
  if (x == y) { ratio = select(1.0f, 0.0f, x == 0.0f); }
  let low = atanOfOne__f32(ratio);
  let right = select(low, 1.5707963268f - low, y > x);
  let angle = select(right, 3.1415926536f - right, (bitcast<u32>(b) >> 31u) == 1u);
  return signed__f32(angle, a);
}`,
  // Compilers may multiply three factors in any order, and the product of any two of them must not be infinite where the
  // result is not. So the root is divided by e, and the square of that is multiplied by e^2 / 2. Where the square counts,
  // 1 is subtracted without an error, as ln(2) / 2 would not be.
  `fn sinh__f32(a: f32) -> f32 {
  let magnitude = abs(a);
  let z = a * a;
  if (magnitude < 1.0f || isNaN__f32(a)) {
    return a + a * (((2.03721912945e-4f * z + 8.33028376239e-3f) * z + 1.66667160211e-1f) * z);
  }
  let root = exp(0.5f * magnitude - 1.0f);
  return signed__f32(3.6945280495f * root * root - 6.7667641618e-2f / root / root, a);
}`,
  `fn cosh__f32(a: f32) -> f32 {
  let root = exp(0.5f * abs(a) - 1.0f);
  return 3.6945280495f * root * root + 6.7667641618e-2f / root / root;
}`,
  `fn tanh__f32(a: f32) -> f32 {
  let magnitude = abs(a);
  if (magnitude < 0.625f || isNaN__f32(a)) {
    let z = a * a;
    let p = (((-5.70498872745e-3f * z + 2.06390887954e-2f) * z - 5.37397155531e-2f) * z + 1.33314422036e-1f) * z;
    return a + a * ((p - 3.33332819422e-1f) * z);
  }
  return signed__f32(1.0f - 2.0f / (exp(2.0f * min(magnitude, 20.0f)) + 1.0f), a);
}`,
  `fn logOfNext__f32(a: f32) -> f32 {
  let next = 1.0f + a;
  let bits = bitcast<u32>(next) - 0x3f3504f3u;
  let exponent = f32(bitcast<i32>(bits) >> 23u);
  let lost = select((a - (next - 1.0f)) / next, 0.0f, exponent == 0.0f);
  let mantissa = bitcast<f32>((bits & 0x7fffffu) + 0x3f3504f3u);
  let x = select(mantissa - 1.0f, a, exponent == 0.0f);
  let z = x * x;
  let q = ((((7.0376836292e-2f * x - 1.1514610310e-1f) * x + 1.1676998740e-1f) * x - 1.2420140846e-1f) * x
    + 1.4249322787e-1f) * x - 1.6668057665e-1f;
  let p = ((q * x + 2.0000714765e-1f) * x - 2.4999993993e-1f) * x + 3.3333331174e-1f;
  return (x + (x * z * p - 2.12194440e-4f * exponent - 0.5f * z + lost)) + 0.693359375f * exponent;
}`,
  `fn asinh__f32(a: f32) -> f32 {
  if (!isFinite__f32(a)) { return a; }
  let x = abs(a);
  let large = x > 16777216.0f;
  let square = select(x * x, 0.0f, large);
  let area = logOfNext__f32(select(x + square / (1.0f + sqrt(square + 1.0f)), x, large));
  return signed__f32(area + select(0.0f, 0.6931471806f, large), a);
}`,
  `fn acosh__f32(a: f32) -> f32 {
  if (a < 1.0f) { return bits__f32(0x7fc00000u); }
  if (!isFinite__f32(a)) { return select(a, bits__f32(0x7fc00000u), isNaN__f32(a)); }
  if (a > 16777216.0f) { return logOfNext__f32(a) + 0.6931471806f; }
  let x = a - 1.0f;
  return logOfNext__f32(x + sqrt(x * (2.0f + x)));
}`,
  `fn atanh__f32(a: f32) -> f32 {
  let x = abs(a);
  if (x > 1.0f || isNaN__f32(a)) { return bits__f32(0x7fc00000u); }
  if (x == 1.0f) { return signed__f32(bits__f32(0x7f800000u), a); }
  return signed__f32(0.5f * logOfNext__f32(2.0f * x / (1.0f - x)), a);
}`
])

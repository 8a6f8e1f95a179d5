/**
 * Nested statements of any depth in OpenCL C and WGSL, in shapes that compilers parse recursively.
 */
export type Language = "opencl" | "wgsl"

const one: { readonly [L in Language]: string } = { opencl: "1.0f", wgsl: "1.0" }

const many = (count: number, text: (index: number) => string, between = "") =>
  Array.from({ length: count }, (_, index) => text(index)).join(between)

type Shape = (depth: number, language: Language) => string

/** In both languages. */
const common: { readonly [name: string]: Shape } = {
  "parentheses": (depth, language) => `x[i] = ${"(".repeat(depth)}${one[language]}${")".repeat(depth)};`,
  "terms of a sum": (depth) => `x[i] = ${many(depth, () => "x[i]", " + ")};`,
  "terms to the right": (depth) => `x[i] = ${"x[i] + (".repeat(depth)}x[i]${")".repeat(depth)};`,
  "conditions": (depth, language) => `if (${many(depth, () => `x[i] > ${one[language]}`, " && ")}) { x[i] = x[i]; }`,
  "nested ifs": (depth, language) =>
    `${many(depth, () => `if (x[i] > ${one[language]}) { `)}x[i] = ${one[language]};${" }".repeat(depth)}`,
  "a chain of else if": (depth, language) =>
    many(depth, (index) => `if (i == ${index}u) { x[i] = ${one[language]}; }`, " else "),
  "blocks": (depth, language) => `${"{".repeat(depth)} x[i] = ${one[language]}; ${"}".repeat(depth)}`,
  "signs": (depth) => `x[i] = ${"- ".repeat(depth)}x[i];`,
  "calls": (depth) => `x[i] = ${"sin(".repeat(depth)}x[i]${")".repeat(depth)};`
}

const onlyOpenCl: { readonly [name: string]: Shape } = {
  "negations": (depth) => `x[i] = ${"!".repeat(depth)}i;`,
  "casts": (depth) => `x[i] = ${"(float)".repeat(depth)}x[i];`,
  "casts and signs": (depth) => `x[i] = ${"(float)-".repeat(depth)}x[i];`,
  "casts and complements": (depth) => `x[i] = ${"(int)~".repeat(depth)}i;`,
  "choices": (depth) => `x[i] = ${many(depth, (index) => `i == ${index}u ? ${index}.5f : `)}0.0f;`,
  "assignments": (depth) => `float a; x[i] = ${"a = ".repeat(depth)}1.0f;`,
  "commas": (depth) => `float a; x[i] = (${"a = x[i], ".repeat(depth)}1.0f);`,
  "ifs without braces": (depth) => `${many(depth, (index) => `if (i != ${index + 9}u) `)}x[i] = 1.0f;`,
  "else if without braces": (depth) => many(depth, (index) => `if (i == ${index}u) x[i] = 1.0f; `, "else "),
  "labels": (depth) => `${many(depth, (index) => `l${index}: `)}x[i] = 1.0f;`,
  "cases": (depth) => `switch (i) { ${many(depth, (index) => `case ${index}: `)}x[i] = 1.0f; }`
}

export const shapes = (language: Language): ReadonlyArray<readonly [name: string, shape: Shape]> =>
  Object.entries(language === "opencl" ? { ...common, ...onlyOpenCl } : common)

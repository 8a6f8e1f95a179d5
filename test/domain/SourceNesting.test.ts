import { it } from "@effect/vitest"
import { strictEqual } from "@effect/vitest/utils"
import { deepest } from "../../src/domain/kernel/SourceNesting.ts"

const costs = { bracket: 100, operator: 1, control: 10 }

const measured: ReadonlyArray<readonly [source: string, cost: number]> = [
  ["", 0],
  ["x = a;", 1],
  ["x = a + b + c; y = a;", 3],
  ["x = (a + (b));", 202],
  ["x = - - - a;", 301],
  ["x = !!!a;", 301],
  ["x = --a;", 101],
  ["x = a - b;", 2],
  ["x = (float)(float)a;", 301],
  ["x = (float)-(float)-a;", 301],
  ["x = (int)~(int)~a;", 501],
  ["x = a ? b : c ? d : e;", 5],
  ["x[i] = sin(cos(x[i]));", 305],
  ["a[0][0][0] = 1e-5f + .5;", 105],
  ["if (a) x = 1; else if (b) x = 2; else if (c) x = 3; y = 1;", 133],
  ["if (a) { x = 1; } else if (b) { x = 2; } y = 1;", 121],
  ["if (a) { x = 1; } if (b) { x = 2; } if (c) { x = 3; }", 111],
  ["if (a) { if (b) { x = 1; } }", 221],
  ["for (int i = 0; i < 3; i++) for (;;) x = 1;", 122],
  ["{ a; } { b; } { c; }", 100],
  ["float a[] = { -1, -2, -3, { -4, -5 } };", 303],
  ["#define A -1\n#define B -2\\\n-3\n#define C -1\nint x;", 102],
  ["x = a; // ((((\n y = a; /* ((( \n */ z = '('; w = \"((\\\"(\";", 1],
  ["x = a; // ((", 1],
  ["x = a; /* ((", 1],
  ["((", 200],
  [")))", 0]
]

it.each(measured)("adds up what nests in %j", (source, cost) => strictEqual(deepest(source, costs), cost))

it("counts what is long as fast as what is short", () => {
  const length = 100_000
  strictEqual(deepest("(".repeat(length), costs), 100 * length)
  strictEqual(deepest(`x = ${"-".repeat(length + 1)}a;`, costs), 1 + 100 * Math.ceil((length + 1) / 2))
  strictEqual(deepest(`"${"\\\"".repeat(length)}"`, costs), 0)
  strictEqual(deepest("#\\\n".repeat(length), costs) > 0, true)
})

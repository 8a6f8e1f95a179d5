import { describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import { arena, type ArenaOptions, cupyOptions } from "../../src/domain/pool/PoolStrategy.ts"

const problemOf = (options: unknown): string | undefined => arena(options as ArenaOptions).problem?.message

describe("PoolStrategy.arena", () => {
  it("takes bytes as numbers and as texts", () => {
    deepStrictEqual(arena({ slabBytes: "2 MiB", unitBytes: "1 KiB" }).arena, {
      slabBytes: 2 ** 21,
      growth: 1 / 32,
      unitBytes: 1024,
      borrow: 1
    })
    deepStrictEqual(arena({ slabBytes: 4096, growth: 0, borrow: Infinity }).arena, {
      slabBytes: 4096,
      growth: 0,
      unitBytes: 256,
      borrow: Infinity
    })
    for (const good of [arena(), arena({}), arena({ slabBytes: undefined }), cupyOptions.strategy]) {
      strictEqual(good.problem, undefined)
    }
  })

  it("says what is wrong with its options", () => {
    for (
      const [options, expected] of [
        [7, "7"],
        [null, "null"],
        [{ slabByte: 4096 }, "slabByte"],
        [{ slabBytes: 5000 }, "slabBytes 5000 is no power of two"],
        [{ slabBytes: "5 KiB" }, "slabBytes \"5 KiB\" is no power of two"],
        [{ slabBytes: "50%" }, "slabBytes \"50%\" is no power of two"],
        [{ unitBytes: 8 }, "unitBytes 8 is no power of two"],
        [{ unitBytes: null }, "unitBytes null is no power of two"],
        [{ growth: 2 }, "growth 2 is no share"],
        [{ growth: "1" }, "growth \"1\" is no share"],
        [{ borrow: 0 }, "borrow 0 is no number above 0"],
        [{ borrow: NaN }, "borrow NaN is no number above 0"]
      ] as const
    ) {
      const message = problemOf(options) ?? ""
      strictEqual(message.includes(expected) && message.startsWith("PoolStrategy.arena"), true, message)
    }
  })
})

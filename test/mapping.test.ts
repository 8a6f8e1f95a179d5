/**
 * The table that leads from other libraries' names to this one's: every name in it exists, and no row is empty.
 */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual } from "@effect/vitest/utils"
import { globSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { packages, root } from "./support/packages.ts"
import { type NamedDocument, seedNames } from "./support/seedNames.ts"

const text = (path: string): string => readFileSync(join(root, path), "utf8")

interface Row {
  /** The heading of its table. */
  readonly heading: string
  readonly there: string
  readonly here: string
  readonly notes: string
}

const rowsOf = (page: string): ReadonlyArray<Row> =>
  page.split(/^## /m).flatMap((section) => {
    const [heading = "", ...lines] = section.split("\n")
    return lines
      .filter((line) => line.startsWith("| ") && !line.startsWith("| there") && !line.startsWith("| ---"))
      .map((line) => {
        const [, there = "", here = "", notes = ""] = line.split("|").map((cell) => cell.trim())
        return { heading, there, here, notes }
      })
  })

/** The names in a row. For `A.f(x)` and `A(y=)`: each word as written, each without arguments, and `A.y`. */
const namesThere = ({ there }: Row): ReadonlyArray<string> => [
  there.replaceAll("`", ""),
  ...[...there.matchAll(/`([^`]+)`/g)].flatMap(([, code]) => {
    const plain = code!.replace(/\(.*$/, "")
    const given = /\((.+)\)/.exec(code!)?.[1]!.split(",").map((one) => `${plain}.${one.trim().replace(/=.*$/, "")}`) ??
      []
    return [code!, plain, ...given]
  })
]

/** The names in a document that no row of its tables has. */
const missingNames = ({ headings, names }: NamedDocument, table: ReadonlyArray<Row>): ReadonlyArray<string> => {
  const known = new Set(
    table.filter(({ heading }) => headings.some((start) => heading.startsWith(start))).flatMap(namesThere)
  )
  return names.filter((name) => !known.has(name))
}

/** PyOpenCL and OpenCL's runtime, whose names agree, count as one library. */
const libraryOf = ({ heading }: Row): string =>
  ["PyOpenCL", "OpenCL", "PyCUDA", "CuPy", "RMM"].find((name) => heading.startsWith(name))?.replace(
    "PyOpenCL",
    "OpenCL"
  ) ??
    heading

/**
 * The subjects of a row: each name in it, with the row's plain words, which say to which part of the name the row
 * applies. A name without arguments means all arguments; rows with different arguments have different subjects.
 */
const subjects = (row: Row): ReadonlyArray<{ readonly name: string; readonly code: string }> => {
  const words = row.there.replaceAll(/`[^`]*`|,/g, "").trim()
  return [...row.there.matchAll(/`([^`]+)`/g)].map(([, code]) => ({
    code: code!,
    name: [libraryOf(row), code!.replace(/\(.*$/, ""), words].join(" ").trim()
  }))
}

const isWhole = (code: string): boolean => !code.includes("(")

/** Names for which two rows say different things, although the rows have no different arguments. */
const contradictions = (table: ReadonlyArray<Row>): ReadonlyArray<string> => {
  const known = table.flatMap((row) => subjects(row).map((subject) => ({ ...subject, row })))
  return [
    ...new Set(
      known.filter((one) =>
        known.some((other) =>
          one.name === other.name && one.row.here !== other.row.here &&
          (one.code === other.code || isWhole(one.code) || isWhole(other.code))
        )
      ).map(({ name }) => name)
    )
  ]
}

/** Where each namespace of the entry points lies. */
const modules: ReadonlyMap<string, string> = new Map(
  packages.flatMap(({ folder }) => globSync(join(folder, "src/*.ts"), { cwd: root })).flatMap((entry) =>
    [...text(entry).matchAll(/^export \* as (\w+) from "(\..+)"$/gm)].map(([, name, path]) =>
      [name!, join(dirname(entry), path!)] as const
    )
  )
)

/** The declaration of a name that a module declares or re-exports, with its file. */
const declarationOf = (path: string, name: string): string | undefined => {
  const source = text(path)
  const declared = new RegExp(`^export (declare )?(abstract )?(const|class|interface|type|function) ${name}\\b`, "m")
  const at = declared.exec(source)
  if (at !== null) return source.slice(at.index)
  for (const [, names, from] of source.matchAll(/^export (?:type )?\{([^}]+)\} from "(.+)"$/gm)) {
    const isNamed = names!.split(",").some((one) => one.trim().replace(/^type /, "") === name)
    if (isNamed) return declarationOf(join(dirname(path), from!), name)
  }
  for (const [, from] of source.matchAll(/^export \* from "(.+)"$/gm)) {
    const passedOn = declarationOf(join(dirname(path), from!), name)
    if (passedOn !== undefined) return passedOn
  }
  return undefined
}

const isMember = (declaration: string, member: string): boolean => {
  const end = declaration.search(/^(\}|\})\S*$/m)
  return new RegExp(`^  (declare )?(readonly |get )?${member}\\b[?]?(?:[(:<]| = )`, "m").test(
    end === -1 ? declaration : declaration.slice(0, end)
  )
}

/** Why a name of this library does not exist. */
const problemOf = (name: string): string | undefined => {
  const [, namespace, exported, member] = /^(\w+)\.(\w+)(?:#(\w+))?$/.exec(name) ?? []
  if (namespace === undefined || exported === undefined) return undefined
  const path = modules.get(namespace)
  if (path === undefined) return `${name}: no entry point exports ${namespace}`
  const declaration = declarationOf(path, exported)
  if (declaration === undefined) return `${name}: ${path} does not export ${exported}`
  return member === undefined || isMember(declaration, member) ? undefined : `${name}: ${exported} has no ${member}`
}

const names = (cell: string): ReadonlyArray<string> =>
  [...cell.matchAll(/`([A-Z]\w+\.\w+(?:#\w+)?)`/g)].map(([, name]) => name!)

const row = (there: string, here: string, heading = "PyOpenCL"): Row => ({ heading, there, here, notes: "" })

const rows = rowsOf(text("docs/mapping.md"))

describe("the mapping table", () => {
  it("names what exists", () => {
    const problems = rows.flatMap(({ here, notes }) => [...names(here), ...names(notes)].map(problemOf))
    deepStrictEqual(problems.filter((problem) => problem !== undefined), [])
  })

  it("has no empty row, and a reason wherever a name has no counterpart", () => {
    assert.isAtLeast(rows.length, 150)
    const empty = rows.filter(({ here, notes, there }) =>
      there === "" || (names(here).length === 0 && (!/^(none|still to come)$/.test(here) || notes === ""))
    )
    deepStrictEqual(empty, [])
  })

  it.each(Object.entries(seedNames))("has every name of %s", (_, document) => {
    deepStrictEqual(missingNames(document, rows), [])
  })

  it("finds a name that has no row", () => {
    const cuPy = seedNames["CuPy's pool"]!
    const without = rows.filter(({ there }) => !there.includes("free_bytes"))
    deepStrictEqual(missingNames(cuPy, without), ["MemoryPool.free_bytes"])
    // A name is looked up only in its own library.
    deepStrictEqual(missingNames({ headings: ["PyCUDA"], names: ["MemoryPool.malloc"] }, rows), ["MemoryPool.malloc"])
  })

  it("says one thing of each name of a library", () => {
    deepStrictEqual(contradictions(rows), [])
  })

  it("finds two rows that contradict each other", () => {
    const map = row("`enqueue_map_image`", "`Images.map`", "OpenCL runtime: memory objects")
    const flag = row("`HOST_READ_ONLY`, `HOST_NO_ACCESS`", "`BufferUsage.hostReadOnly`")
    deepStrictEqual(contradictions([map, row("`enqueue_map_image(order=)`", "none")]), ["OpenCL enqueue_map_image"])
    deepStrictEqual(contradictions([flag, row("`HOST_NO_ACCESS`", "none")]), ["OpenCL HOST_NO_ACCESS"])
    deepStrictEqual(contradictions([map, row("`enqueue_map_image`", "none", "CuPy")]), [])
    deepStrictEqual(contradictions([row("`copy`, host", "`A.b`"), row("`copy`, images", "`A.c`")]), [])
    deepStrictEqual(contradictions([row("`Image(buffer=)`", "`A.b`"), row("`Image(hostbuf=)`", "`A.c`")]), [])
  })

  it("puts off only chunks", () => {
    const later = rows.filter(({ here }) => here === "still to come").map(({ there }) => there)
    deepStrictEqual(
      later.filter((there) => !/chunks/.test(there)),
      []
    )
  })

  it("finds a name that does not exist", () => {
    const wrong = ["Nowhere.make", "BufferPool.nothing", "PoolStats.PoolStats#nothing"]
    assert.strictEqual(wrong.map(problemOf).filter((problem) => problem !== undefined).length, 3)
    const right = ["BufferPool.layer", "PoolStats.PoolStats#heldBlocks", "Svm.view"]
    deepStrictEqual(right.map(problemOf), [undefined, undefined, undefined])
  })
})

/** The first page: `index.md`, the tasks of the cookbook, and the entry points, each with a link. */

/** The table at the head of the cookbook as a list for each of its columns: a phone has no room for the table. */
export const tasksOf = (cookbook: string): string => {
  const rows = cookbook.split("\n").filter((line) => line.startsWith("|")).map((line) =>
    line.split("|").slice(1, -1).map((cell) => cell.trim())
  )
  const [head, , ...body] = rows
  if (head === undefined || body.length === 0) throw new Error("docs/cookbook.md begins without a table of its tasks")
  return head.map((column, at) => {
    const tasks = body.flatMap((row) => row[at] === undefined || row[at] === "" ? [] : [row[at]])
    return [
      "<div>",
      "",
      `### ${column.charAt(0).toUpperCase()}${column.slice(1)}`,
      "",
      ...tasks.map((task) => `- ${task.replace("(#", "(../docs/cookbook.md#")}`),
      "",
      "</div>",
      ""
    ].join("\n")
  }).join("\n")
}

/** A link to the page of each entry point, with what the first sentence of its heading says. */
export const entriesOf = (entries: ReadonlyArray<{ name: string; file: string; source: string }>): string =>
  entries.map(({ file, name, source }) => {
    const heading = /^\/\*\*\n((?: \* .+\n)+)/.exec(source)?.[1]
    if (heading === undefined) throw new Error(`${file} has no heading`)
    const [sentence] = heading.replaceAll(/^ \* /gm, "").replaceAll("\n", " ").trim().split(/(?<=\.) /)
    // TypeDoc leads a link to the file of an entry point to its page.
    return `- [\`${name}\`](../${file}): ${sentence!.charAt(0).toLowerCase()}${sentence!.slice(1)}`
  }).join("\n")

const fill = (template: string, marker: string, text: string): string => {
  if (!template.includes(marker)) throw new Error(`site/index.md has no line ${marker}`)
  return template.replace(marker, () => text)
}

export const firstPage = (template: string, cookbook: string, entries: Parameters<typeof entriesOf>[0]): string =>
  fill(
    fill(template, "<!-- the tasks of docs/cookbook.md -->", tasksOf(cookbook)),
    "<!-- the entry points -->",
    entriesOf(entries)
  )

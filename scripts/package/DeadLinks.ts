/** Links of Markdown files that lead nowhere: to files that are not there, and to headings that no page has. */
import Slugger from "github-slugger"
import MarkdownIt, { type Token } from "markdown-it"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { dirname, join, relative, resolve } from "node:path"

export interface DeadLink {
  readonly file: string
  readonly line: number
  readonly target: string
  readonly why: string
}

interface Page {
  /** What a link may name after `#`, as GitHub makes it of headings. */
  readonly anchors: ReadonlySet<string>
  readonly links: ReadonlyArray<{ readonly line: number; readonly target: string }>
}

const markdown = new MarkdownIt()

const textOf = ({ children }: Token): string =>
  (children ?? []).filter(({ type }) => type === "text" || type === "code_inline").map(({ content }) => content).join(
    ""
  )

const attributes: Readonly<Record<string, string>> = { link_open: "href", image: "src" }

const targetsOf = (token: Token): ReadonlyArray<string> => {
  const target = token.attrGet(attributes[token.type] ?? "")
  return target === null ? [] : [String(target)]
}

const pageOf = (text: string): Page => {
  const tokens = markdown.parse(text, {})
  const slugger = new Slugger()
  const headings = tokens.filter((_, at) => tokens[at - 1]?.type === "heading_open")
  // The cells of a table have no lines of their own, its rows do.
  let line = 1
  const links = tokens.flatMap(({ children, map }) => {
    line = map === null ? line : map[0] + 1
    return (children ?? []).flatMap(targetsOf).map((target) => ({ line, target }))
  })
  return { anchors: new Set(headings.map((heading) => slugger.slug(textOf(heading)))), links }
}

const whyDead = (root: string, pages: ReadonlyMap<string, Page>, from: string, target: string): string | undefined => {
  if (URL.canParse(target)) return undefined
  const [path = "", anchor] = target.split("#").map(decodeURIComponent)
  const file = path === "" ? from : relative(root, resolve(root, dirname(from), path))
  if (file.startsWith("..")) return "it leads out of the package"
  if (!existsSync(join(root, file))) return `there is no ${file}`
  return anchor === undefined || pages.get(file)?.anchors.has(anchor) === true
    ? undefined
    : `${file} has no heading #${anchor}`
}

const markdownFiles = (root: string): ReadonlyArray<string> =>
  readdirSync(root, { recursive: true, encoding: "utf8", withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".md"))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .sort()

/** The dead links of all Markdown files of a folder; links to elsewhere, with a scheme, are not followed. */
export const deadLinks = (root: string, files = markdownFiles(root)): ReadonlyArray<DeadLink> => {
  const pages = new Map(files.map((file) => [file, pageOf(readFileSync(join(root, file), "utf8"))]))
  return [...pages].flatMap(([file, { links }]) =>
    links.flatMap(({ line, target }) => {
      const why = whyDead(root, pages, file, target)
      return why === undefined ? [] : [{ file, line, target, why }]
    })
  )
}

/** What the checks of the built site need of its pages: their links, and what a link can lead to. */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { type DefaultTreeAdapterTypes, parse } from "parse5"

export interface Link {
  readonly text: string
  readonly target: string
}

export interface HtmlPage {
  readonly links: ReadonlyArray<Link>
  readonly anchors: ReadonlySet<string>
}

type Node = DefaultTreeAdapterTypes.Node

const childrenOf = (node: Node): ReadonlyArray<Node> => "childNodes" in node ? node.childNodes : []

const textOf = (node: Node): string => "value" in node ? node.value : childrenOf(node).map(textOf).join("")

export const pageOf = (html: string): HtmlPage => {
  const links: Array<Link> = []
  const anchors = new Set<string>()
  const visit = (node: Node): void => {
    if ("attrs" in node) {
      for (const { name, value } of node.attrs) {
        if (name === "id" || (name === "name" && node.tagName === "a")) anchors.add(value)
        // The icons come with a script.
        if (node.tagName === "use") continue
        if (name === "href" || name === "src") links.push({ text: textOf(node), target: value })
      }
    }
    childrenOf(node).forEach(visit)
  }
  visit(parse(html))
  return { links, anchors }
}

export interface Site {
  /** By their paths from the folder of the site, with `/`. */
  readonly pages: ReadonlyMap<string, HtmlPage>
  readonly files: ReadonlySet<string>
}

export const siteIn = (folder: string): Site => {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).map((file) => file.replaceAll("\\", "/"))
  const pages = files.filter((file) => file.endsWith(".html"))
    .map((file) => [file, pageOf(readFileSync(join(folder, file), "utf8"))] as const)
  return { pages: new Map(pages), files: new Set(files) }
}

/** The file and the anchor that a link leads to; nothing for an address outside of the site. */
export const destinationOf = (page: string, target: string): { file: string; anchor: string } | undefined => {
  const { host, protocol, pathname, hash } = new URL(target, `site://site/${page}`)
  if (protocol !== "site:" || host !== "site") return undefined
  return { file: decodeURIComponent(pathname.slice(1)), anchor: decodeURIComponent(hash.slice(1)) }
}

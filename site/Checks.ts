/** What must be true of the built site. Each check gives the problems that it finds. */
import { destinationOf, type Site } from "./Html.ts"

/** Links that lead nowhere, and files that links or pages name from the root of a server: a page may lie in any folder. */
export const deadLinks = ({ files, pages }: Site): ReadonlyArray<string> =>
  [...pages].flatMap(([page, { links }]) =>
    [...new Set(links.map(({ target }) => target))].flatMap((target) => {
      if (target.startsWith("/")) return [`${page}: ${target} begins at the root of a server`]
      const destination = destinationOf(page, target)
      if (destination === undefined) return []
      const { anchor, file } = destination
      if (!files.has(file)) return [`${page}: there is no ${target}`]
      return anchor === "" || pages.get(file)?.anchors.has(anchor) === true
        ? []
        : [`${page}: ${target} leads to no place on its page`]
    })
  )

/** The names that a report of `npm run api` has, by what a program imports: `effect-gpu-pool/BufferPool` has `allocate`. */
export const namesOf = (report: string): ReadonlyMap<string, ReadonlyArray<string>> =>
  new Map(
    report.split(/^## /m).slice(1).map((section) => {
      const [specifier = "", ...lines] = section.split("\n")
      const names = lines.flatMap((line, at) => {
        const renamed = /^\/\/ as (\w+)$/.exec(lines[at - 1] ?? "")?.[1]
        const declared = /^(?:abstract )?(?:const|let|function\*?|class|interface|type|enum|namespace) (\w+)/.exec(line)
          ?.[1]
        return declared === undefined ? [] : [renamed ?? declared]
      })
      const namespaces = lines.filter((line) => /^\w+(?:, \w+)*$/.test(line)).flatMap((line) => line.split(", "))
      return [specifier, [...new Set([...namespaces, ...names])]]
    })
  )

/** TypeDoc writes `_` for what an address would need `%` for. */
const folderOf = (specifier: string): string => `api/${specifier.replace("@", "_")}`

/** The page of what a program imports: that of a module is the page of the entry point's namespace. */
const pageFor = ({ pages }: Site, specifier: string): string | undefined => {
  const [, name] = /^(?:@[^/]+\/)?[^/]+\/([A-Z]\w*)$/.exec(specifier) ?? []
  const page = `${folderOf(specifier)}.html`
  if (pages.has(page) || name === undefined) return pages.has(page) ? page : undefined
  const owner = specifier.slice(0, -name.length - 1)
  return [...pages.keys()].find((file) => file.startsWith(`${folderOf(owner)}/`) && file.endsWith(`/${name}.html`))
}

/** Public names that have no page, or that the page of their module does not lead to. */
export const namesWithoutPage = (site: Site, reports: ReadonlyArray<string>): ReadonlyArray<string> =>
  reports.flatMap((report) =>
    [...namesOf(report)].flatMap(([specifier, names]) => {
      const page = pageFor(site, specifier)
      const links = page === undefined ? undefined : site.pages.get(page)?.links
      if (page === undefined || links === undefined) return [`${specifier} has no page`]
      const shown = new Set(
        links.filter(({ target }) => {
          const destination = destinationOf(page, target)
          return destination !== undefined && destination.anchor === "" && destination.file.startsWith("api/")
        }).map(({ text }) => text.trim())
      )
      return names.filter((name) => !shown.has(name)).map((name) => `${page} leads to no page of ${name}`)
    })
  )

/** Places of the site that take more clicks from its first page, of those that are asked for. */
export const tooFar = ({ pages }: Site, places: ReadonlyArray<string>, clicks: number): ReadonlyArray<string> => {
  const reached = new Set(["index.html"])
  let last: ReadonlySet<string> = reached
  for (let click = 0; click < clicks; click++) {
    const next = new Set<string>()
    for (const place of last) {
      const page = place.replace(/#.*$/, "")
      for (const { target } of pages.get(page)?.links ?? []) {
        const destination = destinationOf(page, target)
        if (destination !== undefined) next.add(`${destination.file}${destination.anchor && `#${destination.anchor}`}`)
      }
    }
    for (const place of next) reached.add(place)
    last = next
  }
  return places.filter((place) => !reached.has(place))
}

/** The places of the twenty tasks: the headings of the cookbook's page that begin with a number. */
export const tasksIn = ({ pages }: Site): ReadonlyArray<string> =>
  [...pages.get("docs/cookbook.html")?.anchors ?? []].filter((anchor) => /^\d+-/.test(anchor))
    .map((anchor) => `docs/cookbook.html#${anchor}`)

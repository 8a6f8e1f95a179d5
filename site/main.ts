/**
 * Builds the site: `npm run site`, into `site/dist`. Its first page, the documents, and the API of every
 * package. It needs no server: open index.html. Fails at a warning of TypeDoc, a dead link, a public name without a page, and a
 * task of the cookbook that is more than two clicks from the first page.
 */
import { globSync, readFileSync, rmSync } from "node:fs"
import { join, resolve } from "node:path"
import {
  Application,
  Comment,
  CommentTag,
  Converter,
  type IndexEvent,
  type PageEvent,
  type Reflection,
  Renderer
} from "typedoc"
import { deadLinks, namesWithoutPage, tasksIn, tooFar } from "./Checks.ts"
import { Documents } from "./Documents.ts"
import { firstPage } from "./FirstPage.ts"
import { siteIn } from "./Html.ts"
import { entryPoints, pages, root } from "./Packages.ts"
import { routerFor } from "./SiteRouter.ts"

const read = (file: string): string => readFileSync(join(root, file), "utf8")

const reference = "API reference"

/**
 * A reader looks for `BufferPool.allocate`, and an entry of TypeDoc's index has only `allocate`. The first character sets the name of
 * an entry apart from its uses in texts, which would make it count as a frequent word. The search finds every name that the query is
 * a part of, so shorter ones count more, and members of a type, which have no page of their own, less. A query of several words is
 * more likely about a subject, which a document has.
 */
const findByPath = (event: IndexEvent, hasPage: (result: Reflection) => boolean): void => {
  event.searchFieldWeights["path"] = 10
  event.searchResults.forEach((result, at) => {
    const { name, parent } = result
    const path = parent === undefined || parent.isProject() ? name : `${parent.name}.${name}`
    event.searchFields[at] = { ...event.searchFields[at], path: `_${path}` }
    result.relevanceBoost = result.isDocument() ? 3 : (hasPage(result) ? 20 : 8) / (10 + name.length)
  })
}

const generate = async (out: string): Promise<void> => {
  const application = await Application.bootstrap({
    name: "effect-gpu-pool",
    entryPoints: entryPoints.map(({ file }) => join(root, file)),
    tsconfig: join(root, "tsconfig.json"),
    basePath: root,
    // The compiler of the repository checks the types; this one only reads them.
    skipErrorChecking: true,
    readme: "none",
    // Where the repository lies on the web, only its owner knows.
    disableSources: true,
    excludeInternal: true,
    excludePrivate: true,
    // What classes inherit from Effect and from JavaScript.
    excludeExternals: true,
    categorizeByGroup: false,
    categoryOrder: [...pages.map(({ category }) => category), reference, "*"],
    navigation: { includeCategories: true, includeGroups: false, includeFolders: false, excludeReferences: true },
    sort: ["kind", "instance-first", "alphabetical-ignoring-documents"],
    sortEntryPoints: false,
    headings: { document: false, readme: false },
    visibilityFilters: {},
    searchInDocuments: true,
    searchInComments: true,
    highlightLanguages: ["ts", "js", "json", "sh", "mermaid", "text", "html", "python"],
    validation: { invalidLink: true, invalidPath: true, rewrittenLink: true, notExported: false, notDocumented: false },
    customCss: join(import.meta.dirname, "site.css"),
    favicon: join(import.meta.dirname, "icon.svg"),
    hideGenerator: true,
    // Few classes extend others.
    includeHierarchySummary: false,
    router: "site"
  })

  let documents: Documents | undefined
  const ready = (): Documents => {
    if (documents === undefined) throw new Error("no document has been read yet")
    return documents
  }
  application.renderer.defineRouter("site", routerFor(ready))
  application.converter.on(Converter.EVENT_BEGIN, ({ project }) => {
    documents = new Documents(application, project)
    documents.add(pages)
    const entries = entryPoints.map(({ file, name }) => ({ file, name, source: read(file) }))
    const text = firstPage(read("site/index.md"), read("docs/cookbook.md"), entries)
    project.readme = documents.parse(text, "site/index.md")
  })
  application.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    for (const module of project.children ?? []) {
      module.comment ??= new Comment()
      module.comment.blockTags.push(new CommentTag("@category", [{ kind: "text", text: reference }]))
    }
  })
  // From a file, a page may not read the icons of another: `icons.js` brings them into it.
  application.renderer.on(Renderer.EVENT_END_PAGE, (page: PageEvent) => {
    page.contents = (page.contents ?? "").replaceAll(/(<use href=")[^"]*assets\/icons\.svg#/g, "$1#")
  })
  application.renderer.on(Renderer.EVENT_PREPARE_INDEX, (event: IndexEvent) => {
    findByPath(event, (result) => application.renderer.router?.hasOwnDocument(result) === true)
  })

  const names = new Map(entryPoints.map(({ file, name }) => [join(root, file), name]))
  const found = application.getEntryPoints()
  if (found?.length !== entryPoints.length) throw new Error("TypeDoc does not find every entry point")
  const project = application.converter.convert(
    found.map((entry) => ({
      ...entry,
      displayName: names.get(resolve(entry.sourceFile.fileName)) ?? entry.displayName
    }))
  )
  application.validate(project)
  rmSync(out, { recursive: true, force: true })
  await application.generateDocs(project, out)
  if (application.logger.hasErrors() || application.logger.hasWarnings()) throw new Error("TypeDoc warns: see above")
}

const out = join(import.meta.dirname, "dist")
await generate(out)
const site = siteIn(out)
const tasks = tasksIn(site)
const problems = [
  ...deadLinks(site),
  ...namesWithoutPage(site, globSync("api/*.md", { cwd: root }).map(read)),
  ...(tasks.length === 20 ? [] : [`the cookbook has ${tasks.length} tasks`]),
  ...tooFar(site, tasks, 2).map((task) => `${task} is more than two clicks from the first page`)
]
for (const problem of problems) console.error(problem)
if (problems.length > 0) process.exit(1)
console.log(`${site.pages.size} pages in ${out}`)

/** Documents of the site: the repository's pages, and the programs that they link to, as pages too. */
import { readdirSync, readFileSync, statSync } from "node:fs"
import { basename, join } from "node:path"
import { type Application, DocumentReflection, normalizePath, type ProjectReflection, type Reflection } from "typedoc"
import { type Page, root } from "./Packages.ts"

/** A browser shows no TypeScript from a file, so a program is a page: its text in a fence that nothing in it can close. */
const programPage = (file: string): string => {
  const text = readFileSync(join(root, file), "utf8")
  const fence = "`".repeat(Math.max(3, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length + 1)))
  return `# ${file}\n\n${fence}ts\n${text}\n${fence}\n`
}

const folderPage = (folder: string): string => {
  const files = readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts")).sort()
  return `# ${folder}\n\n${files.map((file) => `- [${file}](${file})`).join("\n")}\n`
}

/** A fence without a language is plain text. TypeDoc would colour it as TypeScript. */
export const withLanguages = (markdown: string): string => {
  let closing: string | undefined
  return markdown.split("\n").map((line) => {
    const [, indent = "", ticks, language = ""] = /^(\s*)(`{3,})(.*)$/.exec(line) ?? []
    if (closing !== undefined) {
      if (line.trim() === closing) closing = undefined
      return line
    }
    closing = ticks
    return ticks !== undefined && language.trim() === "" ? `${indent}${ticks}text` : line
  }).join("\n")
}

const titleOf = (markdown: string, file: string): string => {
  const title = /^# (.+)$/m.exec(markdown)?.[1]
  if (title === undefined) throw new Error(`${file} has no title`)
  return title
}

/** The position of a character in a text, as TypeDoc's messages name it. */
const sourceOf = (text: string, file: string) => ({
  text,
  fileName: normalizePath(join(root, file)),
  getLineAndCharacterOfPosition: (position: number) => {
    const before = text.slice(0, position).split("\n")
    return { line: before.length - 1, character: before.at(-1)!.length }
  }
})

export class Documents {
  readonly #application: Application
  readonly #project: ProjectReflection
  readonly #files = new Map<Reflection, string>()

  constructor(application: Application, project: ProjectReflection) {
    this.#application = application
    this.#project = project
  }

  /** The file that a page is made from, relative to the repository. */
  fileOf(reflection: Reflection): string | undefined {
    return this.#files.get(reflection)
  }

  parse(text: string, file: string) {
    return this.#application.converter.parseRawComment(sourceOf(withLanguages(text), file), this.#project.files).content
  }

  /** The pages, then one for each folder of the examples, or its README where it has one, and for each program in it. */
  add(pages: ReadonlyArray<Page>): void {
    const added = pages.map((page) => this.#add(page, readFileSync(join(root, page.file), "utf8")))
    const examples = readdirSync(join(root, "examples")).map((name) => join("examples", name))
      .filter((folder) => statSync(join(root, folder)).isDirectory())
    for (const folder of examples) {
      const readme = added[pages.findIndex(({ file }) => file === join(folder, "README.md"))]
      const page = readme ?? this.#add({ file: folder, category: "Examples" }, folderPage(folder))
      // With and without a slash at the end, as links have it.
      for (const path of [folder, `${folder}/`]) this.#register(path, page)
      const programs = readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).filter((file) =>
        file.endsWith(".ts")
      )
      for (const program of programs.sort()) this.#addProgram(join(folder, program), page)
    }
  }

  #register(file: string, reflection: Reflection): void {
    this.#project.files.registerReflectionPath(normalizePath(join(root, file)), reflection)
  }

  #add({ category, file, menu }: Page, markdown: string): DocumentReflection {
    const title = menu ?? titleOf(markdown, file)
    // Links of a folder's page are relative to what is in the folder.
    const base = file.endsWith(".md") ? file : join(file, "index.md")
    const page = new DocumentReflection(title, this.#project, this.parse(markdown, base), { category })
    this.#project.addChild(page)
    return this.#adopt(page, file)
  }

  #addProgram(file: string, folder: DocumentReflection): void {
    const page = new DocumentReflection(basename(file), folder, this.parse(programPage(file), file), {})
    folder.addChild(page)
    this.#adopt(page, file)
  }

  #adopt(page: DocumentReflection, file: string): DocumentReflection {
    this.#files.set(page, file)
    this.#project.registerReflection(page, undefined, normalizePath(join(root, file)))
    return page
  }
}

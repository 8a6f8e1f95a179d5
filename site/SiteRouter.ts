/** Addresses: a document is where its file is in the repository, and the API is in `api`, by package and namespace. */
import { type Reflection, StructureRouter } from "typedoc"
import type { Documents } from "./Documents.ts"

export const routerFor = (documents: () => Documents) =>
  class SiteRouter extends StructureRouter {
    protected override getIdealBaseName(reflection: Reflection): string {
      const file = documents().fileOf(reflection)
      if (file === undefined) return `api/${super.getIdealBaseName(reflection)}`
      // The first page is index.html.
      return file === "README.md"
        ? "readme"
        : file.replace(/README\.md$|$/, (end) => end === "" ? "" : "index").replace(/\.md$/, "")
    }
  }

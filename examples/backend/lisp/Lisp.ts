/** The language as the backend takes it. */
import type { ThreadLanguage } from "../WorkersKernel.ts"
import { functionText } from "./LispCompiler.ts"
import { writer } from "./LispWriter.ts"

export const lisp: ThreadLanguage = { writer, functionText }

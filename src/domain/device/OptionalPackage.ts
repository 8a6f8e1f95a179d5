/**
 * Optional packages: the backend that needs one loads it.
 *
 * @internal
 */
import { messageOf } from "../arguments/Format.ts"

/**
 * Whether loading a package failed because it is not installed, and not because a part of it is missing or broken. The
 * codes of errors do not tell the two apart, their messages do: the second form is Deno's.
 */
export const isMissing = (name: string, cause: unknown): boolean => {
  const message = messageOf(cause)
  return /Cannot find (?:package|module)|not a dependency/.test(message) &&
    [`'${name}'`, `"${name}"`].some((text) => message.includes(text))
}

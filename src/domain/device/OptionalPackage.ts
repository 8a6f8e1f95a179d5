/**
 * Optional packages: the backend that needs one loads it.
 *
 * @internal
 */

/** The hint to run the command, for programs that run where it can. */
export const doctor =
  "`npx @effect-gpu-pool/cli doctor` says what is missing on this machine, and the commands that install it."

/**
 * Whether loading a package failed, with this message, because it is not installed, and not because a part of it is missing or broken. The
 * codes of errors do not tell the two apart, their messages do: the second form is Deno's.
 */
export const isMissing = (name: string, message: string): boolean =>
  /Cannot find (?:package|module)|not a dependency/.test(message) &&
  [`'${name}'`, `"${name}"`].some((text) => message.includes(text))

/**
 * How a driver is looked at in a process of its own: a driver that crashes is then a missing backend with a reason, and no
 * driver stays loaded in the process that asked. The child says on stdout what it begins, and at last what it found.
 *
 * Without Effect, because the repository's tests ask before each file whether a backend is there.
 *
 * @internal
 */
const marker = "effect-gpu-pool:answer "

interface Message<Answer> {
  readonly step?: string
  readonly answer?: Answer
}

/** In the child: what comes next, for the case that it is the last. */
export const tellStep = (step: string): void => {
  process.stdout.write(`${marker}${JSON.stringify({ step })}\n`)
}

/** In the child: what it found. Ends the process, which threads of drivers would keep alive. */
export const tellAnswer = (answer: unknown): void => {
  process.stdout.write(`${marker}${JSON.stringify({ answer })}\n`, () => process.exit(0))
}

/** How a child ended; `problem` where it could not be started or was stopped. */
export interface Ended {
  readonly stdout: string
  readonly stderr: string
  readonly code: number | null
  readonly signal: string | null
  readonly problem?: string | undefined
}

/** What the child found; or, where it ended before it could tell, why. */
export const answerOf = <Answer>(child: Ended): { readonly answer: Answer } | { readonly why: string } => {
  // Without the last line, which has no end: a child may have ended within it.
  const messages = child.stdout.split("\n").slice(0, -1).filter((line) => line.startsWith(marker))
    .map((line) => JSON.parse(line.slice(marker.length)) as Message<Answer>)
  const answer = messages.find((message) => message.answer !== undefined)?.answer
  if (answer !== undefined) return { answer }
  const step = messages.at(-1)?.step
  const said = lastLine(child.stderr)
  return {
    why: `its driver ended the process that looked at it (${ending(child)})${step === undefined ? "" : `, ${step}`}${
      said === "" ? "" : `: ${said}`
    }`
  }
}

const ending = ({ code, problem, signal }: Ended): string => problem ?? signal ?? `exit code ${exitCode(code)}`

/** Windows ends a crashed process with an NTSTATUS, which is written in hexadecimal everywhere. */
const exitCode = (code: number | null): string =>
  code !== null && code > 0xffff ? `0x${code.toString(16).toUpperCase()}` : String(code)

/** Where programs say why they ended. */
export const lastLine = (text: string): string => text.trim().split("\n").at(-1) ?? ""

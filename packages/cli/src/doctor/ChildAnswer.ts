/**
 * The protocol by which a child process tries a driver: a driver that crashes is then a missing backend with a reason, and no
 * driver stays loaded in the parent. The child prints to stdout each step that it begins, and its result at the end.
 *
 * Without Effect, because the repository's tests ask before each file whether a backend is there.
 *
 * @internal
 */

export interface ProbedDevice {
  /** Such as `opencl:0:1`; a backend without devices is one entry under its own name. */
  readonly selector: string
  readonly name: string
  readonly type: string | null
  readonly driver: string
  /** Why it does not work, or null. */
  readonly why: string | null
}

/** The results of opening and using each device of a backend. */
export type ProbeResult = ReadonlyArray<ProbedDevice>

const marker = "effect-gpu-pool:answer "

interface Message<Answer> {
  readonly step?: string
  readonly answer?: Answer
}

/** In the child: prints the next step, in case the child crashes in it. */
export const printStep = (step: string): void => {
  process.stdout.write(`${marker}${JSON.stringify({ step })}\n`)
}

/** In the child: prints the result, and exits the process, which threads of drivers would keep alive. */
export const printAnswer = (answer: unknown): void => {
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

/** The result of the child, or why it ended without one. */
export const answerOf = <Answer>(child: Ended): { readonly answer: Answer } | { readonly why: string } => {
  // The last line is ignored, since the child may have ended while printing it.
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

/** On Windows a crashed process exits with an NTSTATUS, which is usually written in hexadecimal. */
const exitCode = (code: number | null): string =>
  code !== null && code > 0xffff ? `0x${code.toString(16).toUpperCase()}` : String(code)

/** The last lines of stderr, where programs say why they ended. */
export const lastLine = (text: string): string => text.trim().split("\n").at(-1) ?? ""

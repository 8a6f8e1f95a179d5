import * as Cause from "effect/Cause"
import * as Exit from "effect/Exit"
import { isGpuError } from "../../src/domain/GpuError.ts"
import { OwnFailure } from "./OddValues.ts"

/** A promise that a call broke. */
export interface Breach {
  readonly kind:
    | "defect"
    | "untyped failure"
    | "thrown"
    | "message"
    | "hang"
    | "uncaught"
    | "left behind"
    | "taken memory"
    | "process"
  readonly detail: string
  /** The first place in the library's sources, which distinguishes breaches. */
  readonly place: string
}

const longestMessage = 20_000

const place = (thrown: unknown): string => {
  const stack = thrown instanceof Error ? safely(() => String(thrown.stack)) : ""
  return /\bsrc\/[\w/]+\.ts:\d+/.exec(stack)?.[0] ?? ""
}

const safely = (read: () => string): string => {
  try {
    return read()
  } catch {
    return "(cannot be read)"
  }
}

const shortly = (thrown: unknown): string => safely(() => String(thrown)).slice(0, 300)

/** What is wrong with a message that could forge lines of a log, or fill it. */
const unfitMessage = (message: unknown): string | undefined => {
  if (typeof message !== "string") return `a message of type ${typeof message}`
  if (message.length > longestMessage) return `a message of ${message.length} characters`
  // line breaks belong to compile logs
  const control = /(?!\n)[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\u202a-\u202e\u2066-\u2069]/u.exec(message)
  return control === null
    ? undefined
    : `a message with U+${control[0].codePointAt(0)!.toString(16).padStart(4, "0")}: ${
      JSON.stringify(message.slice(0, 200))
    }`
}

/** What is wrong with the message of a typed error. */
const messageBreach = (error: unknown): Breach | undefined => {
  try {
    if (!isGpuError(error)) return undefined
    const problem = unfitMessage(error.message)
    return problem === undefined ? undefined : { kind: "message", detail: problem, place: operationIn(error.message) }
  } catch (thrown) {
    return { kind: "message", detail: `its message throws ${shortly(thrown)}`, place: place(thrown) }
  }
}

const operationIn = (message: string): string => /^[\w.]+/.exec(message)?.[0] ?? ""

/** Judges how an effect ended: `undefined` if it kept every promise. */
export const ofExit = (exit: Exit.Exit<unknown, unknown>): Breach | undefined => {
  if (Exit.isSuccess(exit)) return undefined
  for (const reason of exit.cause.reasons) {
    if (
      Cause.isDieReason(reason) && !isOwn(reason.defect) && !isMissingService(reason.defect) &&
      !isNoEffect(reason.defect) && !isWrongType(reason.defect)
    ) {
      return { kind: "defect", detail: shortly(reason.defect), place: place(reason.defect) }
    }
    if (!Cause.isFailReason(reason)) continue
    const { error } = reason
    if (isGpuError(error)) {
      const breach = messageBreach(error)
      if (breach !== undefined) return breach
    } else if (!isOwn(error) && !isConfigError(error)) {
      return { kind: "untyped failure", detail: shortly(error), place: place(error) }
    }
  }
  return undefined
}

/**
 * Whether the error is that of a value of another type than declared. Calls do not check types, so it may come from
 * anywhere.
 */
const isWrongType = (thrown: unknown): boolean =>
  thrown instanceof TypeError || thrown instanceof RangeError || thrown instanceof SyntaxError ||
  (thrown instanceof Error && thrown.message === "Schema validation failed")

const isOwn = (thrown: unknown): boolean =>
  thrown instanceof OwnFailure ||
  (thrown instanceof TypeError &&
    /^(Class c|C)onstructor \w+ (cannot be invoked without|requires) 'new'$/.test(thrown.message))

/** Judges an error that reached the event loop. */
export const ofUncaught = (thrown: unknown): Breach | undefined =>
  isOwn(thrown) || isNoEffect(thrown) ? undefined : { kind: "uncaught", detail: shortly(thrown), place: place(thrown) }

/** A call may need another backend's service: its types say so, but the fuzzer runs everything on every backend. */
const isMissingService = (defect: unknown): boolean =>
  defect instanceof Error && /^Service not found: effect-gpu-pool\/(OpenCl|WebGpu|Host)\b/.test(defect.message)

/** Whether Effect was given another value in place of an effect, even one that cannot be formatted. */
const isNoEffect = (defect: unknown): boolean => {
  if (typeof defect === "string") return defect.startsWith("Fiber.runLoop: Not a valid effect")
  const stack = defect instanceof Error ? safely(() => String(defect.stack)) : ""
  const [inner = ""] = stack.split("FiberImpl.runLoop")
  return inner !== stack && !/\bsrc\/[\w/]+\.ts:\d+/.test(inner.replaceAll("node_modules/effect/src", ""))
}

const isConfigError = (error: unknown): boolean =>
  typeof error === "object" && error !== null && Reflect.get(error, "_tag") === "ConfigError"

/** Judges what a call threw. */
export const ofThrown = (thrown: unknown): Breach | undefined => {
  if (isOwn(thrown) || isWrongType(thrown)) return undefined
  return isGpuError(thrown)
    ? messageBreach(thrown)
    : { kind: "thrown", detail: shortly(thrown), place: place(thrown) }
}

/** Judges an error that a call returned as a value: kernels keep theirs. */
export const ofAnswer = (answer: unknown): Breach | undefined =>
  isGpuErrorSafely(answer) ? messageBreach(answer) : undefined

const isGpuErrorSafely = (answer: unknown): boolean => {
  try {
    return isGpuError(answer)
  } catch {
    return false
  }
}

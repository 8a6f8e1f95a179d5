/**
 * Whom the servers of this command answer. A page from anywhere can make the browser of this machine's user ask a server here, so
 * they answer programs, and the pages of this machine.
 *
 * @internal
 */
import { line } from "effect-gpu-pool/ShownValue"
import type { IncomingHttpHeaders } from "node:http"

export interface Welcome {
  /** The name or address that the server listens at, as its user gave it. */
  readonly host: string
  /** Whether other machines can reach it. */
  readonly isPublic: boolean
  /** The pages that may ask besides those of this machine, as `https://app.example`. */
  readonly origins: ReadonlyArray<string>
}

/** The names of this machine, without a port. */
const isOwnName = (name: string): boolean => /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/i.test(name)

const withoutPort = (host: string): string => host.replace(/:\d+$/, "")

/** A page whose name leads here would read what is served as its own; but no name is known by which other machines reach this one. */
const isOwnHost = (host: string | undefined, { host: given, isPublic }: Welcome): boolean => {
  const name = withoutPort(host ?? "").toLowerCase()
  return name !== "" &&
    (isPublic || isOwnName(name) || name === given.toLowerCase() || name === `[${given.toLowerCase()}]`)
}

/** Only browsers name an origin, and each does for a WebSocket. */
const isWelcome = (origin: string, { origins }: Welcome): boolean =>
  origins.includes(origin) || isOwnName(withoutPort(/^https?:\/\/([^/]*)$/i.exec(origin)?.[1] ?? ""))

/** A page elsewhere names no origin where it shows what it asks for, as an image; that is no page that the user opens. */
const isShownElsewhere = (headers: IncomingHttpHeaders): boolean =>
  headers["sec-fetch-site"] === "cross-site" && headers["sec-fetch-dest"] !== "document"

/** Why a request gets no answer, or `undefined`. */
export const refusal = (headers: IncomingHttpHeaders, welcome: Welcome): string | undefined => {
  const { host, origin } = headers
  if (!isOwnHost(host, welcome)) return `a request to ${line(host ?? "no name")}, which is no name of this machine`
  if (origin !== undefined) return isWelcome(origin, welcome) ? undefined : `a page of ${line(origin)}`
  return isShownElsewhere(headers) ? "a page of another machine" : undefined
}

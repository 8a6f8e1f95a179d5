/**
 * The document of the viewer: one self-contained file, which loads nothing.
 *
 * @internal
 */
import { script, scriptHash, style, styleHash } from "./PageText.ts"

const named: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", "\"": "&quot;", "'": "&#39;" }

const escaped = (text: string): string => text.replaceAll(/[&<>"']/g, (character) => named[character]!)

/** The address at which the page asks for newer data, and how many milliseconds after an answer it asks again. */
export interface Live {
  readonly address: string
  readonly refresh: number
}

const attributesOf = ({ address, refresh }: Live): string =>
  ` data-live="${escaped(address)}" data-refresh="${refresh}"`

/** Allows the script and the styles of this file alone, whatever a recording contains, and nothing from elsewhere. */
const policyOf = (live: Live | undefined): string =>
  `default-src 'none'; script-src '${scriptHash}'; style-src '${styleHash}'; img-src data:; ` +
  `base-uri 'none'; form-action 'none'${live === undefined ? "" : "; connect-src 'self'"}`

/**
 * Recordings are embedded as base64, which has no character that ends an element. With an address for `live` the page asks there for
 * newer data.
 */
export const documentOf = (title: string, recordings: ReadonlyArray<string>, live: Live | undefined): string =>
  [
    `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policyOf(live)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="effect-gpu-pool">
<title>${escaped(title)}</title>
<link rel="icon" href="data:,">
<style>${style}</style>
</head>
<body>
<noscript>This page draws a recording of memory, for which it needs JavaScript.</noscript>
<main id="app"${live === undefined ? "" : attributesOf(live)}></main>
`,
    ...recordings.map((text) => `<script type="application/gzip" data-recording>${text}</script>\n`),
    `<script>${script}</script>\n</body>\n</html>\n`
  ].join("")

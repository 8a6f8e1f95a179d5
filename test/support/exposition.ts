/** Parses Prometheus' text format field by field, and throws for what it does not allow. */

export interface Sample {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

export interface Family {
  readonly type: string
  readonly help: string
  /** By the sample's name: the family's name, or that with `_bucket`, `_sum` or `_count`. */
  readonly samples: ReadonlyMap<string, ReadonlyArray<Sample>>
}

const unescaped = (text: string): string =>
  text.replace(/\\(.)/g, (_, escaped: string) => {
    if (escaped === "n") return "\n"
    if (escaped === "\\" || escaped === "\"") return escaped
    throw new Error(`\\${escaped} in ${text}`)
  })

const numberOf = (text: string): number => {
  if (text === "+Inf" || text === "-Inf") return text === "+Inf" ? Infinity : -Infinity
  if (!/^(?:NaN|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)$/.test(text)) throw new Error(`${text} is no number`)
  return Number(text)
}

const labelsOf = (text: string): Record<string, string> => {
  const labels: Record<string, string> = {}
  let at = 0
  const label = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"(?:,|$)/y
  while (at < text.length) {
    label.lastIndex = at
    const [, name = "", value = ""] = label.exec(text) ?? []
    if (name === "" || name in labels) throw new Error(`labels ${text}, at ${at}`)
    labels[name] = unescaped(value)
    at = label.lastIndex
  }
  return labels
}

/** The families of a page, by name. */
export const parse = (page: string): ReadonlyMap<string, Family> => {
  if (!page.endsWith("\n")) throw new Error("the page does not end with a line feed")
  const families = new Map<string, { type: string; help: string; samples: Map<string, Array<Sample>> }>()
  let current = ""
  let help: string | undefined
  for (const line of page.slice(0, -1).split("\n")) {
    const [, kind, name = "", rest = ""] = /^# (HELP|TYPE) ([a-zA-Z_:][\w:]*) (.+)$/.exec(line) ?? []
    if (kind === "HELP") {
      help = rest
      continue
    }
    if (kind === "TYPE") {
      if (families.has(name)) throw new Error(`${name} has two families`)
      if (!["counter", "gauge", "histogram", "summary"].includes(rest)) throw new Error(`${name} is of type ${rest}`)
      families.set(name, { type: rest, help: help ?? "", samples: new Map() })
      current = name
      help = undefined
      continue
    }
    const [, sample = "", , labels = "", value = ""] = /^([a-zA-Z_:][\w:]*)(\{(.*)\})? (\S+)$/.exec(line) ?? []
    const family = families.get(current)
    const isOfIt = sample === current ||
      (family?.type === "histogram" && ["_bucket", "_sum", "_count"].some((end) => sample === current + end))
    if (family === undefined || !isOfIt) throw new Error(`"${line}" belongs to no family`)
    const samples = family.samples.get(sample) ?? []
    family.samples.set(sample, samples)
    samples.push({ labels: labelsOf(labels), value: numberOf(value) })
  }
  return families
}

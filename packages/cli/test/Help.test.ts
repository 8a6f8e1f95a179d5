/** The help of every command, on a terminal, in shell completions and in the documents. */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { closeSync, openSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { commandTests, main } from "../../../test/support/command.ts"
import { commandInProcess } from "./inProcess.ts"

const { run } = commandInProcess()
const { run: runAlone } = commandTests()

const documents = join(import.meta.dirname, "../../../docs")

/** The subcommands that the command's help lists. */
const subcommands = async (): Promise<ReadonlyArray<string>> => {
  const { stdout } = await run(["--help"])
  const [, listed = ""] = stdout.split("SUBCOMMANDS\n")
  return Array.from(listed.matchAll(/^ {2}(\S+) {2,}\S/gm), ([, name = ""]) => name)
}

const commands = await subcommands()

/** The flags in a text, as `--json`. */
const flagsIn = (text: string): ReadonlyArray<string> =>
  Array.from(text.matchAll(/(?<![\w-])--[a-z-]+/g), ([flag]) => flag)

describe("help", () => {
  it("lists the commands", () => {
    assert.includeMembers([...commands], ["devices", "doctor", "top", "bench", "view", "export", "replay", "plan"])
  })

  it.concurrent.each(commands)("of %s has examples, whose flags it explains", async (command) => {
    const { code, stderr, stdout } = await run([command, "--help"])
    strictEqual(code, 0, stderr)
    const [help = "", examples = ""] = stdout.split("EXAMPLES\n")
    const shown = examples.split("\n").filter((line) => /^ {2}effect-gpu-pool /.test(line))
    assert.isNotEmpty(shown)
    for (const example of shown) assert.include(example, `effect-gpu-pool ${command}`)
    deepStrictEqual(flagsIn(shown.join("\n")).filter((flag) => !flagsIn(help).includes(flag)), [])
  })

  it.concurrent("has no colours where no terminal is, and those that are asked for", async () => {
    const [plain, coloured, never] = await Promise.all([
      runAlone(["--help"]),
      runAlone(["--help"], { FORCE_COLOR: "1" }),
      runAlone(["--help"], { FORCE_COLOR: "1", NO_COLOR: "1" })
    ])
    deepStrictEqual([plain, coloured, never].map(({ stdout }) => stdout.includes("\u001b[")), [false, true, false])
  })

  it.concurrent.each(["bash", "zsh", "fish", "powershell"])("completes commands and flags in %s", async (shell) => {
    const { code, stderr, stdout } = await run(["--completions", shell])
    strictEqual(code, 0, stderr)
    for (const command of commands) assert.include(stdout, command)
    assert.include(stdout, "json")
  })

  it.concurrent.each([
    [[], "nonsense", `Unknown subcommand "nonsense"`],
    [["doctor"], "--jsn", "--jsn in command effect-gpu-pool doctor"],
    [["bench"], "extra", `Unexpected positional argument: "extra"`]
  ])("is named where %s does not know %s, and stdout stays empty", async (command, argument, problem) => {
    const { code, stderr, stdout } = await run([...command, argument])
    deepStrictEqual([code, stdout], [1, ""])
    assert.include(stderr, problem)
    assert.include(stderr, `${["effect-gpu-pool", ...command].join(" ")} --help says what it takes.`)
  })

  it.concurrent("fails where its output cannot be written", async () => {
    const unwritable = openSync(main, "r")
    const child = spawn(process.execPath, [main, "--help"], { stdio: ["ignore", unwritable, "pipe"] })
    const [errors, [code]] = await Promise.all([text(child.stderr!), once(child, "close")])
    closeSync(unwritable)
    strictEqual(code, 1)
    assert.match(errors, /^effect-gpu-pool: cannot write the output: EBADF.*\n$/)
  })

  it("is what the document says", () => {
    const page = readFileSync(join(documents, "cli.md"), "utf8")
    for (const command of commands) assert.match(page, new RegExp(`^\\| \`${command}\` +\\| `, "m"))
    for (const code of [0, 1, 2, 130, 141]) assert.match(page, new RegExp(`^\\| ${code} +\\| `, "m"))
  })
})

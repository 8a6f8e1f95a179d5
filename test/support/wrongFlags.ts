/**
 * Runs programs with wrong flags, one after the other in this process, because loading takes longest: the arguments are pairs of a
 * module and its flag. Prints the exit code of each, and what it wrote to the standard error.
 */
import { pathToFileURL } from "node:url"

const outcomes: Array<{ readonly code: number | undefined; readonly stderr: string }> = []
const [, , ...pairs] = process.argv
const exit = process.exit
const log = console.log
for (let at = 0; at < pairs.length; at += 2) {
  const [main = "", flag = ""] = pairs.slice(at)
  process.argv = [process.execPath, main, flag]
  let stderr = ""
  const write = (text: string | Uint8Array) => (stderr += String(text)) !== ""
  console.log = () => {}
  console.error = (...texts) => void write(texts.join(" "))
  process.stderr.write = write
  const code = await new Promise<number>((resolve, reject) => {
    process.exit = ((code) => resolve(Number(code))) as typeof process.exit
    // Another URL is another module.
    import(`${pathToFileURL(main).href}?${at}`).catch(reject)
  })
  outcomes.push({ code, stderr })
}
log(JSON.stringify(outcomes))
exit(0)

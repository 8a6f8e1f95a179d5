/**
 * Completes package-lock.json, and that of scripts/runtimes/install: `npm run lockfile`, after any change of the dependencies.
 *
 * Tools with native code publish a package per platform and name them as optional dependencies. npm leaves those that it
 * could not look up (a registry that mirrors some platforms only) out of the lock file, and then `npm ci` refuses that
 * file everywhere. Their versions are exact, and their names say the platform, so their entries can be written here.
 */
import { readFileSync, writeFileSync } from "node:fs"

interface Entry {
  readonly version?: string
  readonly dev?: boolean
  readonly optionalDependencies?: Record<string, string>
}

interface Platform {
  readonly os?: ReadonlyArray<string>
  readonly cpu?: ReadonlyArray<string>
  readonly libc?: ReadonlyArray<string>
}

const systems = ["aix", "android", "darwin", "freebsd", "linux", "netbsd", "openbsd", "openharmony", "sunos", "win32"]
const processors = ["arm", "arm64", "ia32", "loong64", "ppc64", "riscv64", "s390x", "wasm32", "x64"]
const libraries = { gnu: "glibc", glibc: "glibc", gnueabihf: "glibc", musl: "musl", musleabihf: "musl" }

const platformOf = (name: string): Platform => {
  const words = name.split(/[/-]/)
  const os = words.filter((word) => systems.includes(word))
  const cpu = words.filter((word) => processors.includes(word))
  const libc = Object.entries(libraries).filter(([word]) => words.includes(word)).map(([, library]) => library)
  if (cpu.length !== 1) throw new Error(`${name}: its name says no platform, so its entry must come from npm`)
  return { ...(os.length > 0 ? { os } : {}), cpu, ...(libc.length > 0 ? { libc } : {}) }
}

const complete = (file: string): void => {
  const lock = JSON.parse(readFileSync(file, "utf8")) as { packages: Record<string, Entry> }

  const isLocked = (parent: string, name: string): boolean =>
    `node_modules/${name}` in lock.packages || `${parent}/node_modules/${name}` in lock.packages

  const missing = Object.entries(lock.packages).flatMap(([parent, { dev, optionalDependencies = {} }]) =>
    Object.entries(optionalDependencies)
      .filter(([name, version]) => /^\d+\.\d+\.\d+/.test(version) && !isLocked(parent, name))
      .map(([name, version]) => ({ name, version, dev: dev === true }))
  )

  for (const { dev, name, version } of missing) {
    lock.packages[`node_modules/${name}`] = {
      version,
      ...platformOf(name),
      ...(dev ? { dev } : {}),
      optional: true
    } as Entry
    console.log(`added ${name} ${version}`)
  }
  lock.packages = Object.fromEntries(Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1)))
  writeFileSync(file, JSON.stringify(lock, null, 2) + "\n")
  console.log(`${file}: ${missing.length} platform packages added`)
}

for (const file of ["package-lock.json", "scripts/runtimes/install/package-lock.json"]) complete(file)

/**
 * Tests of a backend that this machine may lack: they run if the backend is available; otherwise they are skipped with
 * the reason in the title, or fail if `EFFECT_GPU_POOL_REQUIRE` names the backend. The variable has names separated by
 * commas, or `all`. The continuous integration sets it, so that nothing is skipped there unseen.
 */
import { describe, it } from "@effect/vitest"
import { type Backend, howToInstall, look, parseRequired, type Presence } from "../../scripts/backends.ts"

export {
  type Backend,
  chromium,
  oclgrindVendors,
  openClDriversIn,
  postgres,
  python,
  useOpenClDriversIn
} from "../../scripts/backends.ts"

export interface Requirement extends Presence {
  readonly backend: Backend
  readonly required: boolean
}

const seen = new Map<Backend, Presence>()

const presence = (backend: Backend): Presence => {
  const known = seen.get(backend) ?? look(backend)
  seen.set(backend, known)
  return known
}

const absence = (backend: Backend, detail: string): string =>
  `${backend} is not available: ${detail}. Install: ${howToInstall[backend]}`

const inspect = (backend: Backend): Requirement => ({
  backend,
  ...presence(backend),
  required: parseRequired(process.env.EFFECT_GPU_POOL_REQUIRE).has(backend)
})

/** Whether a backend is here. Throws, and so fails the test file, when it is not and the environment requires it. */
export const requirement = (backend: Backend): Requirement => {
  const found = inspect(backend)
  if (!found.available && found.required) throw new Error(absence(backend, found.detail))
  return found
}

/**
 * A `describe` that needs backends. If a required one is missing, the suite is a single failing test that says what to
 * install, so the other suites of the file still run.
 */
export const describeWith = (needs: ReadonlyArray<Backend>, title: string, suite: () => void): void =>
  describeFor(needs.map(inspect), title, suite)

const describeFor = (needs: ReadonlyArray<Requirement>, title: string, suite: () => void): void => {
  const missing = needs.filter(({ available }) => !available)
  const required = missing.filter(({ required }) => required)
  if (required.length > 0) {
    describe(title, () => {
      it.each(required)("finds $backend", ({ backend, detail }) => {
        throw new Error(absence(backend, detail))
      })
    })
  } else if (missing.length > 0) {
    const reasons = missing.map(({ backend, detail }) => `${backend}: ${detail}`).join("; ")
    describe.skip(`${title} (skipped, ${reasons})`, suite)
  } else {
    describe(title, suite)
  }
}

/** The name of PoCL's platform. */
export const pocl = "Portable Computing Language"

/**
 * As {@link describeWith}, for tests that need PoCL: no other OpenCL driver replaces it, even if OpenCL is required.
 */
export const describeWithPocl = (needs: ReadonlyArray<Backend>, title: string, suite: () => void): void => {
  const found = inspect("opencl")
  const isOther = found.available && !found.detail.includes(pocl)
  const detail = `its platforms are ${found.detail}, without PoCL`
  describeFor([isOther ? { ...found, available: false, detail } : found, ...needs.map(inspect)], title, suite)
}

/** Memory, or nothing where there is none left: JavaScript throws then. */
const attempt = <A>(make: () => A): A | undefined => {
  try {
    return make()
  } catch {
    return undefined
  }
}

/** Memory of a buffer, which all threads see. */
export const shared = (bytes: number): SharedArrayBuffer | undefined => attempt(() => new SharedArrayBuffer(bytes))

/** Memory for the result of a read. */
export const unshared = (bytes: number): ArrayBuffer | undefined => attempt(() => new ArrayBuffer(bytes))

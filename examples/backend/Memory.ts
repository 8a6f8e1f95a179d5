/** Memory, or nothing where there is none left: JavaScript throws then. */
const attempt = <A>(make: () => A): A | undefined => {
  try {
    return make()
  } catch {
    return undefined
  }
}

/** What a buffer is made of: all threads see it. */
export const shared = (bytes: number): SharedArrayBuffer | undefined => attempt(() => new SharedArrayBuffer(bytes))

/** What a read answers. */
export const unshared = (bytes: number): ArrayBuffer | undefined => attempt(() => new ArrayBuffer(bytes))

/**
 * The key of a fleet's sockets, from the secret that all of its processes have. Both ends of a connection prove that they have it
 * (TLS with a pre-shared key), so no certificates are needed.
 *
 * @internal
 */
import { type GpuError, invalidRequest } from "effect-gpu-pool/GpuError"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { scrypt } from "node:crypto"
import type { ConnectionOptions, TlsOptions } from "node:tls"

/** All processes of a fleet are equal. */
const identity = "effect-gpu-pool"

/**
 * The one cipher suite of TLS 1.2 with a pre-shared key that OpenSSL has with both forward secrecy over elliptic curves and
 * authenticated encryption. In TLS 1.3, OpenSSL takes keys of 32 bytes only with some of its suites, and Node tests none of it.
 */
const transport = { ciphers: "ECDHE-PSK-CHACHA20-POLY1305", minVersion: "TLSv1.2", maxVersion: "TLSv1.2" } as const

/** Who attacks a connection can try secrets against what was said; each try costs as much as this: 32 MiB, and some 100 ms. */
const cost = { N: 2 ** 15, r: 8, p: 1, maxmem: 2 ** 26 }

/** What `node:tls` needs of the secret, at each end. */
export interface Psk {
  readonly server: TlsOptions
  readonly client: ConnectionOptions
}

/** Fails with InvalidRequest for an empty secret. */
export const make = (operation: string, secret: Redacted.Redacted<string>): Effect.Effect<Psk, GpuError> =>
  Effect.callback((resume) => {
    const text = Redacted.value(secret)
    if (text === "") {
      resume(
        invalidRequest(
          operation,
          "secret is empty",
          "Give all processes of the fleet the same random text, for example of 32 bytes."
        )
      )
      return
    }
    scrypt(text.normalize(), "effect-gpu-pool/fleet/1", 32, cost, (error, key) => {
      resume(error === null ? Effect.succeed(withKey(key)) : Effect.die(error))
    })
  })

const withKey = (key: NodeJS.ArrayBufferView): Psk => ({
  server: { ...transport, pskCallback: (_socket, given) => given === identity ? key : null, pskIdentityHint: identity },
  client: {
    ...transport,
    pskCallback: () => ({ psk: key, identity }),
    // There are no certificates, so there are no names to check.
    checkServerIdentity: () => undefined
  }
})

/** Every entry point: their declarations are checked with those that they import. */
export * as root from "effect-gpu-pool"
export * as devices from "effect-gpu-pool/devices"
export * as host from "effect-gpu-pool/host"
export * as opencl from "effect-gpu-pool/opencl"
export * as testing from "effect-gpu-pool/testing"
export * as properties from "effect-gpu-pool/testing/properties"
export * as webgpu from "effect-gpu-pool/webgpu"

import { oclgrindVendors } from "./required.ts"

/**
 * Makes Oclgrind the only OpenCL platform of this process. The loader reads the variable when a program first asks it for
 * platforms, so this must run before; a test file has a process of its own (vitest's pool of forks, isolated), so one
 * that calls it at its top affects no other. Setting `process.env` reaches the loader, except in a worker thread, which has
 * a copy of the environment.
 */
export const useOclgrind = (): void => {
  const vendors = oclgrindVendors()
  if (vendors !== undefined) process.env.OCL_ICD_VENDORS = vendors
}

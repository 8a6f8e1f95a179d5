/**
 * What to do about a feature that a device lacks: the library asks for every feature that it uses, other code does not.
 *
 * @internal
 */
import type { OpenDevice, WantedFeature } from "./OpenDevice.ts"

/** `undefined` for a device that the library has opened: its adapter lacks the feature. */
export const featureHint = (
  { isShared }: Pick<OpenDevice, "isShared">,
  feature: WantedFeature | undefined
): string | undefined =>
  isShared && feature !== undefined
    ? `The device that the program gave was opened without the feature ${feature}: name it in requiredFeatures of ` +
      "requestDevice, where the adapter has it."
    : undefined

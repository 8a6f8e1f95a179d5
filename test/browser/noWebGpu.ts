/** npm `webgpu` in a page, which has a `navigator.gpu` of its own. */
export const globals = {}

export const create = (): GPU => {
  throw new Error("the page has no navigator.gpu")
}

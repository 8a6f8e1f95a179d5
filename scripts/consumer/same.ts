/** Whether two types are one and the same: `any` is the same as itself alone. */
export type Same<One, Other> = (<T>() => T extends One ? 1 : 2) extends <T>() => T extends Other ? 1 : 2 ? true : false

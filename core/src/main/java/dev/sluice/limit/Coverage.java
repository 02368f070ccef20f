package dev.sluice.limit;

/** Whether limits hold an id to a quota, and if not, why. */
public enum Coverage {

  /** The default, or an override for the id, limits it. */
  LIMITED,

  /** The limit is unlimited because somebody wrote so. */
  UNLIMITED,

  /** The limit has overrides and no default, and the id has no override. */
  NO_DEFAULT,

  /** The limit has neither a default nor an override, and nobody wrote that it is unlimited. */
  NOT_CONFIGURED
}

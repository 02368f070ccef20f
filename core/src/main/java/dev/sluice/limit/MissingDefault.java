package dev.sluice.limit;

/** The outcome where a limit is named that is not {@linkplain Limits#isConfigured configured}. */
public enum MissingDefault {

  /** The start fails, and limits that would cause it are not taken over. */
  REFUSE,

  /** A warning is logged; the limit lets everything pass. */
  WARN,

  /** The limit lets everything pass. */
  ALLOW
}

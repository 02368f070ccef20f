package dev.sluice.servlet;

/** What a request gets whose limits could not be decided on, as the store failed. */
public enum StoreFailure {
  /** The request passes. For limits that are a courtesy. */
  ALLOW,
  /** The request is refused with a 503. For limits that protect something. */
  DENY
}

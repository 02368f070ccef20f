package dev.sluice.limit;

/** How an id that is understood but not written in its one canonical form is taken. */
public enum Strictness {
  /** It is made canonical; private and reserved addresses are fine. */
  LENIENT,
  /** It is refused, and so is an address that IANA has set aside for a special purpose. */
  STRICT
}

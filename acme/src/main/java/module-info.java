// SPDX-License-Identifier: Apache-2.0
/** The limits, ids and transactions of an ACME certificate authority. */
@SuppressWarnings("requires-automatic") // ICU4J has no module descriptor
module dev.sluice.acme {
  requires transitive dev.sluice;
  requires com.ibm.icu;

  exports dev.sluice.acme;
}

// SPDX-License-Identifier: Apache-2.0
/** Metrics of a limiter as Micrometer meters. */
@SuppressWarnings({"requires-automatic", "requires-transitive-automatic"})
module dev.sluice.micrometer {
  requires transitive dev.sluice;
  requires transitive micrometer.core;

  exports dev.sluice.micrometer;
}

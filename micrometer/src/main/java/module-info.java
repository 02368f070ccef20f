// SPDX-License-Identifier: Apache-2.0
/** The work of a limiter as Micrometer meters. */
@SuppressWarnings({"requires-automatic", "requires-transitive-automatic"})
module dev.sluice.micrometer {
  requires transitive dev.sluice;
  requires transitive micrometer.core;
  requires static transitive dev.sluice.redis; // for RedisMetrics alone

  exports dev.sluice.micrometer;
}

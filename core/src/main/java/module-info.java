// SPDX-License-Identifier: Apache-2.0
/**
 * Rate limiting: limits, buckets, decisions, and a store in memory.
 *
 * <p>Needs only the JDK at run time; the two annotation libraries are needed only by compilers.
 */
// Suppresses a warning that the modules after "to" are unknown: they are built after this module.
@SuppressWarnings("module")
module dev.sluice {
  requires static transitive com.google.errorprone.annotations;
  requires static transitive org.jspecify;

  exports dev.sluice;
  exports dev.sluice.gcra;
  exports dev.sluice.limit;
  exports dev.sluice.store;
  exports dev.sluice.internal.async to
      dev.sluice.grpc,
      dev.sluice.mariadb,
      dev.sluice.outbound,
      dev.sluice.postgres,
      dev.sluice.redis,
      dev.sluice.remote,
      dev.sluice.spring,
      dev.sluice.web,
      dev.sluice.yaml;
  exports dev.sluice.internal.text to
      dev.sluice.acme,
      dev.sluice.mariadb,
      dev.sluice.outbound,
      dev.sluice.postgres,
      dev.sluice.redis,
      dev.sluice.remote,
      dev.sluice.rules,
      dev.sluice.web,
      dev.sluice.wire,
      dev.sluice.yaml;
}

// SPDX-License-Identifier: Apache-2.0
/** The shared code of stores on servers, for Sluice's own modules only. */
@SuppressWarnings(
    "module") // the modules to which this package is exported do not exist yet when this module is
// built
module dev.sluice.remote {
  requires transitive dev.sluice;
  requires static java.sql; // only the stores in databases need java.sql

  exports dev.sluice.remote to
      dev.sluice.mariadb,
      dev.sluice.postgres,
      dev.sluice.redis;
  exports dev.sluice.remote.sql to
      dev.sluice.mariadb,
      dev.sluice.postgres;
}

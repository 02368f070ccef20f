// SPDX-License-Identifier: Apache-2.0
/** The shared code of stores on servers, for Sluice's own modules only. */
// Suppresses the warnings about the modules of "exports ... to", which are built after this module.
@SuppressWarnings("module")
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

// SPDX-License-Identifier: Apache-2.0
/** What every store on a server needs; for Sluice's own modules only. */
@SuppressWarnings("module") // the modules that can see this package are built later
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

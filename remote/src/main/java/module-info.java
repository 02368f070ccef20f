// SPDX-License-Identifier: Apache-2.0
/** What every store on a server needs; for Sluice's own modules only. */
@SuppressWarnings("module") // the modules that see the package are built later
module dev.sluice.remote {
  requires transitive dev.sluice;
  requires static java.sql; // for the stores in databases only

  exports dev.sluice.remote to
      dev.sluice.mariadb,
      dev.sluice.postgres,
      dev.sluice.redis;
  exports dev.sluice.remote.sql to
      dev.sluice.mariadb,
      dev.sluice.postgres;
}

// SPDX-License-Identifier: Apache-2.0
/** What every store on a server needs; for Sluice's own modules only. */
@SuppressWarnings("module") // the modules that see the package are built later
module dev.sluice.remote {
  requires transitive dev.sluice;

  exports dev.sluice.remote to
      dev.sluice.postgres,
      dev.sluice.redis;
}

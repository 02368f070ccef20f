// SPDX-License-Identifier: Apache-2.0
/** Buckets in MariaDB. */
module dev.sluice.mariadb {
  requires transitive dev.sluice;
  requires dev.sluice.remote;
  requires transitive java.sql;

  exports dev.sluice.mariadb;
}

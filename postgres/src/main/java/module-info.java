// SPDX-License-Identifier: Apache-2.0
/** Buckets, overrides of limits and penalties in PostgreSQL. */
@SuppressWarnings("requires-automatic") // the driver has no module descriptor
module dev.sluice.postgres {
  requires transitive dev.sluice;
  requires dev.sluice.remote;
  requires java.naming; // the driver's DataSource implements javax.naming.Referenceable
  requires transitive java.sql;
  requires org.postgresql.jdbc;

  exports dev.sluice.postgres;
}

-- SPDX-License-Identifier: Apache-2.0
-- One bucket that counts as empty until an instant.
CREATE TABLE rate_limit_penalties (
  -- The number of the limit's name, the same that the key starts with.
  limit_number integer     NOT NULL CHECK (limit_number > 0),
  -- number:id, the id of a transaction in canonical form.
  bucket_key   text        NOT NULL CHECK (bucket_key LIKE limit_number || ':_%'),
  -- Nanoseconds since the epoch: exact, and the unit of the limiter.
  until_ns     bigint      NOT NULL CHECK (until_ns > 0),
  -- The tokens that were owed when the penalty was set; 0 for a ban.
  owed         bigint      NOT NULL DEFAULT 0 CHECK (owed >= 0),
  comment      text        NOT NULL DEFAULT '',
  updated_at   timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (limit_number, bucket_key)
);

-- SPDX-License-Identifier: Apache-2.0
-- One quota of its own for one id, as the file of overrides has it, under the key of its bucket.
CREATE TABLE rate_limit_overrides (
  -- The number of the limit's name, the same that the key starts with.
  limit_number integer     NOT NULL CHECK (limit_number > 0),
  -- number:id, the id in canonical form: 3:12345678, 5:example.com, 7:<hash of the set>.
  bucket_key   text        NOT NULL CHECK (bucket_key LIKE limit_number || ':_%'),
  burst        bigint      NOT NULL CHECK (burst > 0),
  count        bigint      NOT NULL CHECK (count > 0),
  -- Nanoseconds: exact, and the unit of the limiter. An interval knows microseconds, months and days of 23 hours.
  period_ns    bigint      NOT NULL CHECK (period_ns > 0),
  -- A disabled override is kept, with its comment, but does not hold.
  enabled      boolean     NOT NULL DEFAULT true,
  comment      text        NOT NULL DEFAULT '',
  updated_at   timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (limit_number, bucket_key)
);

-- SPDX-License-Identifier: Apache-2.0
-- Who set an override or a penalty, and when an override ends.
ALTER TABLE rate_limit_overrides
  ADD COLUMN IF NOT EXISTS author text NOT NULL DEFAULT '',
  -- Nanoseconds since the epoch; NULL if the override does not end.
  ADD COLUMN IF NOT EXISTS until_ns bigint CHECK (until_ns > 0);
ALTER TABLE rate_limit_penalties
  ADD COLUMN IF NOT EXISTS author text NOT NULL DEFAULT '';

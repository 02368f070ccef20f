-- SPDX-License-Identifier: Apache-2.0
-- A limit without a number has limit_number 0, and its keys begin with its name: ExportsPerUser:42.
ALTER TABLE rate_limit_overrides
  DROP CONSTRAINT IF EXISTS rate_limit_overrides_limit_number_check,
  DROP CONSTRAINT IF EXISTS rate_limit_overrides_check,
  ADD CHECK (limit_number >= 0),
  ADD CHECK (bucket_key LIKE CASE limit_number WHEN 0 THEN '_%' ELSE limit_number::text END || ':_%');
ALTER TABLE rate_limit_penalties
  DROP CONSTRAINT IF EXISTS rate_limit_penalties_limit_number_check,
  DROP CONSTRAINT IF EXISTS rate_limit_penalties_check,
  ADD CHECK (limit_number >= 0),
  ADD CHECK (bucket_key LIKE CASE limit_number WHEN 0 THEN '_%' ELSE limit_number::text END || ':_%');

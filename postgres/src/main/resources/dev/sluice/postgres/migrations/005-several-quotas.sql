-- SPDX-License-Identifier: Apache-2.0
-- An override with several quotas: burst, count and period_ns of each further quota, for example
-- '{{20,10,1000000000}}'. Each quota of an override has another period. A program that does not
-- know this column leaves it as it is: no trigger could tell such a write from a change of the first
-- quota alone. While old versions write, give an override one quota.
ALTER TABLE rate_limit_overrides
  ADD COLUMN IF NOT EXISTS further_quotas bigint[] NOT NULL DEFAULT '{}' CHECK (
    further_quotas = '{}'
    OR ((array_ndims(further_quotas) = 2 AND array_length(further_quotas, 2) = 3
      AND array_length(further_quotas, 1) <= 3 AND 0 < ALL (further_quotas)) IS TRUE));

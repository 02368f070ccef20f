-- SPDX-License-Identifier: Apache-2.0
-- Buckets in PostgreSQL: one table, and the law of a bucket as functions beside it.
--
-- A key is the bytes of its text in UTF-8, so it is the same in every encoding and collation of a
-- database. To look at one: SELECT * FROM sluice_bucket WHERE key = 'shop:LoginsPerUser:ann'::bytea
--
-- A TAT is an unsigned number of 64 bits, and bigint is signed. So a TAT is stored with its top bit
-- flipped: the smallest bigint stands for 0 (no bucket), and the order of TATs is kept. Every time
-- in here is flipped in the same way, and differences of two times are plain.
--
-- No sum can overflow. The current time is below 2^63 ns, so flipped it is negative, and an offset
-- or an increment of up to 2^63 - 1 may be added to it. Only a difference of two TATs may be larger, and
-- it is cut to 2^63 - 1 before it is formed, as Gcra.aheadNanos does.
--
-- The number in a function's name is its version. During an upgrade two versions of Sluice work on
-- one table, each with functions of its own.

-- Every name in here is found in pg_catalog or has its schema before it: where others may create
-- functions in the schema, theirs must not be called in place of PostgreSQL's own.
SET LOCAL search_path = pg_catalog, pg_temp;

CREATE ${unlogged} TABLE IF NOT EXISTS ${schema}.sluice_bucket (
  key bytea PRIMARY KEY,
  tat bigint NOT NULL
) WITH (
  -- Room in each page, so that an update stays in its page and leaves the index alone.
  fillfactor = 70,
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_cost_delay = 1
);

-- An unlogged table becomes logged: PostgreSQL rewrites it, and locks it meanwhile. The other way
-- would let the next crash empty a table that was to survive it, so nobody does it by accident.
DO $$
DECLARE
  own_table CONSTANT regclass := '${schema}.sluice_bucket';
  persistence CONSTANT "char" := (SELECT relpersistence FROM pg_class WHERE oid = own_table);
BEGIN
  IF persistence = 'u' AND '${persistence}' = 'p' THEN
    ALTER TABLE ${schema}.sluice_bucket SET LOGGED;
  ELSIF persistence = 'p' AND '${persistence}' = 'u' THEN
    RAISE EXCEPTION 'the table is logged, and with the durability unlogged a crash would empty it; name the durability async or sync, or first run: ALTER TABLE % SET UNLOGGED',
      '${schema}.sluice_bucket';
  END IF;
END
$$;

-- The time of the server's clock, flipped. Read it only when every row is locked: a call that waits
-- for a lock would otherwise decide by an earlier time. date_part is faster than extract, and exact
-- until the year 2106; after that, it can be wrong by a microsecond.
CREATE OR REPLACE FUNCTION ${schema}.sluice_now_v1() RETURNS bigint
LANGUAGE sql VOLATILE PARALLEL UNSAFE AS $$
  SELECT (((pg_catalog.date_part('epoch', pg_catalog.clock_timestamp()) OPERATOR(pg_catalog.*) 1000000)::bigint)
    OPERATOR(pg_catalog.*) 1000) OPERATOR(pg_catalog.+) (-9223372036854775808)
$$;

-- Decides on the batches of one or many callers, each of them all or nothing, in order.
--
--   at_time  the current time, flipped; null for the server's clock
--   keys     the buckets of all batches, each once, in the order of their UTF-8 bytes
--   charges  for each charge: the place of its key in keys (from 1), the operation, the increment,
--            the burst offset, the end (flipped; of a spend up to, the emission interval, as it is)
--   sizes    the number of charges of each batch; if it is empty, the call is one spend of each key:
--            charges has the increments (each above 0) of all keys, and then the burst offsets
--
-- Returns the current time and then for each charge the TAT that it found, all flipped; null if another
-- call inserted a bucket meanwhile: nothing is decided then, and the caller asks again.
--
-- A session keeps its plans, since planning takes longer than one bucket does. A plan from when the
-- table was small must not read all of it, and must find the rows in the order of their keys.
CREATE OR REPLACE FUNCTION ${schema}.sluice_decide_v1(
  at_time bigint, keys bytea[], charges bigint[], sizes int[]) RETURNS bigint[]
LANGUAGE plpgsql VOLATILE
SET enable_seqscan = off SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  -- The operations, as SqlCall numbers them.
  is_check CONSTANT int := 0;
  is_spend CONSTANT int := 1;
  is_spend_only CONSTANT int := 2;
  is_forgive CONSTANT int := 3;
  is_refund CONSTANT int := 4;
  is_reset CONSTANT int := 5;
  is_withdraw CONSTANT int := 6;
  is_up_to CONSTANT int := 7;
  no_tat CONSTANT bigint := -9223372036854775808;
  most CONSTANT bigint := 9223372036854775807;
  locked bytea[];
  inserted int;
  tats bigint[];
  places tid[]; -- of the locked rows, which do not move
  present bigint;
  answer bigint[];
  wrote boolean := false;
  first int := 0; -- of charges, before the batch
  at int;
  batch int;
  passes boolean;
  k int;
  op int;
  inc bigint;
  off bigint;
  tat bigint;
  ahead bigint;
  back bigint;
BEGIN
  -- All callers lock existing rows in the order of their keys, and then insert missing ones in that
  -- order. A call that finds a row inserted meanwhile ends: it would lock that row out of order.
  SELECT array_agg(l.key), array_agg(l.tat), array_agg(l.place) INTO locked, tats, places
  FROM (
    SELECT b.key, b.tat, b.ctid AS place FROM ${schema}.sluice_bucket b
    WHERE b.key = ANY (keys) ORDER BY b.key FOR UPDATE
  ) AS l;
  IF locked IS DISTINCT FROM keys THEN
    IF keys IS DISTINCT FROM (SELECT array_agg(DISTINCT n ORDER BY n) FROM unnest(keys) AS n) THEN
      RAISE EXCEPTION 'the keys are not in the order of their bytes, or one stands twice';
    END IF;
    INSERT INTO ${schema}.sluice_bucket (key, tat)
    SELECT missing, no_tat FROM unnest(keys) AS missing
    ON CONFLICT DO NOTHING;
    GET DIAGNOSTICS inserted = ROW_COUNT;
    IF inserted + coalesce(cardinality(locked), 0) < cardinality(keys) THEN
      RETURN NULL;
    END IF;
    SELECT array_agg(l.tat), array_agg(l.place) INTO tats, places
    FROM (
      SELECT b.tat, b.ctid AS place FROM ${schema}.sluice_bucket b WHERE b.key = ANY (keys) ORDER BY b.key
    ) AS l;
  END IF;
  present := coalesce(at_time, ${schema}.sluice_now_v1());

  IF cardinality(sizes) = 0 THEN
    k := cardinality(keys);
    UPDATE ${schema}.sluice_bucket b SET tat = greatest(b.tat, present) + u.inc
    FROM unnest(places, charges[:k], charges[k + 1:]) AS u (place, inc, off)
    WHERE b.ctid = u.place AND u.inc <= u.off AND b.tat <= present + greatest(u.off - u.inc, 0);
    RETURN present || tats;
  END IF;

  answer := ARRAY[present];

  FOREACH batch IN ARRAY sizes LOOP
    IF batch = 1 AND charges[first + 2] = is_spend AND charges[first + 3] > 0 THEN -- most batches
      k := charges[first + 1];
      inc := charges[first + 3];
      tat := tats[k];
      answer := answer || tat;
      off := charges[first + 4];
      IF inc <= off AND tat <= present + (off - inc) THEN
        tats[k] := greatest(tat, present) + inc;
        wrote := true;
      END IF;
      first := first + 5;
      CONTINUE;
    END IF;
    passes := true;
    at := first;
    FOR i IN 1..batch LOOP
      k := charges[at + 1];
      op := charges[at + 2];
      inc := charges[at + 3];
      off := charges[at + 4];
      at := at + 5;
      tat := tats[k];
      answer := answer || tat;
      IF inc > 0 AND op IN (is_check, is_spend, is_forgive, is_up_to) AND passes THEN
        ahead := CASE
          WHEN tat <= present THEN 0 WHEN tat > present + most THEN most ELSE tat - present END;
        IF op = is_forgive AND ahead > off THEN
          ahead := off;
        ELSIF op = is_up_to AND off - ahead < inc THEN -- as many tokens as there are, at least one
          inc := greatest(off - ahead - (off - ahead) % charges[at], charges[at]);
          charges[at - 2] := inc;
        END IF;
        passes := off - inc >= ahead;
      END IF;
    END LOOP;

    at := first;
    FOR i IN 1..batch LOOP
      k := charges[at + 1];
      op := charges[at + 2];
      inc := charges[at + 3];
      off := charges[at + 4];
      tat := tats[k];
      IF op = is_forgive AND off < most AND tat > present + off THEN
        tat := present + off; -- also when the spend is denied
      END IF;
      IF op IN (is_spend, is_spend_only, is_forgive, is_up_to) THEN
        IF passes AND inc > 0 AND inc <= off AND tat <= present + (off - inc) THEN
          tat := greatest(tat, present) + inc;
        END IF;
      ELSIF op = is_reset THEN
        IF passes THEN
          tat := no_tat;
        END IF;
      ELSIF passes AND tat > present
          AND (op = is_refund OR (op = is_withdraw AND tat = charges[at + 5])) THEN
        back := inc;
        IF op = is_refund THEN -- no more than what is left until its end
          IF charges[at + 5] <= present THEN
            back := 0;
          ELSIF charges[at + 5] < present + inc THEN
            back := charges[at + 5] - present;
          END IF;
        END IF;
        IF back > 0 THEN
          tat := CASE WHEN tat <= present + back THEN present ELSE tat - back END;
        END IF;
      END IF;
      IF tat <> tats[k] THEN
        tats[k] := tat;
        wrote := true;
      END IF;
      at := at + 5;
    END LOOP;
    first := at;
  END LOOP;

  IF wrote THEN
    UPDATE ${schema}.sluice_bucket b SET tat = u.tat
    FROM unnest(places, tats) AS u (place, tat)
    WHERE b.ctid = u.place AND b.tat <> u.tat;
  END IF;
  RETURN answer;
END
$$;

-- As sluice_decide_v1, by the server's clock. This is what a role with the least rights may call.
--
--   lazy  whether the answer need not wait until the disk has it
--   wait  for how many milliseconds it may wait for each row that another transaction has locked
CREATE OR REPLACE FUNCTION ${schema}.sluice_charge_v1(
  lazy boolean, wait int, keys bytea[], charges bigint[], sizes int[]) RETURNS bigint[]
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  setting text; -- an assignment is faster than PERFORM
BEGIN
  setting := set_config('lock_timeout', greatest(wait, 1)::text, true);
  IF lazy THEN
    setting := set_config('synchronous_commit', 'off', true);
  END IF;
  RETURN ${schema}.sluice_decide_v1(NULL::bigint, keys, charges, sizes);
END
$$;

-- One spend of one bucket, with a positive increment: the most frequent call, in one statement while
-- it is granted. A search_path of its own would take a quarter of the call, so everything in here has
-- its schema before it, operators and types too.
--
-- Returns the current time and the TAT that it found, flipped; null as sluice_decide_v1. A TAT that
-- is not later than the current time is answered as no TAT: both are a full bucket. If the bucket
-- was full, the time is the one that the new TAT was computed from.
CREATE OR REPLACE FUNCTION ${schema}.sluice_spend_v1(
  lazy boolean, wait int, bucket bytea, inc bigint, off bigint) RETURNS bigint[]
LANGUAGE plpgsql VOLATILE SECURITY DEFINER AS $$
DECLARE
  no_tat CONSTANT bigint := -9223372036854775808;
  setting pg_catalog.text;
  found_tat bigint;
  present bigint;
BEGIN
  setting := pg_catalog.set_config('lock_timeout', greatest(wait, 1)::pg_catalog.text, true);
  IF lazy THEN
    setting := pg_catalog.set_config('synchronous_commit', 'off', true);
  END IF;
  IF inc OPERATOR(pg_catalog.<=) off THEN
    INSERT INTO ${schema}.sluice_bucket AS b (key, tat)
    VALUES (bucket, ${schema}.sluice_now_v1() OPERATOR(pg_catalog.+) inc)
    ON CONFLICT (key) DO UPDATE SET tat = greatest(b.tat, ${schema}.sluice_now_v1()) OPERATOR(pg_catalog.+) inc
    WHERE b.tat OPERATOR(pg_catalog.<=) (${schema}.sluice_now_v1() OPERATOR(pg_catalog.+) (off OPERATOR(pg_catalog.-) inc))
    RETURNING b.tat OPERATOR(pg_catalog.-) inc INTO found_tat;
  END IF;
  IF FOUND THEN
    present := ${schema}.sluice_now_v1();
    -- Whether the insert waited for another that was undone
    IF found_tat OPERATOR(pg_catalog.<) (present OPERATOR(pg_catalog.-) 1000000) THEN
      UPDATE ${schema}.sluice_bucket b SET tat = present OPERATOR(pg_catalog.+) inc
      WHERE b.key OPERATOR(pg_catalog.=) bucket;
      found_tat := present;
    END IF;
    IF found_tat OPERATOR(pg_catalog.<=) present THEN
      RETURN ARRAY[found_tat, no_tat];
    END IF;
    RETURN ARRAY[present, found_tat];
  END IF;
  -- Denied. The row is locked now, so this decides by a time after the wait for it.
  RETURN ${schema}.sluice_charge_v1(lazy, wait, ARRAY[bucket], ARRAY[1, 1, inc, off, 0], ARRAY[1]);
END
$$;

-- What checks need: the current time, and the TAT of each bucket in the order of keys. Locks nothing.
CREATE OR REPLACE FUNCTION ${schema}.sluice_read_v1(keys bytea[])
RETURNS bigint[] LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
BEGIN
  RETURN ${schema}.sluice_now_v1() || ARRAY(
    SELECT coalesce(
      (SELECT b.tat FROM ${schema}.sluice_bucket b WHERE b.key = k.key), -9223372036854775808)
    FROM unnest(keys) AS k (key));
END
$$;

-- Deletes full buckets among the next keys. It waits for no lock: locked rows stay for the next round.
--
-- Returns the last of these keys (null at the end of the table; after, while another call cleans it),
-- and how many buckets it deleted.
CREATE OR REPLACE FUNCTION ${schema}.sluice_clean_v2(after bytea, most int, OUT last bytea, OUT deleted int)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  looked bytea[];
BEGIN
  last := after;
  deleted := 0;
  IF NOT pg_try_advisory_xact_lock(${lock}) THEN
    RETURN;
  END IF;
  SELECT array_agg(n.key) INTO looked FROM (
    SELECT b.key FROM ${schema}.sluice_bucket b WHERE b.key > after ORDER BY b.key LIMIT most
  ) AS n;
  DELETE FROM ${schema}.sluice_bucket b USING (
    SELECT f.key FROM ${schema}.sluice_bucket f WHERE f.key = ANY (looked) AND f.tat <= ${schema}.sluice_now_v1()
    FOR UPDATE SKIP LOCKED
  ) AS d
  WHERE b.key = d.key;
  GET DIAGNOSTICS deleted = ROW_COUNT;
  last := looked[cardinality(looked)];
END
$$;

-- The servers that share the buckets. After a crash they announce themselves again.
CREATE UNLOGGED TABLE IF NOT EXISTS ${schema}.sluice_server (
  scope bytea,
  process bytea,
  ends timestamptz NOT NULL,
  PRIMARY KEY (scope, process)
);

-- Lists a server for some time (up to a minute), or removes it if the time is 0, and returns the
-- listed servers of its scope. Deletes the rows that are over, also those of other scopes. A row
-- that ends in more than a minute is wrong, for example because the clock was put back.
CREATE OR REPLACE FUNCTION ${schema}.sluice_announce_v1(own_scope bytea, own_process bytea, millis int)
RETURNS SETOF bytea LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  present CONSTANT timestamptz := clock_timestamp();
  setting text := set_config('lock_timeout', '1s', true);
BEGIN
  -- Its own row first: a server that waits for this row must not have other rows locked.
  IF millis > 0 THEN
    INSERT INTO ${schema}.sluice_server AS s (scope, process, ends)
    VALUES (own_scope, own_process, present + millis * interval '1 millisecond')
    ON CONFLICT (scope, process) DO UPDATE SET ends = excluded.ends;
  ELSE
    DELETE FROM ${schema}.sluice_server s WHERE s.scope = own_scope AND s.process = own_process;
  END IF;
  DELETE FROM ${schema}.sluice_server s USING (
    SELECT o.scope, o.process FROM ${schema}.sluice_server o
    WHERE o.ends <= present OR o.ends > present + interval '1 minute'
    FOR UPDATE SKIP LOCKED
  ) AS d
  WHERE s.scope = d.scope AND s.process = d.process;
  RETURN QUERY
    SELECT s.process FROM ${schema}.sluice_server s
    WHERE s.scope = own_scope AND s.ends > present AND s.ends <= present + interval '1 minute';
END
$$;

-- Whoever owns the functions may call them, and nobody else by default.
REVOKE ALL ON TABLE ${schema}.sluice_bucket, ${schema}.sluice_server FROM PUBLIC;
REVOKE ALL ON FUNCTION
  ${schema}.sluice_now_v1(),
  ${schema}.sluice_decide_v1(bigint, bytea[], bigint[], int[]),
  ${schema}.sluice_charge_v1(boolean, int, bytea[], bigint[], int[]),
  ${schema}.sluice_spend_v1(boolean, int, bytea, bigint, bigint),
  ${schema}.sluice_read_v1(bytea[]),
  ${schema}.sluice_clean_v2(bytea, int),
  ${schema}.sluice_announce_v1(bytea, bytea, int)
FROM PUBLIC;

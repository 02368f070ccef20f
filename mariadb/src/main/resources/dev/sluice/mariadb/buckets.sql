-- SPDX-License-Identifier: Apache-2.0
-- Buckets in MariaDB: one table, and the law of a bucket as procedures beside it.
--
-- A TAT is an unsigned number of 64 bits, stored as a signed one with its top bit flipped: the
-- smallest BIGINT stands for 0 (no bucket), and the order of TATs is kept. Every time in here is
-- flipped in the same way. No sum can overflow, for the reasons in PostgreSQL's buckets.sql.
--
-- MariaDB has no arrays. Lists of numbers are binary strings with eight bytes for each number, the
-- highest byte first.
--
-- The number in a procedure's name is its version. During an upgrade two versions of Sluice work on
-- one table, each with procedures of its own. A line of dashes separates the statements.

CREATE TABLE IF NOT EXISTS sluice_bucket (
  bucket VARBINARY(3072) NOT NULL PRIMARY KEY,
  tat BIGINT NOT NULL
) ENGINE = InnoDB
----
-- Decides on the batches of one or many callers, each of them all or nothing, in order.
--
--   at_time  the current time, flipped; null for the server's clock
--   buckets  the keys of all batches, each once, in the order of their bytes; before each key its
--            length in two bytes
--   charges  six numbers for each charge: the size of its batch if it is the first of it, else 0;
--            the place of its key in buckets (from 1); the operation; the increment; the burst
--            offset; the end (flipped; of a spend up to, the emission interval, as it is)
--
-- The only row has the current time and then for each charge the TAT that it found, all flipped; it
-- is null if other calls deleted buckets meanwhile: nothing is decided then, and the caller asks again.
CREATE OR REPLACE PROCEDURE sluice_decide_v1(
  IN at_time BIGINT, IN buckets LONGBLOB, IN charges LONGBLOB)
MODIFIES SQL DATA SQL SECURITY DEFINER
body: BEGIN
  -- The operations, as SqlCall numbers them.
  DECLARE is_check, is_spend, is_spend_only, is_forgive, is_refund, is_reset, is_withdraw, is_up_to INT;
  DECLARE no_tat BIGINT DEFAULT -9223372036854775808;
  DECLARE most BIGINT DEFAULT 9223372036854775807;
  DECLARE tries INT DEFAULT 0;
  DECLARE at, size, place, first INT;
  DECLARE bucket_key VARBINARY(3072);
  DECLARE found, tats, answer LONGBLOB;
  DECLARE present, op, inc, off, until, tat, ahead, back BIGINT;
  DECLARE passes BOOLEAN;
  DECLARE batch, i INT;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN
    ROLLBACK;
    RESIGNAL;
  END;
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET tat = NULL;
  SET is_check = 0, is_spend = 1, is_spend_only = 2, is_forgive = 3, is_refund = 4, is_reset = 5,
    is_withdraw = 6, is_up_to = 7;

  -- When a call is cut by its time-out, this tells whether it may have been committed.
  SET @sluice_committing = FALSE;
  -- Locks all rows in the order of the keys, so that no two calls wait for each other. A key that is
  -- missing is inserted while no lock is held.
  locking: LOOP
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED; -- without locks between the rows
    START TRANSACTION;
    SET found = '', at = 1, tat = 0;
    WHILE at <= LENGTH(buckets) AND tat IS NOT NULL DO
      SET size = CONV(HEX(SUBSTR(buckets, at, 2)), 16, 10);
      SET bucket_key = SUBSTR(buckets, at + 2, size);
      SELECT b.tat INTO tat FROM sluice_bucket b WHERE b.bucket = bucket_key FOR UPDATE;
      SET found = CONCAT(found, UNHEX(LPAD(HEX(tat), 16, '0')));
      SET at = at + 2 + size;
    END WHILE;
    -- The owner of a procedure may be allowed to write to a replica, which would then differ from its
    -- primary. Since MariaDB 12, read_only is a text, which counts as 0 beside a number.
    IF CAST(@@global.read_only AS CHAR) NOT IN ('0', 'OFF') THEN
      SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1290, MESSAGE_TEXT = 'the database is read-only, like a replica';
    END IF;
    IF tat IS NOT NULL THEN
      LEAVE locking;
    END IF;
    ROLLBACK;
    IF tries = 2 THEN
      SELECT NULL;
      LEAVE body;
    END IF;
    SET tries = tries + 1, at = 1;
    WHILE at <= LENGTH(buckets) DO
      SET size = CONV(HEX(SUBSTR(buckets, at, 2)), 16, 10);
      INSERT INTO sluice_bucket (bucket, tat) VALUES (SUBSTR(buckets, at + 2, size), no_tat)
      ON DUPLICATE KEY UPDATE tat = sluice_bucket.tat;
      SET at = at + 2 + size;
    END WHILE;
  END LOOP;

  -- The time at which this statement starts, after every wait for a lock.
  SET present = COALESCE(
    at_time, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) * 1000 + no_tat);
  SET tats = found, answer = UNHEX(LPAD(HEX(present), 16, '0')), first = 1;

  WHILE first <= LENGTH(charges) DO
    SET batch = CONV(HEX(SUBSTR(charges, first, 8)), 16, 10), passes = TRUE, at = first, i = 0;
    WHILE i < batch DO
      SET place = CONV(HEX(SUBSTR(charges, at + 8, 8)), 16, 10) * 8 - 7;
      SET op = CONV(HEX(SUBSTR(charges, at + 16, 8)), 16, 10);
      SET inc = CONV(HEX(SUBSTR(charges, at + 24, 8)), 16, -10);
      SET off = CONV(HEX(SUBSTR(charges, at + 32, 8)), 16, -10);
      SET answer = CONCAT(answer, SUBSTR(tats, place, 8));
      IF inc > 0 AND passes AND op IN (is_check, is_spend, is_forgive, is_up_to) THEN
        SET tat = CONV(HEX(SUBSTR(tats, place, 8)), 16, -10);
        SET ahead = CASE
          WHEN tat <= present THEN 0 WHEN tat > present + most THEN most ELSE tat - present END;
        IF op = is_forgive AND ahead > off THEN
          SET ahead = off;
        ELSEIF op = is_up_to AND off - ahead < inc THEN -- as many tokens as there are, at least one
          SET until = CONV(HEX(SUBSTR(charges, at + 40, 8)), 16, -10);
          SET inc = GREATEST(off - ahead - (off - ahead) % until, until);
          SET charges = INSERT(charges, at + 24, 8, UNHEX(LPAD(HEX(inc), 16, '0')));
        END IF;
        SET passes = off - inc >= ahead;
      END IF;
      SET at = at + 48, i = i + 1;
    END WHILE;

    SET at = first, i = 0;
    WHILE i < batch DO
      SET place = CONV(HEX(SUBSTR(charges, at + 8, 8)), 16, 10) * 8 - 7;
      SET op = CONV(HEX(SUBSTR(charges, at + 16, 8)), 16, 10);
      SET inc = CONV(HEX(SUBSTR(charges, at + 24, 8)), 16, -10);
      SET off = CONV(HEX(SUBSTR(charges, at + 32, 8)), 16, -10);
      SET until = CONV(HEX(SUBSTR(charges, at + 40, 8)), 16, -10);
      SET tat = CONV(HEX(SUBSTR(tats, place, 8)), 16, -10);
      IF op = is_forgive AND off < most AND tat > present + off THEN
        SET tat = present + off; -- also when the spend is denied
      END IF;
      IF op IN (is_spend, is_spend_only, is_forgive, is_up_to) THEN
        IF passes AND inc > 0 AND inc <= off AND tat <= present + (off - inc) THEN
          SET tat = GREATEST(tat, present) + inc;
        END IF;
      ELSEIF op = is_reset THEN
        IF passes THEN
          SET tat = no_tat;
        END IF;
      ELSEIF passes AND tat > present
          AND (op = is_refund OR (op = is_withdraw AND tat = until)) THEN
        SET back = inc;
        IF op = is_refund THEN -- no more than what is left until its end
          IF until <= present THEN
            SET back = 0;
          ELSEIF until < present + inc THEN
            SET back = until - present;
          END IF;
        END IF;
        IF back > 0 THEN
          SET tat = CASE WHEN tat <= present + back THEN present ELSE tat - back END;
        END IF;
      END IF;
      SET tats = INSERT(tats, place, 8, UNHEX(LPAD(HEX(tat), 16, '0')));
      SET at = at + 48, i = i + 1;
    END WHILE;
    SET first = at;
  END WHILE;

  SET at = 1, place = 1;
  WHILE at <= LENGTH(buckets) DO
    SET size = CONV(HEX(SUBSTR(buckets, at, 2)), 16, 10);
    IF SUBSTR(tats, place, 8) <> SUBSTR(found, place, 8) THEN
      SET bucket_key = SUBSTR(buckets, at + 2, size);
      SET tat = CONV(HEX(SUBSTR(tats, place, 8)), 16, -10);
      UPDATE sluice_bucket b SET b.tat = tat WHERE b.bucket = bucket_key;
    END IF;
    SET at = at + 2 + size, place = place + 8;
  END WHILE;
  SET @sluice_committing = TRUE;
  COMMIT;
  SELECT answer;
END
----
-- As sluice_decide_v1, by the server's clock. This is what a user with the least rights may call.
CREATE OR REPLACE PROCEDURE sluice_charge_v1(IN buckets LONGBLOB, IN charges LONGBLOB)
MODIFIES SQL DATA SQL SECURITY DEFINER
CALL sluice_decide_v1(NULL, buckets, charges)
----
-- What checks need: the current time, and the TAT of each bucket in the order of buckets. Locks nothing.
CREATE OR REPLACE PROCEDURE sluice_read_v1(IN buckets LONGBLOB)
READS SQL DATA SQL SECURITY DEFINER
BEGIN
  DECLARE no_tat BIGINT DEFAULT -9223372036854775808;
  DECLARE at INT DEFAULT 1;
  DECLARE size INT;
  DECLARE bucket_key VARBINARY(3072);
  DECLARE tat BIGINT;
  DECLARE tats LONGBLOB DEFAULT '';
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN
    ROLLBACK;
    RESIGNAL;
  END;
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET tat = no_tat;
  SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; -- all buckets as they were at one time
  START TRANSACTION READ ONLY;
  WHILE at <= LENGTH(buckets) DO
    SET size = CONV(HEX(SUBSTR(buckets, at, 2)), 16, 10);
    SET bucket_key = SUBSTR(buckets, at + 2, size);
    SELECT b.tat INTO tat FROM sluice_bucket b WHERE b.bucket = bucket_key;
    SET tats = CONCAT(tats, UNHEX(LPAD(HEX(tat), 16, '0')));
    SET at = at + 2 + size;
  END WHILE;
  COMMIT;
  SELECT CONCAT(
    UNHEX(LPAD(HEX(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) * 1000 + no_tat), 16, '0')),
    tats);
END
----
-- Deletes full buckets among the next keys. It waits for no lock: locked rows stay for the next round.
--
-- The only row has the last of these keys (null at the end of the table; after, while another call
-- cleans it or while the server is a replica), and how many buckets were deleted.
CREATE OR REPLACE PROCEDURE sluice_clean_v2(IN after VARBINARY(3072), IN most INT)
MODIFIES SQL DATA SQL SECURITY DEFINER
body: BEGIN
  DECLARE own_lock VARCHAR(64) DEFAULT CONCAT('sluice_clean.', MD5(DATABASE()));
  DECLARE present BIGINT DEFAULT
    TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) * 1000 + (-9223372036854775808);
  DECLARE last, next VARBINARY(3072);
  DECLARE is_over BOOLEAN DEFAULT FALSE;
  DECLARE deleted INT DEFAULT 0;
  DECLARE full CURSOR FOR
    SELECT b.bucket FROM sluice_bucket b
    WHERE b.bucket > after AND b.bucket <= last AND b.tat <= present FOR UPDATE SKIP LOCKED;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN
    ROLLBACK;
    DO RELEASE_LOCK(own_lock);
    RESIGNAL;
  END;
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET is_over = TRUE;
  IF CAST(@@global.read_only AS CHAR) NOT IN ('0', 'OFF') OR GET_LOCK(own_lock, 0) = 0 THEN
    SELECT after, deleted;
    LEAVE body;
  END IF;
  SELECT MAX(n.bucket) INTO last FROM (
    SELECT b.bucket FROM sluice_bucket b WHERE b.bucket > after ORDER BY b.bucket LIMIT most
  ) AS n;
  SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
  START TRANSACTION;
  OPEN full;
  deleting: LOOP
    FETCH full INTO next;
    IF is_over THEN
      LEAVE deleting;
    END IF;
    DELETE FROM sluice_bucket WHERE bucket = next;
    SET deleted = deleted + 1;
  END LOOP;
  CLOSE full;
  COMMIT;
  DO RELEASE_LOCK(own_lock);
  SELECT last, deleted;
END
----
-- The servers that share the buckets, each until its end in microseconds since 1970.
CREATE TABLE IF NOT EXISTS sluice_server (
  scope VARBINARY(2048) NOT NULL,
  process VARBINARY(1024) NOT NULL,
  ends BIGINT NOT NULL,
  PRIMARY KEY (scope, process)
) ENGINE = InnoDB
----
-- Lists a server for some time (up to a minute), or removes it if the time is 0, and returns the
-- listed servers of its scope. Deletes the rows that are over, also those of other scopes. A row
-- that ends in more than a minute is wrong, for example because the clock was put back. Two
-- transactions: the first one locks rows in the order of the key, the second one locks only the
-- server's own row. So two servers never wait for each other.
CREATE OR REPLACE PROCEDURE sluice_announce_v1(
  IN own_scope VARBINARY(2048), IN own_process VARBINARY(1024), IN millis INT)
MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
  DECLARE present BIGINT DEFAULT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6));
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN
    ROLLBACK;
    RESIGNAL;
  END;
  IF CAST(@@global.read_only AS CHAR) NOT IN ('0', 'OFF') THEN
    SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1290, MESSAGE_TEXT = 'the database is read-only, like a replica';
  END IF;
  SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
  START TRANSACTION;
  DELETE FROM sluice_server WHERE ends <= present OR ends > present + 60000000;
  COMMIT;
  SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
  START TRANSACTION;
  IF millis > 0 THEN
    INSERT INTO sluice_server VALUES (own_scope, own_process, present + millis * 1000)
    ON DUPLICATE KEY UPDATE ends = VALUES(ends);
  ELSE
    DELETE FROM sluice_server WHERE scope = own_scope AND process = own_process;
  END IF;
  COMMIT;
  SELECT s.process FROM sluice_server s
  WHERE s.scope = own_scope AND s.ends > present AND s.ends <= present + 60000000;
END

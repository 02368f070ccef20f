package dev.sluice.store;

import dev.sluice.store.Charge.Act;
import org.jspecify.annotations.Nullable;

/** The buckets of one limit in a table: the hash of the prefix is kept. Immutable. */
final class TableBuckets implements Buckets {

  private final BucketTable table;
  private final SipHash prefix;

  TableBuckets(BucketTable table, String prefix) {
    this.table = table;
    this.prefix = table.hash().message(prefix, 0, prefix.length());
  }

  @Override
  public <R> R charge(
      CharSequence id, Act act, long incrementNanos, long offsetNanos, Outcome<R> outcome) {
    SipHash hash = new SipHash(prefix).message(id, 0, id.length());
    String text = id instanceof String string ? string : null;
    return charge(hash, text, act, incrementNanos, offsetNanos, outcome);
  }

  @Override
  public <R> R charge(
      byte[] id, Act act, long incrementNanos, long offsetNanos, Outcome<R> outcome) {
    SipHash hash = new SipHash(prefix).message(id, 0, id.length);
    return charge(hash, null, act, incrementNanos, offsetNanos, outcome);
  }

  @Override
  public <R> R charge(long id, Act act, long incrementNanos, long offsetNanos, Outcome<R> outcome) {
    SipHash hash = new SipHash(prefix).message(id);
    return charge(hash, null, act, incrementNanos, offsetNanos, outcome);
  }

  private <R> R charge(
      SipHash hash,
      @Nullable String id,
      Act act,
      long incrementNanos,
      long offsetNanos,
      Outcome<R> outcome) {
    SipHash ended = hash.end();
    long tag = ended.first();
    long place = ended.second();
    return table.charge(tag, place, act, incrementNanos, offsetNanos, Charge.NO_END, id, outcome);
  }
}

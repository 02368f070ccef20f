package dev.sluice.store;

import dev.sluice.store.Charge.Act;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** {@link Buckets} of a store that knows nothing better than to be asked key by key. */
record KeyedBuckets(BucketStore store, String prefix) implements Buckets {

  @Override
  public <R> R charge(
      CharSequence id, Act act, long incrementNanos, long offsetNanos, Outcome<R> outcome) {
    Charge charge = new Charge(prefix + id, act, incrementNanos, offsetNanos, Charge.NO_END);
    Reading reading = store.charge(List.of(charge)).get(0);
    String text = id instanceof String string ? string : null;
    return outcome.of(text, incrementNanos, reading.nowNanos(), reading.tatNanos());
  }

  @Override
  public <R> R charge(
      byte[] id, Act act, long incrementNanos, long offsetNanos, Outcome<R> outcome) {
    String text = new String(id, StandardCharsets.UTF_8);
    return charge(text, act, incrementNanos, offsetNanos, outcome);
  }

  @Override
  public <R> R charge(long id, Act act, long incrementNanos, long offsetNanos, Outcome<R> outcome) {
    return charge(Long.toString(id), act, incrementNanos, offsetNanos, outcome);
  }
}

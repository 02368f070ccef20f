// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.gcra.Effect.Op;
import dev.sluice.store.BucketStore;
import dev.sluice.store.Charge;
import dev.sluice.store.Reading;
import dev.sluice.store.StoreException;
import java.util.List;

/**
 * A store that forgives no debts. A process forgives a debt once within the time of the burst
 * offset; a command that ends after one act would forgive one in each run, without a bound. The
 * denial then stands, and tells the debt. Thread-safe, and blocks, as the store behind it.
 */
final class UnforgivingStore implements BucketStore {

  private final BucketStore store;

  UnforgivingStore(BucketStore store) {
    this.store = store;
  }

  @Override
  public List<Reading> charge(List<Charge> charges) {
    if (charges.stream().anyMatch(charge -> charge.effect().op() == Op.FORGIVE)) {
      throw new UnforgivenException();
    }
    return store.charge(charges);
  }

  @Override
  public BucketStore forOneCall() {
    return new UnforgivingStore(store.forOneCall());
  }

  @Override
  public long clockSkewNanos() {
    return store.clockSkewNanos();
  }

  @Override
  public void close() {
    store.close();
  }

  private static final class UnforgivenException extends StoreException {

    private static final long serialVersionUID = 1;

    UnforgivenException() {
      super("a command forgives no debts; nothing was charged");
    }

    @Override
    public boolean chargedNothing() {
      return true;
    }
  }
}

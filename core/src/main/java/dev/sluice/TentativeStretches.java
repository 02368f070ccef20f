// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import dev.sluice.RefundStripe.Lowering;
import dev.sluice.RefundStripe.Stretch;
import dev.sluice.store.BucketStore.Tentative;
import dev.sluice.store.Charge;
import dev.sluice.store.Reading;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Gives back what a store took in vain as a cancelled reservation is given back. It is a stretch of
 * the same time line, so that neither gives back what the other does. Thread-safe.
 */
record TentativeStretches(RefundTracker refundTracker, WaitingRoom waitingRoom)
    implements Tentative {

  @Override
  public Part begin(Charge charge) {
    return new Taken(charge, refundTracker.open(List.of(charge)).get(0));
  }

  private final class Taken implements Part {
    private final Charge charge;
    private final Stretch stretch;
    private @Nullable Lowering refund;

    Taken(Charge charge, Stretch stretch) {
      this.charge = charge;
      this.stretch = stretch;
    }

    @Override
    public @Nullable Charge giveBack(Reading found) {
      long afterNanos = charge.tatAfterNanos(found.nowNanos(), found.tatNanos(), true);
      refundTracker.place(stretch, found, afterNanos);
      Lowering made =
          refundTracker.giveBack(stretch, charge.incrementNanos(), charge.offsetNanos());
      refund = made;
      return made == null ? null : made.charge();
    }

    @Override
    public void gaveBack(@Nullable Reading found) {
      Lowering made = refund;
      if (made == null) {
        return;
      }
      waitingRoom.lowered(charge.key(), found == null ? made.hauntsNanos() : 0);
      if (found == null) {
        refundTracker.failed(List.of(made));
      } else {
        refundTracker.answered(List.of(made), List.of(found));
      }
    }

    @Override
    public void kept() {
      refundTracker.close(stretch);
    }
  }
}

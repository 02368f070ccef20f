package dev.sluice.server.rls;

import dev.sluice.envoy.RateLimitDescriptor.Entry;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Finds the limits that a descriptor stands for. Thread-safe; never blocks. */
@FunctionalInterface
interface Mapping {

  /**
   * Maps a descriptor.
   *
   * @param domain what the proxy calls its set of limits, not empty
   * @param entries the descriptor
   * @param limits the limits that hold now
   * @return what the descriptor stands for
   * @throws dev.sluice.limit.InvalidRequestException if a limit is meant, and a value is no id of
   *     its
   */
  Mapped map(String domain, List<Entry> entries, Limits limits);

  /** What a descriptor stands for. */
  sealed interface Mapped {}

  /** No limit is meant: the descriptor passes, and is counted as unmatched. */
  record Unmatched() implements Mapped {
    static final Unmatched INSTANCE = new Unmatched();
  }

  /** Somebody wrote that it is unlimited. */
  record Unlimited() implements Mapped {}

  /**
   * One limit or several, which count together.
   *
   * @param lines at least one
   */
  record Limited(List<Line> lines) implements Mapped {}

  /**
   * A limit and the id that it is asked for.
   *
   * @param limit the limit
   * @param id the id, not yet canonical
   * @param cost tokens; null for the hits of the request
   * @param shadow whether it is on trial, and refuses nobody
   * @param excess what becomes of a cost that does not fit
   */
  record Line(LimitName limit, String id, @Nullable Long cost, boolean shadow, Excess excess) {

    /**
     * Returns a line that costs what the request says.
     *
     * @param limit the limit
     * @param id the id, not yet canonical
     * @return the line
     */
    static Line of(LimitName limit, String id) {
      return new Line(limit, id, null, false, Excess.REJECT);
    }
  }
}

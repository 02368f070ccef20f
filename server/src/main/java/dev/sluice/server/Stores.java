package dev.sluice.server;

import dev.sluice.limit.Suggestion;
import dev.sluice.store.BucketStore;
import dev.sluice.store.TimeSource;
import java.util.List;
import java.util.Locale;

/**
 * Opens stores by their address. The one place that knows every kind of store.
 *
 * <p>Stateless and thread-safe. Opening may block on a network.
 */
public final class Stores {

  private static final String MEMORY = "memory";
  private static final List<String> PLANNED =
      List.of("redis", "rediss", "redis-sentinel", "redis-cluster", "redis-ring");
  private static final List<String> KNOWN = List.of(MEMORY);

  private Stores() {}

  /**
   * Opens a store.
   *
   * @param address {@code memory}
   * @param time the clock of a store that has none of its own
   * @return the store, to be closed
   * @throws IllegalArgumentException if there is no such kind of store, naming those that there are
   */
  public static BucketStore open(String address, TimeSource time) {
    int end = address.indexOf(':');
    String scheme = (end < 0 ? address : address.substring(0, end)).toLowerCase(Locale.ROOT);
    if (address.equals(MEMORY)) {
      return BucketStore.inMemory(time);
    }
    if (PLANNED.contains(scheme)) {
      throw new IllegalArgumentException(
          "found the store \"%s\", which this version can't open yet; expected memory"
              .formatted(shown(address)));
    }
    throw new IllegalArgumentException(
        "found the store \"%s\", expected memory%s"
            .formatted(shown(address), Suggestion.didYouMean(scheme, KNOWN)));
  }

  /**
   * A store's address for logs and messages.
   *
   * @param address as for {@link #open}
   * @return the address without the user and the password that may stand in it
   */
  public static String shown(String address) {
    return address.replaceAll("//.*@", "//…@");
  }
}

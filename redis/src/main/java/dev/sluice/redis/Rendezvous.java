// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import java.nio.charset.StandardCharsets;
import java.util.List;

/**
 * Places keys on servers by the highest hash of the two together (rendezvous hashing). A server
 * that is added takes its share from all others, one that is taken away leaves its share to them,
 * and no other key moves. Same hashes as the ring of Boulder's client, so that both find the same
 * server where they call them by the same names. Immutable, thread-safe.
 *
 * @see <a href="https://en.wikipedia.org/wiki/Rendezvous_hashing">the scheme</a>
 */
final class Rendezvous {

  private static final long MULTIPLIER = 2685821657736338717L; // of xorshift64*

  private final long[] serverHashes;

  Rendezvous(List<String> servers) {
    serverHashes =
        servers.stream()
            .mapToLong(name -> XxHash64.hash(name.getBytes(StandardCharsets.UTF_8)))
            .toArray();
  }

  /** The index of the server of a key. */
  int serverOf(byte[] key) {
    long keyHash = XxHash64.hash(Keys.tagOf(key));
    int best = 0;
    long bestMix = mix(keyHash ^ serverHashes[0]);
    for (int i = 1; i < serverHashes.length; i++) {
      long mix = mix(keyHash ^ serverHashes[i]);
      if (Long.compareUnsigned(mix, bestMix) > 0) {
        best = i;
        bestMix = mix;
      }
    }
    return best;
  }

  private static long mix(long bits) {
    long x = bits ^ (bits >>> 12);
    x ^= x << 25;
    x ^= x >>> 27;
    return x * MULTIPLIER;
  }
}

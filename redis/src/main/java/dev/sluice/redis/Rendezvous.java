// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import java.nio.charset.StandardCharsets;
import java.util.List;

/**
 * Places each key on the server for which the hash of key and server is highest (rendezvous
 * hashing). If a server is added, only the keys of the added server move. If a server is removed,
 * only the keys of the removed server move. The hashes are the same as in Boulder's client, so
 * Sluice and Boulder find the same server if the servers have the same names. Immutable,
 * thread-safe.
 *
 * @see <a href="https://en.wikipedia.org/wiki/Rendezvous_hashing">the scheme</a>
 */
final class Rendezvous {

  private static final long MULTIPLIER = 2685821657736338717L; // the multiplier of xorshift64*

  private final long[] serverHashes;

  Rendezvous(List<String> servers) {
    serverHashes =
        servers.stream()
            .mapToLong(name -> XxHash64.hash(name.getBytes(StandardCharsets.UTF_8)))
            .toArray();
  }

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

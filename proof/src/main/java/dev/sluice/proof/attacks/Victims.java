// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.attacks;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Starts the servers of a report: all with TLS on every door, or all without. Immutable.
 *
 * @param tls their certificate; null for no TLS
 * @param memory what each may use
 */
record Victims(@Nullable TlsIdentity tls, Memory memory) {

  Victim start(String... options) throws IOException {
    return Victim.start(this, withTls(options));
  }

  /** Starts a server that is to refuse its options, and returns its exit code. */
  int exitOf(String... options) throws IOException, InterruptedException {
    return Victim.exitOf(memory, withTls(options));
  }

  private List<String> withTls(String... options) {
    List<String> all = new ArrayList<>(List.of(options));
    if (tls != null) {
      all.addAll(List.of(tls.options()));
    }
    return all;
  }
}

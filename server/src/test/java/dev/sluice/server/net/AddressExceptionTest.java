// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.net;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.server.net.HostPort.AddressException;
import java.net.InetSocketAddress;
import java.nio.channels.UnsupportedAddressTypeException;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.Test;

final class AddressExceptionTest {

  /** Netty throws it without a message where the JVM has no IPv6. */
  @Test
  void failureWithoutAMessage_isToldInWords() {
    InetSocketAddress address = HostPort.parse("[::1]:8080");
    assertThat(
            AddressException.of(
                address, new CompletionException(new UnsupportedAddressTypeException())))
        .hasMessageStartingWith("can't listen on [0:0:0:0:0:0:0:1]:8080: this JVM has no IPv6;");
    assertThat(AddressException.of(address, new IllegalStateException()))
        .hasMessageContaining(": IllegalStateException;");
  }
}

// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.tls;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.charset.StandardCharsets;
import java.security.InvalidKeyException;
import java.security.PrivateKey;
import org.junit.jupiter.api.Test;

/** Keys in the forms that tools write, and what each other form is told. */
final class PemKeyTest {

  /** Of {@code openssl ecparam -name prime256v1 -genkey}, for tests only. */
  private static final String SEC_1 =
      """
      -----BEGIN EC PARAMETERS-----
      BggqhkjOPQMBBw==
      -----END EC PARAMETERS-----
      -----BEGIN EC PRIVATE KEY-----
      MHcCAQEEIK94PQmNIC8ij3ZGtdexMZ2EPc5fqAyHnyZRP78Vc5xQoAoGCCqGSM49
      AwEHoUQDQgAEzfFEF/g9YTcX/xZ7GBw/zcAdaFYFL1JJ5eOHBvBKQY9gYPyZ8FLL
      3xFjGMU30yrsti8JdAkdUilNCoktbWLx7A==
      -----END EC PRIVATE KEY-----
      """;

  /** The same key behind {@code openssl pkcs8 -topk8 -nocrypt}. */
  private static final String PKCS_8 =
      """
      -----BEGIN PRIVATE KEY-----
      MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgr3g9CY0gLyKPdka1
      17ExnYQ9zl+oDIefJlE/vxVznFChRANCAATN8UQX+D1hNxf/FnsYHD/NwB1oVgUv
      Uknl44cG8EpBj2Bg/JnwUsvfEWMYxTfTKuy2Lwl0CR1SKU0KiS1tYvHs
      -----END PRIVATE KEY-----
      """;

  private static PrivateKey read(String pem) throws InvalidKeyException {
    return PemKey.read(pem.getBytes(StandardCharsets.US_ASCII));
  }

  @Test
  void ecKeyOfSec1_isTheSameKey_asThatOfPkcs8() throws InvalidKeyException {
    assertThat(read(SEC_1).getAlgorithm()).isEqualTo("EC");
    assertThat(((java.security.interfaces.ECPrivateKey) read(SEC_1)).getS())
        .isEqualTo(((java.security.interfaces.ECPrivateKey) read(PKCS_8)).getS());
  }

  @Test
  void keyWithAPassword_isToldHowToTakeItAway() {
    String openssl = "openssl pkey -in THIS.key -out PLAIN.key";
    assertThatThrownBy(
            () ->
                read(
                    "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIGH\n-----END ENCRYPTED PRIVATE KEY-----\n"))
        .hasMessageContaining(openssl);
    assertThatThrownBy(
            () ->
                read(
                    "-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nMIGH\n-----END EC PRIVATE KEY-----\n"))
        .hasMessageContaining(openssl);
  }

  @Test
  void keysOfOtherKinds_andDamagedOnes_areToldWhatIsExpected() {
    String openssl = "expected an RSA or EC key: openssl pkcs8 -topk8 -nocrypt -in";
    for (String kind : new String[] {"DSA PRIVATE KEY", "OPENSSH PRIVATE KEY"}) {
      assertThatThrownBy(
              () -> read("-----BEGIN %s-----\nMIGH\n-----END %s-----\n".formatted(kind, kind)))
          .hasMessageStartingWith("found a " + kind)
          .hasMessageContaining(openssl);
    }
    for (String kind : new String[] {"PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY"}) {
      for (String body : new String[] {"MIGH", "", "%%%", "MHcCAQEEIK94", "MP////8="}) {
        assertThatThrownBy(
                () ->
                    read("-----BEGIN %s-----\n%s\n-----END %s-----\n".formatted(kind, body, kind)))
            .isInstanceOf(InvalidKeyException.class)
            .hasMessageContaining(openssl);
      }
    }
    assertThatThrownBy(() -> read("nothing")).hasMessageContaining("-----BEGIN PRIVATE KEY-----");
  }
}

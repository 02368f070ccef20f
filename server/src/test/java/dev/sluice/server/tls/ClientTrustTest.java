// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.tls;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.server.tls.TlsIdentity.ClientTrust;
import io.netty.handler.ssl.OpenSslCertificateException;
import java.security.cert.X509Certificate;
import java.util.List;
import javax.net.ssl.SSLException;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.junit.jupiter.api.Test;

final class ClientTrustTest {

  /** X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY, which OpenSSL tells as the alert unknown_ca. */
  private static final int UNKNOWN_AUTHORITY = 20;

  private final ClientTrust trust = trust();

  private static ClientTrust trust() {
    try {
      return ClientTrust.in(List.of(Pem.leaf(Pem.CLIENT)));
    } catch (SSLException e) {
      throw new IllegalStateException(e);
    }
  }

  private static X509Certificate[] chain(X509Certificate leaf) {
    return new X509Certificate[] {leaf};
  }

  @Test
  void authority_isTrusted_andNamedToClients() {
    assertThatCode(() -> trust.checkClientTrusted(chain(Pem.leaf(Pem.CLIENT)), "UNKNOWN"))
        .doesNotThrowAnyException();
    assertThat(trust.getAcceptedIssuers()).containsExactly(Pem.leaf(Pem.CLIENT));
  }

  @Test
  void certificateOfAnotherAuthority_isRefused_withTheReason() {
    assertThatThrownBy(() -> trust.checkClientTrusted(chain(Pem.leaf(Pem.NEXT)), "UNKNOWN"))
        .asInstanceOf(InstanceOfAssertFactories.type(OpenSslCertificateException.class))
        .extracting(OpenSslCertificateException::errorCode)
        .isEqualTo(UNKNOWN_AUTHORITY);
  }
}

// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

/** Thrown when a door would be open to a network without TLS or without access control. */
public final class InsecureException extends RuntimeException {

  private static final long serialVersionUID = 1;

  /**
   * Makes the exception.
   *
   * @param address where the door would listen
   * @param encrypted whether it has TLS
   * @param asksForCertificates whether clients may show a certificate, and need not
   */
  InsecureException(String address, boolean encrypted, boolean asksForCertificates) {
    super(
        "%s is not loopback, and %s; %s, listen on 127.0.0.1, or give --insecure where the network"
                .formatted(
                    address,
                    encrypted
                        ? "everybody who reaches it could spend and reset"
                        : "nothing would be encrypted",
                    todo(encrypted, asksForCertificates))
            + " protects it");
  }

  private static String todo(boolean encrypted, boolean asksForCertificates) {
    if (!encrypted) {
      return "give --tls-certificate FILE, --tls-key FILE and --tokens FILE (or --tls-client-ca FILE)";
    }
    return asksForCertificates
        ? "give --tokens FILE, or leave out --tls-client-auth optional, which lets in clients without a certificate"
        : "give --tokens FILE (or --tls-client-ca FILE)";
  }
}

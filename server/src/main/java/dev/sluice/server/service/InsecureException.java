// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

/** Thrown when a door would be open to a network without TLS or without access control. */
public final class InsecureException extends RuntimeException {

  private static final long serialVersionUID = 1;

  /**
   * Makes the exception.
   *
   * @param address where the door would listen
   * @param lacksTls whether nothing would be encrypted
   * @param lacksControl whether everybody would be answered; one of the two is true
   * @param asksForCertificates whether clients may show a certificate, and need not
   */
  InsecureException(
      String address, boolean lacksTls, boolean lacksControl, boolean asksForCertificates) {
    super(
        "%s is not loopback, and %s; %s; or listen on 127.0.0.1"
            .formatted(
                address,
                both(
                    lacksTls ? "nothing would be encrypted" : "",
                    lacksControl ? "everybody who reaches it could spend" : "",
                    " and "),
                both(
                    lacksTls
                        ? "give --tls-certificate FILE and --tls-key FILE, or --plaintext where the network encrypts"
                        : "",
                    lacksControl ? control(asksForCertificates) : "",
                    "; ")));
  }

  private static String control(boolean asksForCertificates) {
    return (asksForCertificates
            ? "give --tokens FILE, or leave out --tls-client-auth optional, which lets in clients without a certificate"
            : "give --tokens FILE (or --tls-client-ca FILE)")
        + ", or --open where the network admits clients only";
  }

  private static String both(String one, String other, String between) {
    return one + (one.isEmpty() || other.isEmpty() ? "" : between) + other;
  }
}

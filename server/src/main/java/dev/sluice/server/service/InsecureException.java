// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

/** Thrown when a door would be open to a network without TLS or without access control. */
public final class InsecureException extends RuntimeException {

  private static final long serialVersionUID = 1;

  InsecureException(String address, boolean encrypted) {
    super(
        "%s is not loopback, and %s; %s, listen on 127.0.0.1, or give --insecure where the network"
                .formatted(
                    address,
                    encrypted
                        ? "everybody who reaches it could spend and reset"
                        : "nothing would be encrypted",
                    encrypted
                        ? "give --tokens FILE (or --tls-client-ca FILE)"
                        : "give --tls-certificate FILE, --tls-key FILE and --tokens FILE (or --tls-client-ca FILE)")
            + " protects it");
  }
}

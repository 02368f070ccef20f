// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.tls;

import java.nio.file.Path;

/**
 * Which certificates clients show.
 *
 * @param authorities a PEM file with the certificates of the authorities that sign them
 * @param required whether a client without a certificate is refused
 */
public record ClientCertificates(Path authorities, boolean required) {}

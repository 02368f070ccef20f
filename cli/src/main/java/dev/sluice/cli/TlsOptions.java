// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.server.tls.TlsFiles;
import dev.sluice.server.tls.TlsFiles.ClientCertificates;
import dev.sluice.text.SafeText;
import java.nio.file.Path;
import java.util.Objects;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The options that encrypt the connections of all doors. */
final class TlsOptions {

  private static final String CERTIFICATE = "--tls-certificate";
  private static final String KEY = "--tls-key";
  private static final String CLIENT_CA = "--tls-client-ca";
  private static final String CLIENT_AUTH = "--tls-client-auth";

  /** The policy that holds with --tls-client-ca. */
  static final String USUAL_AUTH = "required";

  @Option(
      names = CERTIFICATE,
      paramLabel = "FILE",
      description =
          "The server's certificate and those between it and its root, as PEM: every door speaks"
              + " TLS 1.2 or 1.3. The file is watched, and so are the next two.")
  private @Nullable Path certificate;

  @Option(
      names = KEY,
      paramLabel = "FILE",
      description = "The key of that certificate, as PEM without a password.")
  private @Nullable Path key;

  @Option(
      names = CLIENT_CA,
      paramLabel = "FILE",
      description = "The authorities that sign the certificates of clients, as PEM.")
  private @Nullable Path clientCa;

  @Option(
      names = CLIENT_AUTH,
      paramLabel = "POLICY",
      description =
          "With --tls-client-ca: whether a client's certificate is required or optional"
              + " ("
              + USUAL_AUTH
              + ").")
  private @Nullable String clientAuth;

  /** The files, null without TLS. */
  @Nullable TlsFiles files() {
    TlsFiles files = settings();
    if (files != null) {
      Stream.of(certificate, key, clientCa).filter(Objects::nonNull).forEach(InputFiles::require);
    }
    return files;
  }

  /** The same, without a look at any file. */
  @Nullable TlsFiles settings() {
    boolean required = isRequired();
    if (clientAuth != null && clientCa == null) {
      throw new InputException(CLIENT_AUTH + " requires " + CLIENT_CA + " FILE");
    }
    if (certificate == null && key == null) {
      if (clientCa != null) {
        throw new InputException(CLIENT_CA + " requires " + CERTIFICATE + " FILE");
      }
      return null;
    }
    if (certificate == null) {
      throw new InputException(KEY + " requires " + CERTIFICATE + " FILE");
    }
    if (key == null) {
      throw new InputException(CERTIFICATE + " requires " + KEY + " FILE");
    }
    return new TlsFiles(
        certificate, key, clientCa == null ? null : new ClientCertificates(clientCa, required));
  }

  boolean areSet() {
    return certificate != null;
  }

  private boolean isRequired() {
    String policy = clientAuth == null ? USUAL_AUTH : clientAuth;
    return switch (policy) {
      case USUAL_AUTH -> true;
      case "optional" -> false;
      default ->
          throw new InputException(
              "%s: found %s, expected required or optional"
                  .formatted(CLIENT_AUTH, SafeText.quote(policy)));
    };
  }
}

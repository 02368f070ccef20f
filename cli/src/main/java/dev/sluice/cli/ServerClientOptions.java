// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.server.tls.PemKey;
import dev.sluice.server.tls.TlsFiles.PemCertificates;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.InvalidKeyException;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.SecureRandom;
import java.security.cert.CertificateException;
import java.security.cert.X509Certificate;
import java.util.List;
import java.util.regex.Pattern;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** The options for requests to a server: token, certificate, and trusted authorities. */
final class ServerClientOptions {

  static final String TOKEN = "--token-file";
  private static final String VARIABLE = "SLUICE_TOKEN";
  private static final Pattern VISIBLE = Pattern.compile("[!-~]+");
  private static final String CA = "--cacert";
  private static final String CERTIFICATE = "--cert";
  private static final String KEY = "--key";
  private static final int LARGEST = 1 << 20;
  private static final char[] NO_PASSWORD = {};

  @Option(
      names = TOKEN,
      paramLabel = "FILE",
      description = "A file with the token for a server with access control; or set SLUICE_TOKEN.")
  private @Nullable Path token;

  @Option(
      names = CA,
      paramLabel = "FILE",
      description =
          "The authorities that sign the server's certificate, as PEM. They replace the authorities"
              + " that Java trusts.")
  private @Nullable Path ca;

  @Option(
      names = CERTIFICATE,
      paramLabel = "FILE",
      description = "The client's certificate for the server, as PEM; requires --key.")
  private @Nullable Path certificate;

  @Option(
      names = KEY,
      paramLabel = "FILE",
      description = "The key of the client's certificate, as PEM without a password.")
  private @Nullable Path key;

  /** Returns the name of a given option for a message; null if no option was given. */
  @Nullable String given() {
    return token != null
        ? TOKEN
        : ca != null || certificate != null || key != null ? "--cacert, --cert or --key" : null;
  }

  ServerClient client(String url, Console console) {
    return ServerClient.of(url, token(), tls().context(), console);
  }

  /**
   * Returns the client's token, or null without a token.
   *
   * @throws InputException if a header cannot contain the token
   */
  @Nullable String token() {
    String secret = password();
    if (secret == null) {
      return null;
    }
    String visible = secret.strip();
    if (!VISIBLE.matcher(visible).matches()) {
      throw new InputException(
          "%s: the token has characters that a token cannot have; expected visible ASCII"
              .formatted(token == null ? VARIABLE : TOKEN));
    }
    return visible;
  }

  /** Returns the token as the password of a protocol that allows every character. */
  @Nullable String password() {
    return InputFiles.secret(TOKEN, token, VARIABLE);
  }

  /**
   * Keys and trusted certificates for TLS. If {@code keys} is null, the client sends no
   * certificate. If {@code trust} is null, the client trusts the authorities that Java trusts.
   */
  record Tls(@Nullable KeyManagerFactory keys, @Nullable TrustManagerFactory trust) {

    private @Nullable SSLContext context() {
      if (keys == null && trust == null) {
        return null;
      }
      try {
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(
            keys == null ? null : keys.getKeyManagers(),
            trust == null ? null : trust.getTrustManagers(),
            new SecureRandom());
        return context;
      } catch (GeneralSecurityException e) {
        throw new IllegalStateException(e); // cannot happen: every JDK has TLS
      }
    }
  }

  Tls tls() {
    if ((certificate == null) != (key == null)) {
      throw new InputException(
          certificate == null
              ? KEY + " requires " + CERTIFICATE + " FILE"
              : CERTIFICATE + " requires " + KEY + " FILE");
    }
    try {
      return new Tls(
          certificate == null || key == null ? null : shown(certificate, key),
          ca == null ? null : trusted(ca));
    } catch (GeneralSecurityException | IOException e) {
      String options =
          ca == null ? CERTIFICATE : certificate == null ? CA : CA + ", " + CERTIFICATE;
      throw new InputException("%s: cannot be used (%s)".formatted(options, e.getMessage()));
    }
  }

  private static TrustManagerFactory trusted(Path file)
      throws GeneralSecurityException, IOException {
    KeyStore store = empty();
    for (X509Certificate one : certificates(CA, file)) {
      store.setCertificateEntry("ca-" + store.size(), one);
    }
    TrustManagerFactory trust =
        TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    trust.init(store);
    return trust;
  }

  private static KeyManagerFactory shown(Path certificate, Path keyFile)
      throws GeneralSecurityException, IOException {
    List<X509Certificate> chain = certificates(CERTIFICATE, certificate);
    PrivateKey key;
    try {
      key = PemKey.read(content(KEY, keyFile));
    } catch (InvalidKeyException e) {
      throw new InputException("%s: %s: %s".formatted(KEY, keyFile, e.getMessage()));
    }
    KeyStore store = empty();
    store.setKeyEntry("key", key, NO_PASSWORD, chain.toArray(X509Certificate[]::new));
    KeyManagerFactory keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    keys.init(store, NO_PASSWORD);
    return keys;
  }

  private static KeyStore empty() throws GeneralSecurityException, IOException {
    KeyStore store = KeyStore.getInstance("PKCS12");
    store.load(null, null);
    return store;
  }

  private static List<X509Certificate> certificates(String option, Path file) {
    try {
      return PemCertificates.read(content(option, file));
    } catch (CertificateException e) {
      throw new InputException("%s: %s: %s".formatted(option, file, e.getMessage()));
    }
  }

  private static byte[] content(String option, Path file) {
    try (InputStream in = InputFiles.open(option, file)) {
      return in.readNBytes(LARGEST);
    } catch (IOException e) {
      throw new InputException("%s: %s: can't be read: %s".formatted(option, file, e.getMessage()));
    }
  }

  /** The option for a server that a command always needs, and the options for its requests. */
  static final class RequiredServer {

    @Option(
        names = "--server",
        required = true,
        paramLabel = "URL",
        description = "The server's address, such as http://127.0.0.1:8080.")
    private String url = "";

    @Mixin private ServerClientOptions options = new ServerClientOptions();

    ServerClient client(Console console) {
      return options.client(url, console);
    }
  }
}

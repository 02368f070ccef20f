// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.tls;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.sluice.internal.text.SafeText;
import dev.sluice.server.base.Periodic;
import dev.sluice.yaml.internal.AttachedFiles;
import io.netty.handler.ssl.ClientAuth;
import java.io.ByteArrayInputStream;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.InvalidKeyException;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.Signature;
import java.security.cert.Certificate;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The PEM files with the server's certificate, the certificate's key, and the authorities that sign
 * client certificates. After a change, the server applies all files or none.
 *
 * <p>Thread-safe. The server does not load an expired certificate. A certificate that expires while
 * the server runs stays in use, and the server logs warnings.
 */
public final class TlsFiles implements AttachedFiles<TlsIdentity> {

  private static final byte[] SIGNED = {1, 2, 3};

  private final Path certificate;
  private final Path key;
  private final @Nullable ClientCertificates clients;
  private final Clock clock;
  private volatile @Nullable Seen last;

  /** The last valid contents of the files, and the identity made from these contents. */
  private record Seen(List<byte[]> contents, TlsIdentity identity) {

    boolean isOf(List<byte[]> others) {
      for (int i = 0; i < contents.size(); i++) {
        if (!Arrays.equals(contents.get(i), others.get(i))) {
          return false;
        }
      }
      return true;
    }
  }

  /**
   * Makes an object for files with these paths; does not read the files.
   *
   * @param certificate a PEM file with the server's certificate, followed by the intermediate
   *     certificates
   * @param key a PEM file with the key of the server's certificate, without a password
   * @param clients the client certificates to accept; null if the server asks for no certificates
   */
  public TlsFiles(Path certificate, Path key, @Nullable ClientCertificates clients) {
    this(certificate, key, clients, Clock.systemUTC());
  }

  TlsFiles(Path certificate, Path key, @Nullable ClientCertificates clients, Clock clock) {
    this.certificate = certificate;
    this.key = key;
    this.clients = clients;
    this.clock = clock;
  }

  /** Whether every client must send a certificate that a configured authority has signed. */
  public boolean requiresClientCertificates() {
    return clients != null && clients.required();
  }

  public boolean asksForClientCertificates() {
    return clients != null;
  }

  Path certificate() {
    return certificate;
  }

  @Override
  public Class<TlsIdentity> type() {
    return TlsIdentity.class;
  }

  @Override
  public List<Path> files() {
    return clients == null
        ? List.of(certificate, key)
        : List.of(certificate, key, clients.authorities());
  }

  @Override
  public @Nullable TlsIdentity read(List<byte[]> contents, Reports reports) {
    Seen before = last;
    if (before != null && before.isOf(contents)) {
      warnOfEnd(before.identity().leaf(), reports);
      return before.identity();
    }
    List<X509Certificate> chain = certificates(certificate, contents.get(0), reports);
    PrivateKey privateKey = key(contents.get(1), reports);
    List<X509Certificate> authorities =
        clients == null ? List.of() : authorities(clients.authorities(), contents.get(2), reports);
    if (chain.isEmpty() || privateKey == null || (clients != null && authorities.isEmpty())) {
      return null;
    }
    boolean isNow = isNow(chain.get(0), reports);
    boolean isPair = belongs(privateKey, chain.get(0), reports);
    if (!isNow || !isPair) {
      return null;
    }
    warnOfEnd(chain.get(0), reports);
    TlsIdentity identity;
    try {
      identity = TlsIdentity.of(privateKey, chain, authorities, clientAuth());
    } catch (SSLException | IllegalArgumentException e) {
      reports.mistake(certificate, "found a certificate that can't be used (%s)".formatted(e));
      return null;
    }
    last = new Seen(contents.stream().map(byte[]::clone).toList(), identity);
    return identity;
  }

  private ClientAuth clientAuth() {
    if (clients == null) {
      return ClientAuth.NONE;
    }
    return clients.required() ? ClientAuth.REQUIRE : ClientAuth.OPTIONAL;
  }

  private static List<X509Certificate> certificates(Path file, byte[] pem, Reports reports) {
    try {
      return PemCertificates.read(pem);
    } catch (CertificateException e) {
      reports.mistake(file, String.valueOf(e.getMessage()));
      return List.of();
    }
  }

  /**
   * Returns the authorities whose certificates are valid now. Reports a warning for each authority
   * that is not valid now, or a mistake if no authority is valid.
   */
  private List<X509Certificate> authorities(Path file, byte[] pem, Reports reports) {
    Instant now = clock.instant();
    List<X509Certificate> valid = new ArrayList<>();
    List<String> faults = new ArrayList<>();
    for (X509Certificate one : certificates(file, pem, reports)) {
      String fault = timeFault("the certificate of an authority", one, now);
      if (fault == null) {
        valid.add(one);
        warnOfNoAuthority(file, one, reports);
      } else {
        faults.add(fault);
      }
    }
    for (String fault : faults) {
      if (valid.isEmpty()) {
        reports.mistake(file, fault);
      } else {
        reports.warning(file, fault + "; its clients cannot connect");
      }
    }
    return valid;
  }

  private static void warnOfNoAuthority(Path file, X509Certificate one, Reports reports) {
    boolean isOfVersion3 = one.getVersion() >= 3; // earlier versions lack this field
    if (isOfVersion3 && one.getBasicConstraints() < 0) {
      reports.warning(
          file,
          "found the certificate of %s, which is not an authority (CA:FALSE): only its owner could connect"
              .formatted(SafeText.quote(one.getSubjectX500Principal().getName())));
    }
  }

  private @Nullable PrivateKey key(byte[] pem, Reports reports) {
    try {
      return PemKey.read(pem);
    } catch (InvalidKeyException e) {
      reports.mistake(key, String.valueOf(e.getMessage()));
      return null;
    }
  }

  private boolean isNow(X509Certificate leaf, Reports reports) {
    String fault = timeFault("the certificate", leaf, clock.instant());
    if (fault != null) {
      reports.mistake(certificate, fault);
    }
    return fault == null;
  }

  private static @Nullable String timeFault(String what, X509Certificate one, Instant now) {
    Instant end = one.getNotAfter().toInstant();
    Instant begin = one.getNotBefore().toInstant();
    if (now.isAfter(end)) {
      return "%s expired at %s; renew it".formatted(what, end);
    }
    return now.isBefore(begin)
        ? "%s is not valid before %s; check the clock".formatted(what, begin)
        : null;
  }

  private void warnOfEnd(X509Certificate leaf, Reports reports) {
    String warning = EndOfCertificate.warning(leaf.getNotAfter().toInstant(), clock.instant());
    if (warning != null) {
      reports.warning(certificate, warning);
    }
  }

  private boolean belongs(PrivateKey privateKey, X509Certificate leaf, Reports reports) {
    if (isPair(privateKey, leaf.getPublicKey())) {
      return true;
    }
    reports.mistake(
        key, "found a key that does not belong to the certificate in %s".formatted(certificate));
    return false;
  }

  private static boolean isPair(PrivateKey privateKey, PublicKey publicKey) {
    if (!privateKey.getAlgorithm().equals(publicKey.getAlgorithm())) {
      return false;
    }
    String signature =
        switch (privateKey.getAlgorithm()) {
          case "RSA" -> "SHA256withRSA";
          case "EC" -> "SHA256withECDSA";
          default -> privateKey.getAlgorithm();
        };
    try {
      Signature signer = Signature.getInstance(signature);
      signer.initSign(privateKey);
      signer.update(SIGNED);
      byte[] signed = signer.sign();
      signer.initVerify(publicKey);
      signer.update(SIGNED);
      return signer.verify(signed);
    } catch (GeneralSecurityException e) {
      return false;
    }
  }

  /** A PEM file of authorities, and whether every client must send a certificate. */
  public record ClientCertificates(Path authorities, boolean required) {}

  /** Reads certificates in PEM. Stateless. */
  public static final class PemCertificates {

    private PemCertificates() {}

    /** Reads all certificates in the content of a PEM file, in the order of the file. */
    public static List<X509Certificate> read(byte[] pem) throws CertificateException {
      List<X509Certificate> found;
      try {
        found =
            CertificateFactory.getInstance("X.509")
                .generateCertificates(new ByteArrayInputStream(pem))
                .stream()
                .map((Certificate one) -> (X509Certificate) one)
                .toList();
      } catch (CertificateException e) {
        throw unreadable(e); // the cause's message adds nothing
      }
      if (found.isEmpty()) {
        throw unreadable(null);
      }
      return found;
    }

    private static CertificateException unreadable(@Nullable CertificateException cause) {
      return new CertificateException(
          "no readable certificate; write PEM that starts with -----BEGIN CERTIFICATE-----", cause);
    }
  }

  /**
   * Warns that the certificate in use will expire: once a day in its last two weeks, and once an
   * hour in its last day and after the expiry. Loading a certificate also logs a warning, so this
   * class first warns an hour or a day after the load.
   *
   * <p>Thread-safe; no method blocks.
   */
  public static final class EndOfCertificate implements AutoCloseable {

    private static final Logger log = LoggerFactory.getLogger(EndOfCertificate.class);
    private static final Duration SOON = Duration.ofDays(14);
    private static final long HOURS_OF_A_DAY = 24;
    private static final long HALF_AN_HOUR = 30;

    private final Path certificate;
    private final Supplier<TlsIdentity> current;
    private final Clock clock;
    private final Consumer<String> warnings;
    private final ScheduledExecutorService hours = Periodic.scheduler("sluice-certificate");

    @GuardedBy("this")
    private Instant end;

    @GuardedBy("this")
    private Instant told;

    EndOfCertificate(
        Path certificate, Supplier<TlsIdentity> current, Clock clock, Consumer<String> warnings) {
      this.certificate = certificate;
      this.current = current;
      this.clock = clock;
      this.warnings = warnings;
      this.end = current.get().end();
      this.told = clock.instant();
    }

    /** Starts hourly checks of the certificate; {@code lasting} makes tasks survive exceptions. */
    public static EndOfCertificate watch(
        TlsFiles files, Supplier<TlsIdentity> current, UnaryOperator<Runnable> lasting) {
      EndOfCertificate watch =
          new EndOfCertificate(files.certificate(), current, Clock.systemUTC(), log::warn);
      Runnable look = lasting.apply(watch::look);
      var unused = watch.hours.scheduleAtFixedRate(look, 1, 1, TimeUnit.HOURS);
      return watch;
    }

    /** Logs a warning about the certificate's end if a warning is due. */
    synchronized void look() {
      Instant now = clock.instant();
      if (!current.get().end().equals(end)) { // loading the new certificate has logged a warning
        end = current.get().end();
        told = now;
        return;
      }
      String warning = warning(end, now);
      boolean isLastDay = now.plus(Duration.ofHours(HOURS_OF_A_DAY)).isAfter(end);
      long hours = Duration.between(told, now).plusMinutes(HALF_AN_HOUR).toHours();
      if (warning != null && hours >= (isLastDay ? 1 : HOURS_OF_A_DAY)) {
        warnings.accept(certificate + ": " + warning);
        told = now;
      }
    }

    /** Returns the warning for a certificate that expires soon or has expired; otherwise null. */
    static @Nullable String warning(Instant end, Instant now) {
      if (now.isAfter(end)) {
        return "this certificate ended at %s; replace it".formatted(end);
      }
      return now.plus(SOON).isAfter(end)
          ? "this certificate ends in %s h, at %s; replace it"
              .formatted(Duration.between(now, end).toHours(), end)
          : null;
    }

    @Override
    public void close() {
      hours.shutdownNow();
    }
  }
}

// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.tls;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.sluice.server.base.Periodic;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Warns that the certificate in use will expire: once a day in its last two weeks, and once an hour
 * in its last day and after the expiry. Loading a certificate also logs a warning, so this class
 * first warns an hour or a day after the load.
 *
 * <p>Thread-safe; no method blocks.
 */
public final class EndOfCertificate implements AutoCloseable {

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

  /** Starts an hourly check; {@code lasting} wraps the task so that no exception ends it. */
  public static EndOfCertificate watch(
      TlsFiles files, Supplier<TlsIdentity> current, UnaryOperator<Runnable> lasting) {
    EndOfCertificate watch =
        new EndOfCertificate(files.certificate(), current, Clock.systemUTC(), log::warn);
    Runnable look = lasting.apply(watch::look);
    var unused = watch.hours.scheduleAtFixedRate(look, 1, 1, TimeUnit.HOURS);
    return watch;
  }

  /** Logs a warning if the next warning is due. */
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

  /** Returns the warning for a certificate that ends soon or has ended; otherwise null. */
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

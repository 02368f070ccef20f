// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

import dev.sluice.FailureRule;
import dev.sluice.acme.AcmeLimits;
import dev.sluice.gcra.Quota;
import dev.sluice.internal.text.GoDuration;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Limits.Requirement;
import dev.sluice.limit.Limits.Requirement.MissingDefault;
import dev.sluice.server.net.HostPort;
import dev.sluice.server.otlp.Otlp.OtlpSettings;
import dev.sluice.server.reservation.TokenKey;
import dev.sluice.server.rls.RlsPart.OverridePolicy;
import dev.sluice.server.rls.RlsPart.Settings;
import dev.sluice.server.tls.TlsFiles;
import dev.sluice.web.ClientAddress;
import dev.sluice.yaml.LimitFiles;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.stream.Stream;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/**
 * The settings of a {@link Service}. Nothing is read or opened before the service starts.
 *
 * <pre>{@code
 * new ServerConfig(
 *     Doors.of(http),
 *     Sources.SAMPLE,
 *     Storage.in(StoreAccess.of("memory")),
 *     Control.NONE,
 *     Telemetry.NONE)
 * }</pre>
 */
public record ServerConfig(
    Doors doors, Sources sources, Storage storage, Control control, Telemetry telemetry) {

  /**
   * Checks the settings.
   *
   * @throws InsecureException if a port would listen beyond loopback without TLS or without access
   *     control, unless {@link Doors#plaintext} or {@link Doors#open} allows this
   * @throws IllegalArgumentException if both a table and a file would save overrides
   */
  public ServerConfig {
    doors.requireSafe(control);
    if (control.overrideStore() != null && sources.table() != null) {
      throw new IllegalArgumentException("a file and a table both keep overrides; give only one");
    }
  }

  /** Requires that every file that the server writes is named by only one setting. */
  void requireFilesApart() {
    Map<String, Path> written = new LinkedHashMap<>();
    BiConsumer<String, @Nullable Path> writes =
        (setting, file) -> {
          if (file != null
              && (java.nio.file.Files.notExists(file) || java.nio.file.Files.isRegularFile(file))) {
            requireOther(setting, file, written);
            written.put(setting, file);
          }
        };
    Copy copy = sources.copy();
    writes.accept("limits-copy", copy == null ? null : copy.file());
    writes.accept("snapshot", storage.snapshot() == null ? null : storage.snapshot().file());
    writes.accept("override-store", control.overrideStore());
    String log = control.auditLog();
    writes.accept("audit-log", log == null || log.equals("-") ? null : Path.of(log));
    DenialLogFile denials = telemetry.denialLog();
    writes.accept("denial-log", denials == null ? null : denials.file());
    requireOther("limits", sources.files().limits(), written);
    requireOther("overrides", sources.files().overrides(), written);
    requireOther("names", sources.files().names(), written);
    requireOther("rules", sources.files().rules(), written);
    requireOther("tokens", control.tokens(), written);
    if (doors.tls() != null) {
      doors.tls().files().forEach(file -> requireOther("tls-certificate", file, written));
    }
  }

  private static void requireOther(String setting, @Nullable Path file, Map<String, Path> written) {
    if (file == null) {
      return;
    }
    written.forEach(
        (other, writtenFile) -> {
          if (isSame(file, writtenFile)) {
            throw new ConfigException(
                other,
                "%s is also the file of --%s and would be overwritten, expected a file of its own"
                    .formatted(writtenFile, setting));
          }
        });
  }

  private static boolean isSame(Path one, Path other) {
    try {
      return java.nio.file.Files.isSameFile(one, other);
    } catch (IOException e) { // one of the two files does not exist
      return one.toAbsolutePath().normalize().equals(other.toAbsolutePath().normalize());
    }
  }

  /**
   * The ports on which clients call the server.
   *
   * @param resp the address for Redis clients, port 0 for any free port; null for none
   * @param grpc a second address for Envoy's rate limit protocol, in addition to the HTTP port;
   *     port 0 for any free port, null for none
   * @param tls the certificate, its key, and the authorities of clients, for all ports; null for no
   *     TLS
   * @param plaintext whether ports may listen beyond loopback without TLS
   * @param open whether ports may listen beyond loopback without access control; then clients
   *     beyond loopback cannot call operations of the role {@code admin}
   */
  public record Doors(
      Http http,
      @Nullable InetSocketAddress resp,
      @Nullable InetSocketAddress grpc,
      Settings rls,
      @Nullable TlsFiles tls,
      boolean plaintext,
      boolean open) {

    public static Doors of(Http http) {
      return new Doors(http, null, null, Settings.of(OverridePolicy.ALLOW), null, false, false);
    }

    /**
     * Requires TLS and access control if a port listens beyond loopback.
     *
     * @throws InsecureException if TLS or access control is missing, unless {@link #plaintext} or
     *     {@link #open} allows this
     */
    public void requireSafe(Control control) {
      boolean lacksTls = tls == null && !plaintext;
      boolean lacksControl = !controlsAccess(control) && !open;
      InetSocketAddress exposed = exposed();
      if (exposed != null && (lacksTls || lacksControl)) {
        throw new InsecureException(
            HostPort.format(exposed),
            lacksTls,
            lacksControl,
            tls != null && tls.asksForClientCertificates());
      }
    }

    /** Whether every caller can be {@code admin}: by role, or since all ports are on loopback. */
    boolean adminsAnywhere(Control control) {
      return controlsAccess(control) || exposed() == null;
    }

    private boolean controlsAccess(Control control) {
      return control.tokens() != null || (tls != null && tls.requiresClientCertificates());
    }

    /** Returns the address of a port beyond loopback, null if there is none. */
    private @Nullable InetSocketAddress exposed() {
      return Stream.of(http.address(), resp, grpc)
          .filter(address -> address != null && !isLoopback(address))
          .findFirst()
          .orElse(null);
    }

    private static boolean isLoopback(InetSocketAddress address) {
      return address.getAddress() != null && address.getAddress().isLoopbackAddress();
    }
  }

  /**
   * The settings of the HTTP port.
   *
   * @param address the address to listen on; port 0 for any free port
   * @param hosts further names that clients may use in {@code Host}, in addition to localhost and
   *     IP addresses; {@code *} for any name
   * @param origins origins whose web pages may call the server; {@code *} for any origin
   */
  public record Http(
      InetSocketAddress address,
      ClientAddress clientAddress,
      Set<String> hosts,
      Set<String> origins,
      boolean requestLog) {

    public Http {
      hosts = Set.copyOf(hosts);
      origins = Set.copyOf(origins);
    }

    /** Returns an HTTP port without host names, origins, trusted proxies and request log. */
    public static Http on(InetSocketAddress address) {
      return new Http(address, ClientAddress.direct(), Set.of(), Set.of(), false);
    }
  }

  /**
   * Where the limits come from.
   *
   * @param required the limits that must be present, at startup and after each reload
   * @param onMissing what the server does with a request for an id that has neither a default quota
   *     nor an override
   */
  public record Sources(
      Files files,
      @Nullable Table table,
      List<Requirement> required,
      MissingDefault onMissing,
      @Nullable Copy copy) {

    public static final Sources SAMPLE = Sources.of(Files.NONE);

    public Sources {
      required = List.copyOf(required);
    }

    /** Returns limits from files only; requests for a limit without a default quota are refused. */
    public static Sources of(Files files) {
      return new Sources(files, null, List.of(), MissingDefault.REFUSE, null);
    }
  }

  /** A copy of the last good limit files, and whether startup may use it. */
  public record Copy(Path file, boolean startsWithLastGood) {}

  /**
   * The limit files. Without limit files, the service uses sample limits.
   *
   * @param limits the file with the default quotas, null for no file
   * @param names the limit names, null for the bundled names
   * @param rules the rules, null for none; rules need a file of limits
   * @param onRequest whether changed files are applied only when a reload is requested; otherwise
   *     changes are applied at once
   */
  public record Files(
      @Nullable Path limits,
      @Nullable Path overrides,
      @Nullable Path names,
      @Nullable Path rules,
      boolean onRequest) {

    public static final Files NONE = new Files(null, null, null, null);

    /** Returns a set of files whose changes the server applies without a reload request. */
    public Files(
        @Nullable Path limits,
        @Nullable Path overrides,
        @Nullable Path names,
        @Nullable Path rules) {
      this(limits, overrides, names, rules, false);
    }

    public Files {
      if (rules != null && limits == null) {
        throw new IllegalArgumentException(
            "a rule book needs a file with the limits that its rules name");
      }
    }

    boolean isEmpty() {
      return limits == null && overrides == null && names == null && rules == null;
    }
  }

  /** A table of overrides, which take precedence over a file's, and how often the table is read. */
  public record Table(DataSource database, Duration every) {

    public Table {
      every = GoDuration.positive("every", every);
    }
  }

  /**
   * The bucket store, and the behavior while the store fails.
   *
   * @param onFailure the failure rule of limits without a rule of their own
   * @param onFailureByLimit the failure rules of single limits, by limit name
   * @param localAtLeast the smallest number of servers that {@link FailureRule#localAuto} divides a
   *     limit by, at least 1
   * @param readyWithoutStore whether a server that can decide without its store is ready before the
   *     store has answered once
   */
  public record Storage(
      StoreAccess store,
      @Nullable Snapshot snapshot,
      TokenKey tokenKey,
      FailureRule onFailure,
      Map<String, FailureRule> onFailureByLimit,
      int localAtLeast,
      boolean readyWithoutStore) {

    public Storage {
      onFailureByLimit = Map.copyOf(onFailureByLimit);
      if (snapshot != null && !store.isMemory()) {
        throw new IllegalArgumentException(
            "a snapshot works with the memory store only; %s persists its own buckets"
                .formatted(store));
      }
    }

    public Storage(
        StoreAccess store,
        @Nullable Snapshot snapshot,
        TokenKey tokenKey,
        FailureRule onFailure,
        Map<String, FailureRule> onFailureByLimit,
        boolean readyWithoutStore) {
      this(store, snapshot, tokenKey, onFailure, onFailureByLimit, 1, readyWithoutStore);
    }

    FailureRule ruleOf(String limit) {
      return onFailureByLimit.getOrDefault(limit, onFailure);
    }

    /** Returns settings without a snapshot; while the store fails, requests get errors. */
    public static Storage in(StoreAccess store) {
      return new Storage(store, null, TokenKey.random(), FailureRule.fail(), Map.of(), false);
    }
  }

  /**
   * A file that saves the buckets of the memory store, so that they survive restarts.
   *
   * @param file the snapshot file, read at startup, written periodically and at shutdown
   * @param every the time between two snapshots, more than zero and at most 292 years
   */
  public record Snapshot(Path file, Duration every) {

    public Snapshot {
      every = GoDuration.positive("every", every);
    }
  }

  /**
   * Access control, the audit log, and where changes at run time are saved.
   *
   * @param tokens the tokens file, null for no access control
   * @param auditLog the file of the audit log, "-" for standard error, null for none
   * @param overrideStore the file that saves overrides and penalties set at run time; if null, the
   *     table saves them; without a table, overrides and penalties are only in memory
   * @param requestsPerAddress the limit on requests per client address without a known token or
   *     certificate, not counting health checks; null for no limit
   */
  public record Control(
      @Nullable Path tokens,
      @Nullable String auditLog,
      @Nullable Path overrideStore,
      @Nullable Quota requestsPerAddress) {

    /** No access control, no audit log, and no saved changes. */
    public static final Control NONE = new Control(null, null, null, null);
  }

  /**
   * Telemetry in addition to the metrics page.
   *
   * @param topDenied whether the server counts the ids that each limit denies most, in bounded
   *     memory, for administrators; ids are often personal data
   */
  public record Telemetry(
      boolean topDenied, @Nullable DenialLogFile denialLog, @Nullable OtlpSettings otlp) {

    public static final Telemetry NONE = new Telemetry(false, null);

    public Telemetry(boolean topDenied, @Nullable OtlpSettings otlp) {
      this(topDenied, null, otlp);
    }
  }

  /** The log of denials: a file, or "-" for standard error, with the ids or their hashes. */
  public record DenialLogFile(String target, boolean showsIds) {

    @Nullable Path file() {
      return target.equals("-") ? null : Path.of(target);
    }
  }

  /** Thrown when a service cannot start with one of its settings. */
  public static final class ConfigException extends RuntimeException {

    private static final long serialVersionUID = 1;

    private final String setting;

    ConfigException(String setting, String message) {
      super(message);
      this.setting = setting;
    }

    ConfigException(String setting, String message, Throwable cause) {
      super(message, cause);
      this.setting = setting;
    }

    /** Returns the option whose value cannot be used, such as {@code store}. */
    public String setting() {
      return setting;
    }
  }

  /** Thrown if a port would be open to a network without TLS or without access control. */
  public static final class InsecureException extends RuntimeException {

    private static final long serialVersionUID = 1;

    /** Makes the exception; {@code lacksTls}, {@code lacksControl} or both are true. */
    InsecureException(
        String address, boolean lacksTls, boolean lacksControl, boolean asksForCertificates) {
      super(
          "%s is not loopback, and %s; %s; or listen on 127.0.0.1"
              .formatted(
                  address,
                  both(
                      lacksTls ? "nothing would be encrypted" : "",
                      lacksControl ? "everybody who reaches the port could spend" : "",
                      " and "),
                  both(
                      lacksTls
                          ? "give --tls-certificate FILE and --tls-key FILE, or --plaintext if the network encrypts"
                          : "",
                      lacksControl ? control(asksForCertificates) : "",
                      "; ")));
    }

    private static String control(boolean asksForCertificates) {
      return (asksForCertificates
              ? "give --tokens FILE, or leave out --tls-client-auth optional, which lets in clients without a certificate"
              : "give --tokens FILE (or --tls-client-ca FILE)")
          + ", or --open if the network admits only clients";
    }

    private static String both(String one, String other, String between) {
      return one + (one.isEmpty() || other.isEmpty() ? "" : between) + other;
    }
  }

  /** The limits of a service without limit files, as in examples/limits/samples.yml. */
  public static final class SampleLimits {

    private SampleLimits() {}

    public static Limits make() {
      return Limits.builder(BundledNames.catalogue())
          .limit("LoginsPerIPAddress", Quota.per(10, Duration.ofMinutes(1)))
          .limit("FailedLoginsPerIPAddress", Quota.per(30, Duration.ofHours(1)))
          .limit("LoginsPerUserPerIPAddress", Quota.per(5, Duration.ofMinutes(5)))
          .limit("SignUpsPerIPAddress", Quota.per(3, Duration.ofDays(1)))
          .limit("SignUpsPerIPv6Range", Quota.per(20, Duration.ofDays(1)))
          .limit("ApiCallsPerKey", Quota.burst(100).refill(50, Duration.ofSeconds(1)))
          .build();
    }
  }

  /**
   * The limit names that the server and every command know without a file: always the nine names of
   * Let's Encrypt, and the sample names unless a file declares names.
   */
  public static final class BundledNames {

    private BundledNames() {}

    /** Returns a builder of limit files that can use the bundled names and their id formats. */
    public static LimitFiles.Builder files() {
      return LimitFiles.builder()
          .catalogue(AcmeLimits.bundled().catalogue())
          .samples(Catalogue.samples())
          .idFormats(AcmeLimits.bundled().idFormats());
    }

    /** Returns all bundled limit names, including the sample names. */
    public static Catalogue catalogue() {
      return AcmeLimits.bundled().catalogue().plus(Catalogue.samples());
    }
  }
}

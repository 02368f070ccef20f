// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.FailureRule;
import dev.sluice.limit.Requirement;
import dev.sluice.limit.Requirement.MissingDefault;
import dev.sluice.server.HostPort;
import dev.sluice.server.StoreAccess;
import dev.sluice.server.otlp.OtlpSettings;
import dev.sluice.server.reservation.TokenKey;
import dev.sluice.server.rls.OverridePolicy;
import dev.sluice.server.tls.TlsFiles;
import dev.sluice.web.ClientAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/**
 * All that a {@link Service} is started from. Immutable and thread-safe; nothing is read or opened
 * before the service starts.
 */
public final class ServerConfig {

  private final Files files;
  private final @Nullable Table table;
  private final StoreAccess store;
  private final @Nullable Snapshot snapshot;
  private final FailureRule onFailure;
  private final Map<String, FailureRule> onFailureByLimit;
  private final List<Requirement> required;
  private final MissingDefault onMissing;
  private final ClientAddress clientAddress;
  private final Http http;
  private final @Nullable InetSocketAddress resp;
  private final TokenKey tokenKey;
  private final @Nullable InetSocketAddress grpc;
  private final OverridePolicy rlsOverrides;
  private final boolean topDenied;
  private final Control control;
  private final @Nullable TlsFiles tls;
  private final @Nullable OtlpSettings otlp;

  private ServerConfig(Builder builder) {
    this.files = builder.files;
    this.table = builder.table;
    this.store = builder.store;
    this.snapshot = builder.snapshot;
    this.onFailure = builder.onFailure;
    this.onFailureByLimit = Map.copyOf(builder.onFailureByLimit);
    this.required = List.copyOf(builder.required);
    this.onMissing = builder.onMissing;
    this.clientAddress = builder.clientAddress;
    this.http = builder.http;
    this.resp = builder.resp;
    this.tokenKey = builder.tokenKey == null ? TokenKey.random() : builder.tokenKey;
    this.grpc = builder.grpc;
    this.rlsOverrides = builder.rlsOverrides;
    this.topDenied = builder.topDenied;
    this.control = builder.control;
    this.tls = builder.tls;
    this.otlp = builder.otlp;
  }

  /**
   * Returns a builder.
   *
   * @param http the HTTP door
   * @return a builder: samples of limits, in memory, without snapshot or table
   */
  public static Builder builder(Http http) {
    return new Builder(http);
  }

  /**
   * The limit files. Without any, the service decides by a sample of limits.
   *
   * @param limits the defaults, null for none
   * @param overrides the overrides, null for none
   * @param names the names, null for the known ones
   * @param rules the rule book, null for none; it needs limits of files
   */
  public record Files(
      @Nullable Path limits, @Nullable Path overrides, @Nullable Path names, @Nullable Path rules) {

    static final Files NONE = new Files(null, null, null);

    /**
     * Names files without a rule book.
     *
     * @param limits the defaults, null for none
     * @param overrides the overrides, null for none
     * @param names the names, null for the known ones
     */
    public Files(@Nullable Path limits, @Nullable Path overrides, @Nullable Path names) {
      this(limits, overrides, names, null);
    }

    boolean isEmpty() {
      return equals(NONE);
    }
  }

  /**
   * A table of overrides, which win over those of the file.
   *
   * @param database where the table is
   * @param every how often it is read, more than zero
   */
  public record Table(DataSource database, Duration every) {}

  /**
   * Access control, where its acts are noted, and where changes at run time are kept.
   *
   * @param tokens the file of tokens, null for no access control
   * @param auditLog the file that takes the audit log, "-" for standard error, null for none
   * @param overrideStore the file that keeps overrides and penalties that are set at run time, null
   *     for the table, or nowhere if there is none
   */
  public record Control(
      @Nullable Path tokens, @Nullable String auditLog, @Nullable Path overrideStore) {

    static final Control NONE = new Control(null, null, null);
  }

  /**
   * A file that keeps the buckets of the memory store over restarts.
   *
   * @param file read at the start, saved periodically and at the end
   * @param every how often it is saved, more than zero
   */
  public record Snapshot(Path file, Duration every) {}

  /**
   * The HTTP door.
   *
   * @param address where it listens; port 0 for any free one
   * @param hosts names that clients may use in {@code Host}, besides localhost and IP addresses;
   *     {@code *} for any
   * @param origins origins whose web pages may ask; {@code *} for any
   * @param requestLog whether each request is logged, with the client's address
   */
  public record Http(
      InetSocketAddress address, Set<String> hosts, Set<String> origins, boolean requestLog) {

    /**
     * Makes the settings.
     *
     * @param address where it listens; port 0 for any free one
     * @param hosts copied
     * @param origins copied
     * @param requestLog whether each request is logged
     */
    public Http {
      hosts = Set.copyOf(hosts);
      origins = Set.copyOf(origins);
    }
  }

  Files files() {
    return files;
  }

  @Nullable Table table() {
    return table;
  }

  StoreAccess store() {
    return store;
  }

  @Nullable Snapshot snapshot() {
    return snapshot;
  }

  FailureRule onFailure() {
    return onFailure;
  }

  Map<String, FailureRule> onFailureByLimit() {
    return onFailureByLimit;
  }

  List<Requirement> required() {
    return required;
  }

  MissingDefault onMissing() {
    return onMissing;
  }

  ClientAddress clientAddress() {
    return clientAddress;
  }

  Http http() {
    return http;
  }

  @Nullable InetSocketAddress resp() {
    return resp;
  }

  TokenKey tokenKey() {
    return tokenKey;
  }

  @Nullable InetSocketAddress grpc() {
    return grpc;
  }

  Control control() {
    return control;
  }

  OverridePolicy rlsOverrides() {
    return rlsOverrides;
  }

  boolean topDenied() {
    return topDenied;
  }

  @Nullable TlsFiles tls() {
    return tls;
  }

  @Nullable OtlpSettings otlp() {
    return otlp;
  }

  /** Makes a {@link ServerConfig}. Not thread-safe. */
  public static final class Builder {
    private final Http http;
    private Files files = Files.NONE;
    private @Nullable Table table;
    private StoreAccess store = StoreAccess.of("memory");
    private @Nullable Snapshot snapshot;
    private FailureRule onFailure = FailureRule.fail();
    private final Map<String, FailureRule> onFailureByLimit = new LinkedHashMap<>();
    private final List<Requirement> required = new ArrayList<>();
    private MissingDefault onMissing = MissingDefault.REFUSE;
    private ClientAddress clientAddress = ClientAddress.direct();
    private @Nullable InetSocketAddress resp;
    private @Nullable TokenKey tokenKey;
    private @Nullable InetSocketAddress grpc;
    private OverridePolicy rlsOverrides = OverridePolicy.ALLOW;
    private boolean topDenied;
    private Control control = Control.NONE;
    private @Nullable TlsFiles tls;
    private @Nullable OtlpSettings otlp;
    private boolean insecure;

    private Builder(Http http) {
      this.http = http;
    }

    /**
     * Sets the limit files, which are watched; samples if not called.
     *
     * @param newFiles the files
     * @return this
     */
    @CanIgnoreReturnValue
    public Builder files(Files newFiles) {
      this.files = newFiles;
      return this;
    }

    /**
     * Sets the table of overrides; none if not called.
     *
     * @param newTable the table, null for none
     * @return this
     */
    @CanIgnoreReturnValue
    public Builder table(@Nullable Table newTable) {
      this.table = newTable;
      return this;
    }

    /**
     * Sets the store of the buckets; memory if not called.
     *
     * @param access where it is, and its passwords
     * @return this
     */
    @CanIgnoreReturnValue
    public Builder store(StoreAccess access) {
      this.store = access;
      return this;
    }

    /**
     * Sets the file that keeps the buckets of the memory store; none if not called.
     *
     * @param newSnapshot the file, null for none
     * @return this
     */
    @CanIgnoreReturnValue
    public Builder snapshot(@Nullable Snapshot newSnapshot) {
      this.snapshot = newSnapshot;
      return this;
    }

    /**
     * Sets what holds for limits without a rule of their own while the store cannot decide; {@link
     * FailureRule#fail} if not called.
     *
     * @param rule the rule
     * @return this
     */
    @CanIgnoreReturnValue
    public Builder onFailure(FailureRule rule) {
      this.onFailure = rule;
      return this;
    }

    /**
     * Sets what holds for one limit while the store cannot decide.
     *
     * @param limit the limit's name
     * @param rule the rule
     * @return this
     */
    @CanIgnoreReturnValue
    public Builder onFailure(String limit, FailureRule rule) {
      onFailureByLimit.put(limit, rule);
      return this;
    }

    /**
     * Adds limits that must not be missing, at the start and after each reload.
     *
     * @param limits the limits, and who asks for them
     * @return this
     */
    @CanIgnoreReturnValue
    public Builder require(List<Requirement> limits) {
      required.addAll(limits);
      return this;
    }

    /**
     * Sets what a request gets for a limit that is known, and not configured; {@link
     * MissingDefault#REFUSE} if not called.
     *
     * @param policy the policy
     * @return this
     */
    @CanIgnoreReturnValue
    public Builder missingDefaults(MissingDefault policy) {
      this.onMissing = policy;
      return this;
    }

    /**
     * Sets which proxies are believed when they say for whom they ask; none if not called.
     *
     * @param how how the client's address is found behind them
     * @return this
     */
    @CanIgnoreReturnValue
    public Builder clientAddress(ClientAddress how) {
      this.clientAddress = how;
      return this;
    }

    /**
     * Sets where Redis clients are answered; nowhere if not called.
     *
     * @param address where the door listens, port 0 for any free one; null for nowhere
     * @return this
     */
    @CanIgnoreReturnValue
    public Builder resp(@Nullable InetSocketAddress address) {
      this.resp = address;
      return this;
    }

    /**
     * Sets the key of the tokens of reservations, which all servers of a fleet share; one of its
     * own if not called.
     *
     * @param key the key, null for one of its own
     * @return this
     */
    @CanIgnoreReturnValue
    public Builder tokenKey(@Nullable TokenKey key) {
      this.tokenKey = key;
      return this;
    }

    /**
     * Sets where Envoy's rate limit service is answered, besides the port of HTTP; nowhere else if
     * not called.
     *
     * @param address where the door listens, port 0 for any free one; null for nowhere else
     * @return this
     */
    @CanIgnoreReturnValue
    public Builder grpc(@Nullable InetSocketAddress address) {
      this.grpc = address;
      return this;
    }

    /**
     * Sets where metrics and traces are sent; nowhere if not called.
     *
     * @param newOtlp the settings, null for nowhere
     * @return this
     */
    @CanIgnoreReturnValue
    public Builder otlp(@Nullable OtlpSettings newOtlp) {
      this.otlp = newOtlp;
      return this;
    }

    /**
     * Sets who may do what; everybody everything, noted and kept nowhere, if not called.
     *
     * @param newControl the settings
     * @return this
     */
    @CanIgnoreReturnValue
    public Builder control(Control newControl) {
      this.control = newControl;
      return this;
    }

    /**
     * Sets what becomes of limits that proxies send with their descriptors; they are allowed if not
     * called.
     *
     * @param policy the policy
     * @return this
     */
    @CanIgnoreReturnValue
    public Builder rlsOverrides(OverridePolicy policy) {
      this.rlsOverrides = policy;
      return this;
    }

    /**
     * Sets whether the ids that each limit denies most are kept, in bounded memory, for
     * administrators; not, if not called: ids are often personal data.
     *
     * @param wanted true to keep them
     * @return this
     */
    @CanIgnoreReturnValue
    public Builder topDenied(boolean wanted) {
      this.topDenied = wanted;
      return this;
    }

    /**
     * Encrypts the connections of all doors; none if not called.
     *
     * @param files the certificate, its key, and the authorities of clients; null for no TLS
     * @return this
     */
    @CanIgnoreReturnValue
    public Builder tls(@Nullable TlsFiles files) {
      this.tls = files;
      return this;
    }

    /**
     * Sets whether doors may listen beyond loopback without TLS or without access control; they may
     * not if not called.
     *
     * @param allowed whether they may
     * @return this
     */
    @CanIgnoreReturnValue
    public Builder insecure(boolean allowed) {
      this.insecure = allowed;
      return this;
    }

    /** Whether strangers who reach a door are refused. */
    private boolean controlsAccess() {
      return control.tokens() != null || (tls != null && tls.requiresClientCertificates());
    }

    private void requireSecure() {
      if (insecure || (tls != null && controlsAccess())) {
        return;
      }
      Stream.of(http.address(), resp, grpc)
          .filter(address -> address != null && !isLoopback(address))
          .findFirst()
          .ifPresent(
              address -> {
                throw new InsecureException(HostPort.format(address), tls != null);
              });
    }

    private static boolean isLoopback(InetSocketAddress address) {
      return address.getAddress() != null && address.getAddress().isLoopbackAddress();
    }

    /**
     * Makes the settings.
     *
     * @return the settings
     * @throws InsecureException if a door would listen beyond loopback without TLS or without
     *     access control
     * @throws IllegalArgumentException if a snapshot is asked for with a store that is not memory,
     *     or a rule book without limits of files
     */
    public ServerConfig build() {
      requireSecure();
      if (snapshot != null && !store.isMemory()) {
        throw new IllegalArgumentException(
            "a snapshot works with the memory store only; %s persists its own buckets"
                .formatted(store));
      }
      if (control.overrideStore() != null && table != null) {
        throw new IllegalArgumentException(
            "a file of overrides and a table are two places for the same: choose one");
      }
      if (files.rules() != null && files.limits() == null) {
        throw new IllegalArgumentException(
            "a rule book needs a file of limits: its rules name them");
      }
      return new ServerConfig(this);
    }
  }
}

// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.gcra.Quota;
import dev.sluice.internal.text.SafeText;
import dev.sluice.server.net.HostPort;
import dev.sluice.server.rls.RlsPart.OverridePolicy;
import dev.sluice.server.rls.RlsPart.Settings;
import dev.sluice.server.service.ServerConfig;
import dev.sluice.server.service.ServerConfig.Doors;
import dev.sluice.server.service.ServerConfig.InsecureException;
import dev.sluice.server.service.Service;
import dev.sluice.server.tls.TlsFiles;
import dev.sluice.server.tls.TlsFiles.ClientCertificates;
import dev.sluice.web.ClientAddress;
import dev.sluice.web.HeaderProfile;
import dev.sluice.web.ProxyHeader;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** The options for the server's listeners: addresses, TLS, and clients. */
final class DoorOptions {

  static final String USUAL_HTTP = "127.0.0.1:8080";

  /** The address of a server on this machine that was started without {@code --http}. */
  static final String USUAL_SERVER = "http://" + USUAL_HTTP;

  /** The default header with --trusted-proxies. */
  static final String USUAL_HEADER = "x-forwarded-for";

  /** The default of --tls-client-auth. */
  static final String USUAL_AUTH = "required";

  @Option(
      names = "--http",
      paramLabel = "ADDR",
      defaultValue = USUAL_HTTP,
      description =
          "The address to listen on, host:port; port 0 means any free port (${DEFAULT-VALUE}).")
  private String http = USUAL_HTTP;

  @Option(
      names = "--resp",
      paramLabel = "ADDR",
      description =
          "The address to listen on for Redis clients (CL.THROTTLE, SLUICE.SPEND and others),"
              + " host:port; none if not given.")
  private @Nullable String resp;

  @Option(
      names = "--grpc",
      paramLabel = "ADDR",
      description =
          "A separate address to listen on for Envoy's rate limit service, host:port; none if not"
              + " given. The port of --http always serves this service too.")
  private @Nullable String grpc;

  @Mixin private HttpOptions clients = new HttpOptions();

  @Mixin private TlsOptions tls = new TlsOptions();

  @Option(
      names = "--plaintext",
      description =
          "Allow ports beyond loopback without TLS, for a network that encrypts or is trusted.")
  private boolean plaintext;

  @Option(
      names = "--open",
      description =
          "Allow ports beyond loopback without access control: everybody who reaches a port is"
              + " served. Only loopback can send requests that need the role admin, such as a"
              + " reset.")
  private boolean open;

  @Option(names = "--insecure", description = "Same as --plaintext and --open; prints a warning.")
  private boolean insecure;

  @Option(
      names = "--rls-overrides",
      paramLabel = "POLICY",
      description =
          "What to do with a limit that Envoy sends in a descriptor: allow (the limit replaces the"
              + " server's limit) or ignore. If not given: ignore with --tokens, --tls-client-ca or"
              + " --open, otherwise allow.")
  private @Nullable String rlsOverrides;

  @Option(
      names = "--rls-headers",
      paramLabel = "PROFILE",
      defaultValue = "none",
      description =
          "Which rate limit headers Envoy adds to responses: ietf, draft03, legacy or none"
              + " (${DEFAULT-VALUE}). Every denial has the header Retry-After.")
  private String rlsHeaders = "none";

  @Option(
      names = "--rls-header-names",
      paramLabel = "LIMIT,REMAINING,RESET",
      description =
          "Other names for the three headers of --rls-headers legacy, such as"
              + " RateLimit-Limit,RateLimit-Remaining,RateLimit-Reset.")
  private @Nullable String rlsHeaderNames;

  @Option(
      names = "--rls-shadow",
      description = "Allow all requests of Envoy, and count the requests over the limit.")
  private boolean rlsShadow;

  @Option(
      names = "--near-limit",
      paramLabel = "SHARE",
      defaultValue = "0.8",
      description =
          "The used share of a limit, 0 to 1, from which hits of Envoy are counted as near the"
              + " limit in sluice_rls_near_limit_total (${DEFAULT-VALUE}).")
  private String nearLimit = "0.8";

  /**
   * Returns the checks of these options. Each returned check throws if an option has a wrong value,
   * and reads no file.
   */
  List<Supplier<?>> each(AccessOptions access, boolean overridesAreElsewhere) {
    List<Supplier<?>> checks = new ArrayList<>(clients.each());
    checks.addAll(
        List.<Supplier<?>>of(
            () -> address("--http", http),
            () -> optionalAddress("--resp", resp),
            () -> optionalAddress("--grpc", grpc),
            () -> rlsOverrides(access),
            this::rlsHeaders,
            this::rlsHeaderNames,
            this::nearLimit,
            () -> Optional.ofNullable(tls.settings()),
            () -> safeDoors(access, overridesAreElsewhere),
            this::ownPorts));
    return checks;
  }

  /** Returns a check that throws if a TLS file does not exist or cannot be read. */
  Supplier<?> files() {
    return () -> Optional.ofNullable(tls.files());
  }

  Doors doors(AccessOptions access) {
    return doors(tls.files(), access);
  }

  private Doors doors(@Nullable TlsFiles files, AccessOptions access) {
    return new Doors(
        clients.http(address("--http", http)),
        optionalAddress("--resp", resp),
        optionalAddress("--grpc", grpc),
        new Settings(rlsOverrides(access), rlsHeaders(), rlsHeaderNames(), rlsShadow, nearLimit()),
        files,
        plaintext || insecure,
        open || insecure);
  }

  Optional<String> insecure() {
    return insecure
        ? Optional.of(
            "warning: --insecure means --open and --plaintext: everybody who reaches a port is served, perhaps unencrypted; give only the option that you need")
        : Optional.empty();
  }

  private boolean safeDoors(AccessOptions access, boolean overridesAreElsewhere) {
    try {
      doors(tls.settings(), access).requireSafe(access.settings(overridesAreElsewhere));
      return true;
    } catch (InsecureException e) {
      throw new InputException(String.valueOf(e.getMessage()));
    }
  }

  /** Requires different ports: the operating system's error for a shared port names no option. */
  private boolean ownPorts() {
    Map<String, InetSocketAddress> doors = new LinkedHashMap<>();
    addDoor("--http", http, doors);
    addDoor("--resp", resp, doors);
    addDoor("--grpc", grpc, doors);
    Map<Integer, String> ports = new HashMap<>();
    doors.forEach(
        (option, address) -> {
          String first =
              address.getPort() == 0 ? null : ports.putIfAbsent(address.getPort(), option);
          if (first != null && overlap(doors.get(first), address)) {
            throw new InputException(
                "%s: found port %s, which %s uses already; give each option its own port"
                    .formatted(option, address.getPort(), first));
          }
        });
    return true;
  }

  private static void addDoor(
      String option, @Nullable String text, Map<String, InetSocketAddress> doors) {
    try {
      InetSocketAddress address = optionalAddress(option, text);
      if (address != null) {
        doors.put(option, address);
      }
    } catch (InputException e) {
      // Another check reports an invalid address.
    }
  }

  private static boolean overlap(@Nullable InetSocketAddress one, InetSocketAddress other) {
    return one != null
        && (one.equals(other)
            || one.isUnresolved()
            || one.getAddress().isAnyLocalAddress()
            || other.isUnresolved()
            || other.getAddress().isAnyLocalAddress());
  }

  private static InetSocketAddress address(String option, String text) {
    try {
      return HostPort.parse(text);
    } catch (IllegalArgumentException e) {
      throw new InputException(option + ": " + e.getMessage());
    }
  }

  private static @Nullable InetSocketAddress optionalAddress(String option, @Nullable String text) {
    return text == null ? null : address(option, text);
  }

  String addresses(Service service) {
    String secure = tls.areSet() ? "s" : "";
    List<String> schemes = new ArrayList<>(List.of("http" + secure));
    if (resp != null) {
      schemes.add("redis" + secure);
    }
    if (grpc != null) {
      schemes.add("grpc" + secure);
    }
    List<InetSocketAddress> all = service.addresses();
    List<String> shown = new ArrayList<>();
    for (int i = 0; i < schemes.size(); i++) {
      shown.add(schemes.get(i) + "://" + HostPort.format(all.get(i)));
    }
    return String.join(" and ", shown);
  }

  private static final Pattern HEADER_NAME = Pattern.compile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$");

  /** Headers that Sluice's other answers or HTTP itself use. */
  private static final Set<String> USED_HEADERS =
      Set.of(
          "cache-control",
          "connection",
          "content-length",
          "content-type",
          "host",
          "ratelimit-degraded",
          "retry-after",
          "transfer-encoding");

  /**
   * Returns the default of {@code --rls-overrides}. With access control or {@code --open}, limits
   * in descriptors are ignored by default, since a client that can choose its limit can refill a
   * bucket.
   */
  static String usualRlsOverrides(boolean hasTokens, boolean hasClientCa, boolean isOpen) {
    return hasTokens || hasClientCa || isOpen ? "ignore" : "allow";
  }

  private OverridePolicy rlsOverrides(AccessOptions access) {
    String usual = usualRlsOverrides(access.hasTokens(), tls.haveClientCa(), open || insecure);
    String policy = rlsOverrides == null ? usual : rlsOverrides;
    return Quantities.word("--rls-overrides", policy, OverridePolicy.class);
  }

  private HeaderProfile rlsHeaders() {
    return switch (rlsHeaders) {
      case "ietf" -> HeaderProfile.IETF;
      case "draft03" -> HeaderProfile.DRAFT03;
      case "legacy" -> HeaderProfile.LEGACY;
      case "none" -> HeaderProfile.NONE;
      default ->
          throw new InputException(
              "--rls-headers: found %s, expected ietf, draft03, legacy or none"
                  .formatted(SafeText.quote(rlsHeaders)));
    };
  }

  private List<String> rlsHeaderNames() {
    if (rlsHeaderNames == null) {
      return List.of();
    }
    List<String> names = Stream.of(rlsHeaderNames.split(",", -1)).map(String::strip).toList();
    long different = names.stream().map(name -> name.toLowerCase(Locale.ROOT)).distinct().count();
    if (names.size() != 3
        || different != 3
        || !names.stream().allMatch(HEADER_NAME.asPredicate())) {
      throw new InputException(
          "--rls-header-names: found %s, expected three different names of headers, as LIMIT,REMAINING,RESET"
              .formatted(SafeText.quote(rlsHeaderNames)));
    }
    for (String name : names) {
      if (USED_HEADERS.contains(name.toLowerCase(Locale.ROOT))) {
        throw new InputException(
            "--rls-header-names: found %s, expected names of headers that nothing else sets"
                .formatted(SafeText.quote(name)));
      }
    }
    if (!rlsHeaders.equals("legacy")) {
      throw new InputException(
          "--rls-header-names requires --rls-headers legacy, whose headers it renames; found --rls-headers %s"
              .formatted(rlsHeaders));
    }
    return names;
  }

  private double nearLimit() {
    if (!nearLimit.matches("0(\\.[0-9]{1,9})?|1(\\.0{1,9})?")) {
      throw new InputException(
          "--near-limit: found %s, expected a share from 0 to 1, such as 0.8"
              .formatted(SafeText.quote(nearLimit)));
    }
    return Double.parseDouble(nearLimit);
  }

  /** The options for clients of the HTTP listener. */
  private static final class HttpOptions {

    private static final Pattern HOST = Pattern.compile("\\*|[A-Za-z0-9._-]+|\\[[0-9A-Fa-f:.]+]");
    private static final Pattern ORIGIN =
        Pattern.compile("\\*|null|[a-zA-Z][a-zA-Z0-9+.-]*://[^/?#\\s]+");

    @Option(
        names = "--trusted-proxies",
        paramLabel = "RANGE",
        split = ",",
        description =
            "Trusted proxies, such as 10.0.0.0/8, whose headers X-Forwarded-For, -Method, -Host and"
                + " -Uri are used. Repeat the option, or separate ranges with commas.")
    private List<String> trustedProxies = new ArrayList<>();

    @Option(
        names = "--proxy-header",
        paramLabel = "HEADER",
        description =
            "The header in which all trusted proxies name the client: x-forwarded-for (the default)"
                + " or forwarded (RFC 7239). The other header is ignored.")
    private @Nullable String proxyHeader;

    @Option(
        names = "--host",
        paramLabel = "NAME",
        split = ",",
        description =
            "A name that clients use for this server, besides localhost and IP addresses; * allows"
                + " any name. Requests for another Host are refused. Repeatable.")
    private List<String> hosts = new ArrayList<>();

    @Option(
        names = "--allow-origin",
        paramLabel = "ORIGIN",
        split = ",",
        description =
            "An origin under which browsers load Sluice's own page, such as https://sluice.example"
                + " of a proxy with TLS; * allows any origin. Requests of other origins are refused."
                + " Other sites' pages cannot read answers. Repeatable.")
    private List<String> origins = new ArrayList<>();

    @Option(names = "--request-log", description = "Log each request, with the client's address.")
    private boolean requestLog;

    /**
     * Returns the checks of these options. Each returned check throws if an option has a wrong
     * value.
     */
    List<Supplier<?>> each() {
      List<Supplier<?>> checks = new ArrayList<>();
      hosts.forEach(host -> checks.add(() -> host(host)));
      origins.forEach(origin -> checks.add(() -> origin(origin)));
      trustedProxies.forEach(
          one -> checks.add(() -> DoorOptions.clientAddress(proxyHeader, List.of(one))));
      if (trustedProxies.isEmpty()) {
        checks.add(() -> DoorOptions.clientAddress(proxyHeader, trustedProxies));
      }
      return checks;
    }

    ServerConfig.Http http(InetSocketAddress address) {
      return new ServerConfig.Http(
          address,
          DoorOptions.clientAddress(proxyHeader, trustedProxies),
          hosts.stream().map(HttpOptions::host).collect(Collectors.toSet()),
          origins.stream().map(HttpOptions::origin).collect(Collectors.toSet()),
          requestLog);
    }

    private static String host(String text) {
      return one(
          "--host", text, HOST, "a name such as sluice.example.com, without scheme and port");
    }

    private static String origin(String text) {
      return one("--allow-origin", text, ORIGIN, "an origin such as https://example.com");
    }

    /** Checks one value of a comma-separated list, and returns it without surrounding spaces. */
    private static String one(String option, String text, Pattern form, String expected) {
      String one = text.strip();
      if (!form.matcher(one).matches()) {
        throw new InputException(
            "%s: found %s, expected %s".formatted(option, SafeText.quote(one), expected));
      }
      return one;
    }
  }

  /** Returns the resolver of the client's address for --proxy-header and --trusted-proxies. */
  static ClientAddress clientAddress(@Nullable String proxyHeader, List<String> trustedProxies) {
    String name = proxyHeader == null ? USUAL_HEADER : proxyHeader;
    ProxyHeader header = Quantities.word("--proxy-header", name, ProxyHeader.class);
    if (trustedProxies.isEmpty()) {
      if (proxyHeader != null) {
        throw new InputException("--proxy-header requires --trusted-proxies RANGE");
      }
      return ClientAddress.direct();
    }
    try {
      return ClientAddress.behind(header, trustedProxies.toArray(String[]::new));
    } catch (IllegalArgumentException e) {
      throw new InputException(
          "--trusted-proxies: " + String.valueOf(e.getMessage()).replace("trusted proxies: ", ""));
    }
  }

  /** The TLS options, which apply to all listeners. */
  private static final class TlsOptions {

    private static final String CERTIFICATE = "--tls-certificate";
    private static final String KEY = "--tls-key";
    private static final String CLIENT_CA = "--tls-client-ca";
    private static final String CLIENT_AUTH = "--tls-client-auth";

    @Option(
        names = CERTIFICATE,
        paramLabel = "FILE",
        description =
            "The server's certificate with its intermediate certificates, as PEM: every port then"
                + " uses TLS 1.2 or 1.3. The server reads a changed file again.")
    private @Nullable Path certificate;

    @Option(
        names = KEY,
        paramLabel = "FILE",
        description = "The key of the server's certificate, as PEM without a password.")
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

    /** Returns the TLS files, which must exist; null without TLS. */
    @Nullable TlsFiles files() {
      TlsFiles files = settings();
      if (files != null) {
        Stream.of(certificate, key, clientCa).filter(Objects::nonNull).forEach(InputFiles::require);
      }
      return files;
    }

    /** Returns the TLS files without reading them; null without TLS. */
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

    boolean haveClientCa() {
      return clientCa != null;
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
                "%s: found %s, expected \"required\" or \"optional\""
                    .formatted(CLIENT_AUTH, SafeText.quote(policy)));
      };
    }
  }

  /** The options for access control, the audit log, and the file of changes made at run time. */
  static final class AccessOptions {

    private static final String UNLIMITED = "unlimited";
    private static final String WITH_TOKENS = "100/1s,burst=1000";

    @Option(
        names = "--tokens",
        paramLabel = "FILE",
        description =
            "A file with the clients and their roles: each has the hash of a token, or a name in a"
                + " certificate. If not given, every client can do everything.")
    private @Nullable Path tokens;

    @Option(
        names = "--audit-log",
        paramLabel = "FILE",
        description =
            "Append an audit log as JSON lines: who reset or refunded a bucket, changed an override"
                + " or a penalty, reloaded, or failed to authenticate. The file - is standard"
                + " error.")
    private @Nullable String auditLog;

    @Option(
        names = "--override-store",
        paramLabel = "FILE",
        description =
            "A file that keeps overrides set at run time; FILE.penalties keeps the penalties. If"
                + " not given, both are lost when the server stops.")
    private @Nullable Path overrideStore;

    @Option(
        names = "--requests-per-address",
        paramLabel = "QUOTA",
        description =
            "How many requests without a valid token or certificate an address can send:"
                + " COUNT/PERIOD, COUNT/PERIOD,burst=BURST, or unlimited. The default is "
                + WITH_TOKENS
                + " with a tokens file, otherwise unlimited. Health checks are not counted.")
    private @Nullable String requestsPerAddress;

    boolean hasTokens() {
      return tokens != null;
    }

    /** Returns the settings; requires that the file of tokens exists. */
    ServerConfig.Control control(boolean hasTable) {
      requireFiles();
      return settings(hasTable);
    }

    /** Requires that the file of tokens exists, if the option was given. */
    @CanIgnoreReturnValue
    boolean requireFiles() {
      return InputFiles.require("--tokens", tokens);
    }

    ServerConfig.Control settings(boolean hasTable) {
      if (overrideStore != null && hasTable) {
        throw new InputException(
            "--override-store and --overrides-db both keep overrides; give only one");
      }
      return new ServerConfig.Control(tokens, auditLog, overrideStore, perAddress());
    }

    /** Returns the default of {@code --requests-per-address}, as the option's text. */
    static String perAddress(boolean hasTokens) {
      return hasTokens ? WITH_TOKENS : UNLIMITED;
    }

    /**
     * Returns the quota of requests per address, null for unlimited. Without access tokens,
     * requests per address are unlimited by default, since most addresses then belong to proxies,
     * which send requests of many clients.
     */
    private @Nullable Quota perAddress() {
      String text = requestsPerAddress;
      if (text == null) {
        text = perAddress(hasTokens());
      }
      try {
        return text.equals(UNLIMITED) ? null : Quantities.quota(text);
      } catch (IllegalArgumentException e) {
        throw new InputException("--requests-per-address: " + e.getMessage() + ", or " + UNLIMITED);
      }
    }
  }
}

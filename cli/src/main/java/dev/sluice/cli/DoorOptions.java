// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.server.net.HostPort;
import dev.sluice.server.rls.RlsPart.OverridePolicy;
import dev.sluice.server.service.ServerConfig.Doors;
import dev.sluice.server.service.ServerConfig.InsecureException;
import dev.sluice.server.service.Service;
import dev.sluice.server.tls.TlsFiles;
import dev.sluice.text.SafeText;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** The options that say where the server listens, and to whom. */
final class DoorOptions {

  private static final String USUAL_HTTP = "127.0.0.1:8080";

  @Option(
      names = "--http",
      paramLabel = "ADDR",
      defaultValue = USUAL_HTTP,
      description = "Where to listen, host:port; port 0 is any free one (${DEFAULT-VALUE}).")
  private String http = USUAL_HTTP;

  @Option(
      names = "--resp",
      paramLabel = "ADDR",
      description =
          "Where to listen for Redis clients, host:port: CL.THROTTLE, SLUICE.SPEND and others"
              + " (nowhere if not given).")
  private @Nullable String resp;

  @Option(
      names = "--grpc",
      paramLabel = "ADDR",
      description =
          "Where to listen for Envoy's rate limit service besides the port of --http, which answers"
              + " it too, host:port (nowhere if not given).")
  private @Nullable String grpc;

  @Mixin private HttpOptions clients = new HttpOptions();

  @Mixin private TlsOptions tls = new TlsOptions();

  @Option(
      names = "--plaintext",
      description =
          "Listen beyond loopback without TLS: for a network that encrypts, or is trusted.")
  private boolean plaintext;

  @Option(
      names = "--open",
      description =
          "Listen beyond loopback without access control: everybody who reaches a port is answered."
              + " Acts of the role admin, such as a reset, are then for clients on loopback alone.")
  private boolean open;

  @Option(names = "--insecure", description = "The same as --plaintext and --open, with a warning.")
  private boolean insecure;

  @Option(
      names = "--rls-overrides",
      paramLabel = "POLICY",
      description =
          "How to treat a limit that Envoy sends with a descriptor: allow (it takes the place of"
              + " ours) or ignore. Without this option: allow, but ignore with --tokens or --open.")
  private @Nullable String rlsOverrides;

  /** What throws for a value that is wrong, each on its own, without a look at any file. */
  List<Supplier<?>> each(AccessOptions access, boolean overridesAreElsewhere) {
    List<Supplier<?>> checks = new ArrayList<>(clients.each());
    checks.addAll(
        List.<Supplier<?>>of(
            () -> address("--http", http),
            () -> optionalAddress("--resp", resp),
            () -> optionalAddress("--grpc", grpc),
            () -> rlsOverrides(access),
            () -> Optional.ofNullable(tls.settings()),
            () -> safeDoors(access, overridesAreElsewhere),
            this::ownPorts));
    return checks;
  }

  /** What throws for a file that can't be used. */
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
        rlsOverrides(access),
        files,
        plaintext || insecure,
        open || insecure);
  }

  /** The warning about --insecure, if it was given. */
  Optional<String> insecure() {
    return insecure
        ? Optional.of(
            "warning: --insecure answers everybody who reaches a port, and may encrypt nothing; say"
                + " which of the two is meant: --open, or --plaintext")
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

  /** Two doors on one port: the system would say of the second one only that it is in use. */
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
                "%s: found port %s, which %s has already; give each door a port of its own"
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
      // told by another check
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

  /** In the order in which the service opens its doors. */
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

  /** What holds if the option is not given: a client that may send one can refill a bucket. */
  static String usualRlsOverrides(boolean hasTokens, boolean isOpen) {
    return hasTokens || isOpen ? "ignore" : "allow";
  }

  private OverridePolicy rlsOverrides(AccessOptions access) {
    String usual = usualRlsOverrides(access.hasTokens(), open || insecure);
    String policy = rlsOverrides == null ? usual : rlsOverrides;
    return switch (policy) {
      case "allow" -> OverridePolicy.ALLOW;
      case "ignore" -> OverridePolicy.IGNORE;
      default ->
          throw new InputException(
              "--rls-overrides: found %s, expected allow or ignore"
                  .formatted(SafeText.quote(policy)));
    };
  }
}

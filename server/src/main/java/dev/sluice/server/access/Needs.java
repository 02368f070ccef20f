// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.access;

import com.linecorp.armeria.common.HttpMethod;
import dev.sluice.LimiterObserver.Act;
import dev.sluice.server.access.AuditLog.Noted;
import io.netty.handler.codec.http.QueryStringDecoder;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The needs of every endpoint and every command: the one table, which docs/security.md prints. An
 * endpoint that it does not name needs the role {@code admin}. Immutable and thread-safe.
 */
public final class Needs {

  /** A method of HTTP that reads: GET, HEAD or OPTIONS. */
  private static final String GET = "GET";

  /** All other methods. */
  private static final String OTHERS = "POST, PUT, DELETE";

  private static final String ANY = "any";
  private static final String RATE_LIMIT_SERVICE = "/envoy.service.ratelimit.v3.RateLimitService/";
  private static final String HEALTH = "/grpc.health.v1.Health/";

  /**
   * A line of the table.
   *
   * @param methods which methods of HTTP
   * @param path the path of the route, "*" for what follows
   * @param need what a caller needs
   */
  record Route(String methods, String path, Permission need) {}

  /**
   * A line of the table.
   *
   * @param name the command, in capitals
   * @param need what a caller needs
   */
  record Command(String name, Permission need) {}

  static final List<Route> ROUTES =
      List.of(
          new Route(ANY, "/", Permission.NOTHING),
          new Route(ANY, "/page/*", Permission.NOTHING),
          new Route(ANY, "/openapi.json", Permission.NOTHING),
          new Route(ANY, "/healthz", Permission.NOTHING),
          new Route(ANY, "/readyz", Permission.NOTHING),
          new Route(ANY, "/v1/check", Permission.DECIDE),
          new Route(ANY, "/v1/spend", Permission.DECIDE),
          new Route(ANY, "/v1/refund", Permission.ADMIN),
          new Route(ANY, "/v1/reset", Permission.ADMIN),
          new Route(ANY, "/v1/decisions", Permission.DECIDE),
          new Route(ANY, "/v1/reservations", Permission.DECIDE),
          new Route(ANY, "/v1/reservations/*", Permission.DECIDE),
          new Route(ANY, "/v1/forward-auth", Permission.DECIDE),
          new Route(ANY, "/v1/forward-auth/*", Permission.DECIDE),
          new Route(ANY, "/json", Permission.DECIDE),
          new Route(ANY, RATE_LIMIT_SERVICE + "ShouldRateLimit", Permission.DECIDE),
          new Route(ANY, HEALTH + "Check", Permission.NOTHING),
          new Route(ANY, HEALTH + "Watch", Permission.NOTHING),
          new Route(
              ANY, "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", Permission.A_NAME),
          new Route(ANY, "/v1/limits", Permission.READ),
          new Route(ANY, "/v1/limits/*", Permission.READ),
          new Route(ANY, "/v1/stats", Permission.READ),
          new Route(ANY, "/v1/admin/top-denied", Permission.READ),
          new Route(ANY, "/v1/admin/reload", Permission.ADMIN),
          new Route(ANY, "/metrics", Permission.READ),
          new Route(GET, "/v1/admin/overrides", Permission.READ),
          new Route(GET, "/v1/admin/overrides/*", Permission.READ),
          new Route(OTHERS, "/v1/admin/overrides/*", Permission.ADMIN),
          new Route(GET, "/v1/admin/penalties", Permission.READ),
          new Route(GET, "/v1/admin/penalties/*", Permission.READ),
          new Route(OTHERS, "/v1/admin/penalties/*", Permission.ADMIN));

  static final List<Command> COMMANDS =
      List.of(
          new Command("AUTH", Permission.NOTHING),
          new Command("HELLO", Permission.NOTHING),
          new Command("QUIT", Permission.NOTHING),
          new Command("RESET", Permission.NOTHING),
          new Command("PING", Permission.A_NAME),
          new Command("ECHO", Permission.A_NAME),
          new Command("CLIENT", Permission.A_NAME),
          new Command("COMMAND", Permission.A_NAME),
          new Command("CONFIG", Permission.A_NAME),
          new Command("INFO", Permission.A_NAME),
          new Command("SELECT", Permission.A_NAME),
          new Command("CLUSTER", Permission.A_NAME),
          new Command("READONLY", Permission.A_NAME),
          new Command("READWRITE", Permission.A_NAME),
          new Command("CL.THROTTLE", Permission.DECIDE),
          new Command("THROTTLE", Permission.DECIDE),
          new Command("SLUICE.CHECK", Permission.DECIDE),
          new Command("SLUICE.SPEND", Permission.DECIDE),
          new Command("SLUICE.BATCH", Permission.DECIDE),
          new Command("SLUICE.RESERVE", Permission.DECIDE),
          new Command("SLUICE.CANCEL", Permission.DECIDE),
          new Command("SLUICE.REFUND", Permission.ADMIN),
          new Command("SLUICE.RESET", Permission.ADMIN));

  private static final Map<String, Permission> READS = new HashMap<>();
  private static final Map<String, Permission> WRITES = new HashMap<>();
  private static final Map<String, Permission> BY_COMMAND = new HashMap<>();

  static {
    for (Route route : ROUTES) {
      if (!route.methods().equals(OTHERS)) {
        READS.put(route.path(), route.need());
      }
      if (!route.methods().equals(GET)) {
        WRITES.put(route.path(), route.need());
      }
    }
    COMMANDS.forEach(command -> BY_COMMAND.put(command.name(), command.need()));
  }

  private Needs() {}

  /**
   * Returns what a request needs.
   *
   * @param path the path of its route, "*" for what follows
   * @param reads whether its method is GET, HEAD or OPTIONS
   * @return the need; that of the role {@code admin} for a path that the table does not name
   */
  static Permission ofRoute(String path, boolean reads) {
    return (reads ? READS : WRITES).getOrDefault(path, Permission.ADMIN);
  }

  /**
   * Returns what a command needs.
   *
   * @param name the command, in capitals
   * @return the need; that of the role {@code admin} for a command that the table does not name
   */
  public static Permission ofCommand(String name) {
    return BY_COMMAND.getOrDefault(name, Permission.ADMIN);
  }

  /**
   * Returns what an act needs wherever it is asked for: a stream of acts, or a batch of a command,
   * may hold one that needs more than the rest.
   *
   * @param act the act
   * @return the need
   */
  public static Permission ofAct(Act act) {
    return act == Act.REFUND || act == Act.RESET ? Permission.ADMIN : Permission.DECIDE;
  }

  /** Returns the table as docs/security.md prints it. */
  static String markdown() {
    StringBuilder table = new StringBuilder("| endpoint or command | needs |\n|---|---|\n");
    for (Route route : ROUTES) {
      String methods = route.methods().equals(ANY) ? "" : route.methods() + " ";
      table.append("| `%s%s` | %s |%n".formatted(methods, route.path(), route.need().word()));
    }
    for (Command command : COMMANDS) {
      table.append("| `%s` | %s |%n".formatted(command.name(), command.need().word()));
    }
    return table.toString().replace(System.lineSeparator(), "\n");
  }

  /** Returns the word for an act in messages. */
  static String word(Act act) {
    return act.name().toLowerCase(Locale.ROOT);
  }

  /** The permission that an endpoint or a command needs. */
  public enum Permission {
    /** Open to all: it tells nothing of limits, and changes nothing. */
    NOTHING(null, "nothing"),
    /** A token or a certificate that the server knows, with any role. */
    A_NAME(null, "any role"),
    /** The role {@code decide}. */
    DECIDE(Role.DECIDE, "decide"),
    /** The role {@code read}. */
    READ(Role.READ, "read"),
    /** The role {@code admin}. */
    ADMIN(Role.ADMIN, "admin");

    private final @Nullable Role role;
    private final String word;

    Permission(@Nullable Role role, String word) {
      this.role = role;
      this.word = word;
    }

    @Nullable Role role() {
      return role;
    }

    String word() {
      return word;
    }
  }

  /**
   * A permission of a caller. No role contains another one: a caller has those that its line names.
   */
  enum Role {
    /** Asks for decisions: check, spend, reserve and cancel, on every door. */
    DECIDE,
    /** Sees limits, buckets, overrides, penalties and metrics, and changes nothing. */
    READ,
    /** Resets and refunds by hand, changes overrides and penalties, and reloads. */
    ADMIN;

    /** Returns the word for the role in files and messages, such as {@code decide}. */
    String word() {
      return name().toLowerCase(Locale.ROOT);
    }

    static @Nullable Role of(String word) {
      return Stream.of(values()).filter(role -> role.word().equals(word)).findFirst().orElse(null);
    }

    static List<String> words() {
      return Stream.of(values()).map(Role::word).toList();
    }
  }

  /**
   * The acts that a request over HTTP asks for, as far as its first line tells, for the audit log.
   * Stateless.
   */
  static final class AskedActs {

    private static final String ADMIN = "/v1/admin/";

    private AskedActs() {}

    /**
     * Finds the acts.
     *
     * @param route the path of the request's route, "*" for what follows
     * @param path the path as the client wrote it
     * @param id the query parameter of this name, null if there is none
     * @return none for a request that the audit log has no line for
     */
    static List<Noted> of(HttpMethod method, String route, String path, @Nullable String id) {
      if (method == HttpMethod.POST) {
        return switch (route) {
          case "/v1/reset" -> List.of(Noted.of(Act.RESET, null, null));
          case "/v1/refund" -> List.of(Noted.of(Act.REFUND, null, null));
          case "/v1/admin/reload" -> List.of(Noted.of("reload"));
          default -> List.of();
        };
      }
      String verb =
          method == HttpMethod.PUT ? "set " : method == HttpMethod.DELETE ? "remove " : "";
      return verb.isEmpty()
          ? List.of()
          : switch (route) {
            case "/v1/admin/overrides/*" -> List.of(ofPath(verb + "override", path, id));
            case "/v1/admin/penalties/*" -> List.of(ofPath(verb + "penalty", path, id));
            default -> List.of();
          };
    }

    private static Noted ofPath(String what, String path, @Nullable String id) {
      int query = path.indexOf('?');
      String whole = query < 0 ? path : path.substring(0, query);
      String[] parts = whole.substring(Math.min(ADMIN.length(), whole.length())).split("/", 3);
      String inPath = part(parts, 2);
      return new Noted(what, part(parts, 1), inPath == null ? id : inPath);
    }

    private static @Nullable String part(String[] parts, int index) {
      if (parts.length <= index || parts[index].isEmpty()) {
        return null;
      }
      String encoded = parts[index];
      try {
        return QueryStringDecoder.decodeComponent(encoded.replace("+", "%2B"));
      } catch (IllegalArgumentException e) {
        return encoded; // as it was written
      }
    }
  }
}

// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.access;

import dev.sluice.LimiterObserver.Act;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

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
  record Route(String methods, String path, Need need) {}

  /**
   * A line of the table.
   *
   * @param name the command, in capitals
   * @param need what a caller needs
   */
  record Command(String name, Need need) {}

  static final List<Route> ROUTES =
      List.of(
          new Route(ANY, "/", Need.NOTHING),
          new Route(ANY, "/page/*", Need.NOTHING),
          new Route(ANY, "/openapi.json", Need.NOTHING),
          new Route(ANY, "/healthz", Need.NOTHING),
          new Route(ANY, "/readyz", Need.NOTHING),
          new Route(ANY, "/v1/check", Need.DECIDE),
          new Route(ANY, "/v1/spend", Need.DECIDE),
          new Route(ANY, "/v1/refund", Need.ADMIN),
          new Route(ANY, "/v1/reset", Need.ADMIN),
          new Route(ANY, "/v1/decisions", Need.DECIDE),
          new Route(ANY, "/v1/reservations", Need.DECIDE),
          new Route(ANY, "/v1/reservations/*", Need.DECIDE),
          new Route(ANY, "/v1/forward-auth", Need.DECIDE),
          new Route(ANY, "/v1/forward-auth/*", Need.DECIDE),
          new Route(ANY, "/json", Need.DECIDE),
          new Route(ANY, RATE_LIMIT_SERVICE + "ShouldRateLimit", Need.DECIDE),
          new Route(ANY, HEALTH + "Check", Need.NOTHING),
          new Route(ANY, HEALTH + "Watch", Need.NOTHING),
          new Route(ANY, "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", Need.A_NAME),
          new Route(ANY, "/v1/limits", Need.READ),
          new Route(ANY, "/v1/limits/*", Need.READ),
          new Route(ANY, "/v1/stats", Need.READ),
          new Route(ANY, "/v1/admin/top-denied", Need.READ),
          new Route(ANY, "/v1/admin/reload", Need.ADMIN),
          new Route(ANY, "/metrics", Need.READ),
          new Route(GET, "/v1/admin/overrides", Need.READ),
          new Route(GET, "/v1/admin/overrides/*", Need.READ),
          new Route(OTHERS, "/v1/admin/overrides/*", Need.ADMIN),
          new Route(GET, "/v1/admin/penalties", Need.READ),
          new Route(GET, "/v1/admin/penalties/*", Need.READ),
          new Route(OTHERS, "/v1/admin/penalties/*", Need.ADMIN));

  static final List<Command> COMMANDS =
      List.of(
          new Command("AUTH", Need.NOTHING),
          new Command("HELLO", Need.NOTHING),
          new Command("QUIT", Need.NOTHING),
          new Command("RESET", Need.NOTHING),
          new Command("PING", Need.A_NAME),
          new Command("ECHO", Need.A_NAME),
          new Command("CLIENT", Need.A_NAME),
          new Command("COMMAND", Need.A_NAME),
          new Command("CONFIG", Need.A_NAME),
          new Command("INFO", Need.A_NAME),
          new Command("SELECT", Need.A_NAME),
          new Command("CLUSTER", Need.A_NAME),
          new Command("READONLY", Need.A_NAME),
          new Command("READWRITE", Need.A_NAME),
          new Command("CL.THROTTLE", Need.DECIDE),
          new Command("THROTTLE", Need.DECIDE),
          new Command("SLUICE.CHECK", Need.DECIDE),
          new Command("SLUICE.SPEND", Need.DECIDE),
          new Command("SLUICE.BATCH", Need.DECIDE),
          new Command("SLUICE.RESERVE", Need.DECIDE),
          new Command("SLUICE.CANCEL", Need.DECIDE),
          new Command("SLUICE.REFUND", Need.ADMIN),
          new Command("SLUICE.RESET", Need.ADMIN));

  private static final Map<String, Need> READS = new HashMap<>();
  private static final Map<String, Need> WRITES = new HashMap<>();
  private static final Map<String, Need> BY_COMMAND = new HashMap<>();

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
  static Need ofRoute(String path, boolean reads) {
    return (reads ? READS : WRITES).getOrDefault(path, Need.ADMIN);
  }

  /**
   * Returns what a command needs.
   *
   * @param name the command, in capitals
   * @return the need; that of the role {@code admin} for a command that the table does not name
   */
  public static Need ofCommand(String name) {
    return BY_COMMAND.getOrDefault(name, Need.ADMIN);
  }

  /**
   * Returns what an act needs wherever it is asked for: a stream of acts, or a batch of a command,
   * may hold one that needs more than the rest.
   *
   * @param act the act
   * @return the need
   */
  public static Need ofAct(Act act) {
    return act == Act.REFUND || act == Act.RESET ? Need.ADMIN : Need.DECIDE;
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
}

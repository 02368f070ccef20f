// SPDX-License-Identifier: Apache-2.0
package compared;

import compared.Application.Login;
import dev.sluice.testkit.servers.LocalRedis;
import dev.sluice.testkit.servers.RedisBinary;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;

/** What happens to one application, from a start without Redis to an outage and its end. */
final class Trial {

  private static final int LIMIT = 5;
  private static final Duration WAIT = Duration.ofSeconds(60 / LIMIT);
  private static final Duration RECOVERY = Duration.ofSeconds(40);

  private final String name;
  private final int backend;
  private final Map<String, String> findings = new LinkedHashMap<>();

  private Trial(String name, int backend) {
    this.name = name;
    this.backend = backend;
  }

  /** Returns what was found, by the name of the row. */
  static Map<String, String> run(String name, int backend) {
    Trial trial = new Trial(name, backend);
    try (LocalRedis redis = LocalRedis.start(RedisBinary.bundled())) {
      trial.run(redis);
    }
    return trial.findings;
  }

  private void run(LocalRedis redis) {
    redis.kill();
    try (Application one = startWithoutRedis(redis);
        Application two = Application.start(name, redis.port(), backend)) {
      List<Application> both = List.of(one, two);
      burst(both);
      retryAfter(two);
      proxies(both);
      outage(redis, both);
    }
  }

  private Application startWithoutRedis(LocalRedis redis) {
    Application application = Application.start(name, redis.port(), backend);
    String finding = "does not start";
    if (application.isUp()) {
      finding = wasLimited(logins(List.of(application), "198.51.100.1"));
    }
    findings.put("Redis away at start", finding);
    redis.startAgain();
    if (application.isUp()) {
      findings.put("Redis starts later", recovered(redis, application, "198.51.100.2"));
      return application;
    }
    findings.put("Redis starts later", "needs a restart");
    return Application.start(name, redis.port(), backend);
  }

  private static List<Login> logins(List<Application> applications, String client) {
    List<Login> logins = new ArrayList<>();
    for (int i = 0; i < 2 * LIMIT && logins.stream().noneMatch(Login::isLost); i++) {
      logins.add(applications.get(i % applications.size()).login(client));
    }
    return logins;
  }

  private static String wasLimited(List<Login> logins) {
    if (logins.stream().anyMatch(Login::isLost)) {
      return "no answer in %d s".formatted(Application.PATIENCE.toSeconds());
    }
    for (Login login : logins) {
      if (!login.passed() && !login.isDenied()) {
        return "answers " + login.status();
      }
    }
    long passed = logins.stream().filter(Login::passed).count();
    return "%d of %d".formatted(passed, logins.size());
  }

  private String recovered(LocalRedis redis, Application application, String client) {
    if (name.equals("resilience4j")) {
      return "(no Redis)";
    }
    redis.command("FLUSHALL");
    boolean isBack =
        holdsWithin(
            RECOVERY,
            () -> {
              Login login = application.login(client);
              return (login.passed() || login.isDenied()) && !isEmpty(redis);
            });
    return isBack ? "limits with Redis" : "not within " + RECOVERY.toSeconds() + " s";
  }

  private static boolean isEmpty(LocalRedis redis) {
    return Long.valueOf(0).equals(redis.command("DBSIZE"));
  }

  private static boolean holdsWithin(Duration time, BooleanSupplier condition) {
    long start = System.nanoTime();
    while (!condition.getAsBoolean()) {
      if (System.nanoTime() - start > time.toNanos()) {
        return false;
      }
      Application.pause(Duration.ofMillis(250));
    }
    return true;
  }

  private void burst(List<Application> both) {
    long passed =
        Application.atOnce(both, Stream.generate(() -> "203.0.113.1").limit(20)).stream()
            .filter(Login::passed)
            .count();
    findings.put("20 logins at once, over two processes", passed + " pass");
  }

  private void retryAfter(Application application) {
    String client = "203.0.113.2";
    List<Login> logins = logins(List.of(application), client);
    long start = System.nanoTime();
    String told = logins.get(logins.size() - 1).retryAfter();
    boolean passes = holdsWithin(WAIT.plusSeconds(2), () -> application.login(client).passed());
    Duration waited = Duration.ofNanos(System.nanoTime() - start);
    findings.put("`Retry-After` of a denial", judged(told, passes, waited));
  }

  private static String judged(String told, boolean passes, Duration waited) {
    if (told.isEmpty()) {
      return "none";
    }
    Duration wait = Duration.ofSeconds(Long.parseLong(told));
    if (!passes || wait.compareTo(waited.plusSeconds(2)) > 0) {
      return "always %s s".formatted(wait.toSeconds());
    }
    return waited.compareTo(wait.plusSeconds(1)) < 0 ? "the wait" : "too short";
  }

  private void proxies(List<Application> both) {
    List<Login> forged = new ArrayList<>();
    for (int i = 0; i < 2 * LIMIT; i++) {
      forged.add(both.get(i % 2).login("192.0.2." + i + ", 203.0.113.3"));
    }
    findings.put("10 logins, each with another forged `X-Forwarded-For`", wasLimited(forged));
    List<Login> range = new ArrayList<>();
    for (int i = 0; i < 2 * LIMIT; i++) {
      range.add(both.get(i % 2).login("2001:db8:1:1::" + (i + 1)));
    }
    findings.put("10 logins from one IPv6 network (/64)", wasLimited(range));
  }

  private void outage(LocalRedis redis, List<Application> both) {
    redis.freeze();
    findings.put("Redis hangs", wasLimited(logins(both.subList(0, 1), "203.0.113.4")));
    redis.thaw();
    redis.kill();
    findings.put("Redis away later", wasLimited(logins(both.subList(1, 2), "203.0.113.5")));
    redis.startAgain();
    findings.put("Redis is back", recovered(redis, both.get(1), "203.0.113.6"));
  }
}

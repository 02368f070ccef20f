// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.web;

import dev.sluice.Limiter;
import dev.sluice.benchmarks.report.Subject;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.Limits;
import dev.sluice.servlet.RateLimitFilter;
import dev.sluice.store.BucketStore;
import dev.sluice.web.Rule;
import dev.sluice.web.VaryBy;
import dev.sluice.webflux.RateLimitWebFilter;
import jakarta.servlet.Filter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.web.server.WebFilter;

/**
 * The command {@code ./sluice bench web}. Measures the time of the filters and of the annotation,
 * as a ratio to a filter and an advice that do nothing. The subjects of a comparison are measured
 * in turn, in a different order in each round. Each ratio compares two subjects within the same
 * round. All subjects run in one process.
 */
public final class WebReport {

  private static final int REQUESTS = 1_600;
  private static final int CALLS = 50_000;
  private static final int LEAST_ROUNDS = 3;

  private final List<Subject<Work>> subjects;

  private WebReport(List<Subject<Work>> subjects) {
    this.subjects = subjects;
  }

  /**
   * Measures all comparisons, and prints their table rows.
   *
   * @param arguments the seconds to measure, by default 120; the warm-up takes a third of this time
   *     in addition
   * @throws Exception if a server fails
   */
  public static void main(String[] arguments) throws Exception {
    double seconds = seconds(arguments);
    try (Sites sites = new Sites();
        ConfigurableApplicationContext application = Pages.start()) {
      Map<String, List<Subject<Work>>> scenes = new LinkedHashMap<>();
      for (Subject<Work> subject : subjects(sites, application)) {
        scenes.computeIfAbsent(subject.scene(), scene -> new ArrayList<>()).add(subject);
      }
      System.out.println(
          "| scene | filter or advice | µs | ratio to the first row of the scene | middle half of the ratios | rounds |");
      System.out.println("|---|---|---:|---:|---|---:|");
      for (List<Subject<Work>> scene : scenes.values()) {
        WebReport report = new WebReport(scene);
        Map<Subject<Work>, List<Double>> unused = report.rounds(seconds / 3 / scenes.size());
        report.print(report.rounds(seconds / scenes.size()));
      }
      System.out.printf(
          "%nTimes and ratios are medians of rounds. A round has %,d requests on one connection, %d at a"
              + " time, or %,d calls without HTTP.%n",
          REQUESTS, Connection.TOGETHER, CALLS);
    }
  }

  private static double seconds(String[] arguments) {
    if (arguments.length == 0) {
      return 120;
    }
    if (arguments.length > 1 || !arguments[0].matches("[1-9][0-9]{0,4}")) {
      System.err.printf(
          "sluice bench web: found the arguments %s, expected none or a number of seconds%n",
          String.join(" ", arguments));
      System.exit(2);
    }
    return Double.parseDouble(arguments[0]);
  }

  private static List<Subject<Work>> subjects(
      Sites sites, ConfigurableApplicationContext application) throws Exception {
    Quota quota = Quota.per(1_000_000_000, Duration.ofSeconds(10));
    Limits limits =
        Limits.builder(Catalogue.samples())
            .limit("LoginsPerIPAddress", quota)
            .limit("ApiCallsPerKey", quota)
            .build();
    Limiter limiter = Limiter.of(limits, BucketStore.inMemory());
    Rule perAddress = Rule.on("/page").limit("LoginsPerIPAddress", VaryBy.clientAddress()).build();
    Rule perKey = Rule.on("/**").limit("ApiCallsPerKey", VaryBy.header("X-Api-Key")).build();

    List<Subject<Work>> subjects = new ArrayList<>();
    Filter empty = (request, response, chain) -> chain.doFilter(request, response);
    UnaryOperator<String> page = key -> Connection.BODY;
    Map<String, Filter> filters = new LinkedHashMap<>();
    filters.put("empty filter", empty);
    filters.put("one limit", RateLimitFilter.builder(limiter).rule(perAddress).build());
    filters.put(
        "two limits", RateLimitFilter.builder(limiter).rule(perAddress).rule(perKey).build());
    for (Map.Entry<String, Filter> filter : filters.entrySet()) {
      subjects.add(
          http("servlet (Jetty)", filter.getKey(), sites.servlet(filter.getValue(), page)));
    }

    Map<String, WebFilter> webFilters = new LinkedHashMap<>();
    webFilters.put("empty filter", (exchange, chain) -> chain.filter(exchange));
    webFilters.put("one limit", RateLimitWebFilter.builder(limiter).rule(perAddress).build());
    webFilters.put(
        "two limits", RateLimitWebFilter.builder(limiter).rule(perAddress).rule(perKey).build());
    for (Map.Entry<String, WebFilter> filter : webFilters.entrySet()) {
      subjects.add(
          http("WebFlux (Reactor Netty)", filter.getKey(), sites.webFlux(filter.getValue())));
    }

    Map<String, UnaryOperator<String>> methods = new LinkedHashMap<>();
    methods.put("empty advice", Pages.empty());
    methods.put("one limit", application.getBean(Pages.One.class)::page);
    methods.put("two limits", application.getBean(Pages.Two.class)::page);
    for (Map.Entry<String, UnaryOperator<String>> method : methods.entrySet()) {
      subjects.add(
          http("annotation (Jetty)", method.getKey(), sites.servlet(empty, method.getValue())));
    }
    for (Map.Entry<String, UnaryOperator<String>> method : methods.entrySet()) {
      subjects.add(
          new Subject<>(
              "annotation, the call alone",
              method.getKey(),
              new Work(times -> call(method.getValue(), times), CALLS)));
    }
    return subjects;
  }

  private static Subject<Work> http(String scene, String name, Connection connection) {
    return new Subject<>(scene, name, new Work(connection, REQUESTS));
  }

  private static void call(UnaryOperator<String> method, int times) {
    int length = 0;
    for (int i = 0; i < times; i++) {
      length += method.apply("a").length();
    }
    if (length != times * Connection.BODY.length()) {
      throw new IllegalStateException("a call had another answer");
    }
  }

  /** Measures all subjects in every round; each round begins with a different subject. */
  private Map<Subject<Work>, List<Double>> rounds(double seconds) throws Exception {
    Map<Subject<Work>, List<Double>> micros = new HashMap<>();
    long end = System.nanoTime() + (long) (seconds * TimeUnit.SECONDS.toNanos(1));
    for (int round = 0; round < LEAST_ROUNDS || System.nanoTime() < end; round++) {
      for (int i = 0; i < subjects.size(); i++) {
        Subject<Work> subject = subjects.get((i + round) % subjects.size());
        micros.computeIfAbsent(subject, one -> new ArrayList<>()).add(subject.work().microsOnce());
      }
    }
    return micros;
  }

  private void print(Map<Subject<Work>, List<Double>> micros) {
    List<Double> base = micros.getOrDefault(subjects.get(0), List.of());
    for (Subject<Work> subject : subjects) {
      List<Double> own = micros.getOrDefault(subject, List.of());
      double[] ratios = new double[own.size()];
      for (int round = 0; round < ratios.length; round++) {
        ratios[round] = own.get(round) / base.get(round);
      }
      Arrays.sort(ratios);
      double[] sorted = own.stream().mapToDouble(Double::doubleValue).sorted().toArray();
      System.out.printf(
          Locale.ROOT,
          "| %s | %s | %.2f | %.2f | %.2f to %.2f | %d |%n",
          subject.scene(),
          subject.name(),
          at(sorted, 0.5),
          at(ratios, 0.5),
          at(ratios, 0.25),
          at(ratios, 0.75),
          own.size());
    }
  }

  private static double at(double[] sorted, double share) {
    return sorted[(int) (share * (sorted.length - 1))];
  }
}

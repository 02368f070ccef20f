// SPDX-License-Identifier: Apache-2.0
package dev.sluice.spring;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.sluice.AsyncLimiter;
import dev.sluice.Limiter;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.InvalidRequestException.MissingDefaultException;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Limits.Requirement;
import dev.sluice.micrometer.LimiterMetrics;
import dev.sluice.redis.RedisStore;
import dev.sluice.servlet.RateLimitFilter;
import dev.sluice.store.BucketStore;
import dev.sluice.store.StoreException;
import dev.sluice.testkit.LoggedLines;
import dev.sluice.webflux.RateLimitWebFilter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicReference;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.boot.LazyInitializationBeanFactoryPostProcessor;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.env.YamlPropertySourceLoader;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.context.runner.ReactiveWebApplicationContextRunner;
import org.springframework.boot.test.context.runner.WebApplicationContextRunner;
import org.springframework.boot.test.util.TestPropertyValues;
import org.springframework.boot.web.servlet.FilterRegistrationBean;
import org.springframework.context.ApplicationContext;
import org.springframework.context.ApplicationContextInitializer;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.MapPropertySource;
import org.springframework.core.env.PropertySource;
import org.springframework.core.env.StandardEnvironment;
import org.springframework.core.env.SystemEnvironmentPropertySource;
import org.springframework.core.io.ByteArrayResource;
import org.springframework.mock.web.MockFilterChain;
import org.springframework.mock.web.MockHttpServletRequest;
import org.springframework.mock.web.MockHttpServletResponse;

/** Which beans there are, and what the application is told where it cannot start. */
class SluiceAutoConfigurationTest {

  static final AutoConfigurations ALL =
      AutoConfigurations.of(
          SluiceAutoConfiguration.class,
          SluiceMetricsAutoConfiguration.class,
          SluiceMethodAutoConfiguration.class,
          SluiceServletAutoConfiguration.class,
          SluiceWebFluxAutoConfiguration.class,
          SluiceActuatorAutoConfiguration.class);

  private static final String[] LOGINS = {
    "sluice.limits.LoginsPerIPAddress.burst=2",
    "sluice.limits.LoginsPerIPAddress.count=2",
    "sluice.limits.LoginsPerIPAddress.period=1m"
  };

  private static final String[] RULE = {
    "sluice.filter.rules[0].path=/login",
    "sluice.filter.rules[0].methods=POST",
    "sluice.filter.rules[0].limit=LoginsPerIPAddress",
    "sluice.filter.rules[0].id=ip"
  };

  private final ApplicationContextRunner application =
      new ApplicationContextRunner().withConfiguration(ALL);

  @TempDir Path folder;

  private static String analysis(Throwable failure) {
    FailureAnalysis analysis = Analyses.of(failure);
    return analysis.getDescription() + "\n-> " + analysis.getAction();
  }

  @Test
  void limitsInProperties_areDecidedOn() {
    application
        .withPropertyValues(LOGINS)
        .run(
            context -> {
              Limiter limiter = context.getBean(Limiter.class);
              assertThat(limiter.spend("LoginsPerIPAddress", "192.0.2.1").remaining()).isEqualTo(1);
              assertThat(
                      context
                          .getBean(AsyncLimiter.class)
                          .spend("LoginsPerIPAddress", "192.0.2.1")
                          .toCompletableFuture()
                          .join()
                          .remaining())
                  .isZero();
            });
  }

  @Test
  void namesAndOverridesInProperties_areRead() {
    application
        .withPropertyValues(
            "sluice.names[0].number=1001",
            "sluice.names[0].name=Reports",
            "sluice.names[0].id=string",
            "sluice.limits.Reports.burst=1",
            "sluice.limits.Reports.count=1",
            "sluice.limits.Reports.period=1m",
            "sluice.overrides[0].Reports.burst=5",
            "sluice.overrides[0].Reports.count=5",
            "sluice.overrides[0].Reports.period=1m",
            "sluice.overrides[0].Reports.ids[0]=ann")
        .run(
            context -> {
              Limiter limiter = context.getBean(Limiter.class);
              assertThat(limiter.spend("Reports", "ann").remaining()).isEqualTo(4);
              assertThat(limiter.spend("Reports", "bob").remaining()).isZero();
            });
  }

  @Test
  void limitFiles_areRead_andFollowed() throws IOException {
    Path file = folder.resolve("limits.yml");
    Files.writeString(file, "LoginsPerIPAddress: {burst: 3, count: 3, period: 1m}\n");
    application
        .withPropertyValues("sluice.files.limits=" + file, "sluice.files.reload=10ms")
        .run(
            context -> {
              Limiter limiter = context.getBean(Limiter.class);
              assertThat(limiter.check("LoginsPerIPAddress", "192.0.2.1", 0).remaining())
                  .isEqualTo(3);
              Files.writeString(file, "LoginsPerIPAddress: {burst: 9, count: 9, period: 1m}\n");
              await()
                  .atMost(Duration.ofMinutes(1))
                  .until(
                      () -> limiter.check("LoginsPerIPAddress", "192.0.2.1", 0).remaining() == 9);
            });
  }

  @Test
  void overridesThatAreGone_doNotDenyThatTheLimitsWereLoaded() throws IOException {
    Path file = folder.resolve("limits.yml");
    Path overrides = folder.resolve("overrides.yml");
    Files.writeString(file, "LoginsPerIPAddress: {burst: 3, count: 3, period: 1m}\n");
    Files.writeString(overrides, "[]\n");
    Logger.getLogger(LimitReload.class.getName()).setLevel(Level.ALL);
    try (LoggedLines log = new LoggedLines(LimitReload.class)) {
      application
          .withPropertyValues(
              "sluice.files.limits=" + file,
              "sluice.files.overrides=" + overrides,
              "sluice.files.reload=10ms")
          .run(
              context -> {
                Files.delete(overrides);
                Files.writeString(file, "LoginsPerIPAddress: {burst: 9, count: 9, period: 1m}\n");
                await()
                    .atMost(Duration.ofMinutes(1))
                    .until(() -> log.lines().stream().anyMatch(line -> line.contains("other")));
                Limiter limiter = context.getBean(Limiter.class);
                await()
                    .atMost(Duration.ofMinutes(1))
                    .until(
                        () -> limiter.check("LoginsPerIPAddress", "192.0.2.1", 0).remaining() == 9);
              });
      assertThat(log.lines())
          .contains(
              "SEVERE a reload found a mistake: "
                  + overrides
                  + ":1:1: there is no such file; the other files are loaded, with the previous"
                  + " overrides");
    }
  }

  /** Nobody injects what follows the files. */
  @Test
  void limitFiles_areFollowed_whereBeansAreMadeLate() throws IOException {
    Path file = folder.resolve("limits.yml");
    Files.writeString(file, "LoginsPerIPAddress: {burst: 3, count: 3, period: 1m}\n");
    application
        .withInitializer(
            context ->
                context.addBeanFactoryPostProcessor(
                    new LazyInitializationBeanFactoryPostProcessor()))
        .withPropertyValues("sluice.files.limits=" + file, "sluice.files.reload=10ms")
        .run(
            context -> {
              Limiter limiter = context.getBean(Limiter.class);
              Files.writeString(file, "LoginsPerIPAddress: {burst: 9, count: 9, period: 1m}\n");
              await()
                  .atMost(Duration.ofMinutes(1))
                  .until(
                      () -> limiter.check("LoginsPerIPAddress", "192.0.2.1", 0).remaining() == 9);
            });
  }

  @Test
  void variablesOfTheEnvironment_replaceWhatFilesSayOfALimit() {
    application
        .withInitializer(file(LOGINS))
        .withInitializer(
            file(
                "sluice.limits.ApiCallsPerKey.burst=5",
                "sluice.limits.ApiCallsPerKey.count=5",
                "sluice.on-failure.limits.LoginsPerIPAddress=maybe"))
        .withInitializer(
            variables(
                Map.of(
                    "SLUICE_LIMITS_LOGINSPERIPADDRESS_BURST", "7",
                    "SLUICE_LIMITS_APICALLSPERKEY_PERIOD", "1h",
                    "SLUICE_ONFAILURE_LIMITS_LOGINSPERIPADDRESS", "allow")))
        .run(
            context -> {
              Limits limits = context.getBean(Limiter.class).limits().get();
              assertThat(limits.defaultFor(limits.catalogue().get("LoginsPerIPAddress")))
                  .isEqualTo(Quota.burst(7).refill(2, Duration.ofMinutes(1)));
              assertThat(limits.defaultFor(limits.catalogue().get("ApiCallsPerKey")))
                  .isEqualTo(Quota.per(5, Duration.ofHours(1)));
            });
  }

  @Test
  void variablesOfTheEnvironment_replaceWhatFilesSayOfALimitDeclaredInPlace() {
    application
        .withInitializer(
            file(
                "sluice.limits.ExportsPerUser.id=string",
                "sluice.limits.ExportsPerUser.burst=5",
                "sluice.limits.ExportsPerUser.count=5",
                "sluice.limits.ExportsPerUser.period=1h",
                "sluice.limits.ReportsPerUser.burst=5",
                "sluice.limits.ReportsPerUser.count=5",
                "sluice.limits.ReportsPerUser.period=1h"))
        .withInitializer(
            variables(
                Map.of(
                    "SLUICE_LIMITS_EXPORTSPERUSER_ID", "regId",
                    "SLUICE_LIMITS_EXPORTSPERUSER_BURST", "7",
                    "SLUICE_LIMITS_REPORTSPERUSER_ID", "string",
                    "SLUICE_LIMITS_LOGINSPERIPADDRESS_BURST", "1",
                    "SLUICE_LIMITS_LOGINSPERIPADDRESS_COUNT", "1",
                    "SLUICE_LIMITS_LOGINSPERIPADDRESS_PERIOD", "1m")))
        .run(
            context -> {
              assertThat(context).hasNotFailed();
              Limits limits = context.getBean(Limiter.class).limits().get();
              LimitName exports = limits.catalogue().get("ExportsPerUser");
              assertThat(limits.defaultFor(exports))
                  .isEqualTo(Quota.burst(7).refill(5, Duration.ofHours(1)));
              assertThat(exports.id().name()).isEqualTo("regId");
              assertThat(limits.defaultFor(limits.catalogue().get("ReportsPerUser"))).isNotNull();
              assertThat(limits.defaultFor(limits.catalogue().get("LoginsPerIPAddress")))
                  .isNotNull();
              assertThat(limits.configured()).hasSize(3);
            });
  }

  /** Properties of a file, which variables and tests win over. */
  private static ApplicationContextInitializer<ConfigurableApplicationContext> file(
      String... properties) {
    return context ->
        context
            .getEnvironment()
            .getPropertySources()
            .addLast(
                new MapPropertySource(
                    "file with " + properties[0],
                    Arrays.stream(properties)
                        .map(property -> property.split("=", 2))
                        .collect(Collectors.toMap(part -> part[0], part -> part[1]))));
  }

  private static ApplicationContextInitializer<ConfigurableApplicationContext> variables(
      Map<String, Object> variables) {
    return context ->
        context
            .getEnvironment()
            .getPropertySources()
            .replace(
                StandardEnvironment.SYSTEM_ENVIRONMENT_PROPERTY_SOURCE_NAME,
                new SystemEnvironmentPropertySource(
                    StandardEnvironment.SYSTEM_ENVIRONMENT_PROPERTY_SOURCE_NAME, variables));
  }

  @Test
  void mistakesInProperties_areAnalysed_withThePropertysName() {
    application
        .withPropertyValues(LOGINS)
        .withPropertyValues(
            "sluice.limits.LoginsPerIPAddress.burst=0", "sluice.limits.LoginsPerUser.burst=1")
        .run(
            context ->
                assertThat(analysis(context.getStartupFailure()))
                    .contains("sluice.limits.LoginsPerIPAddress.burst: found 0")
                    .contains("sluice.limits.LoginsPerUser: found the name")
                    .contains("Set the id format of your own limits")
                    .doesNotContain("sluice.names")
                    .contains("-> Correct the properties"));
  }

  @Test
  void mistakesInFiles_areAnalysed_withTheirLine() throws IOException {
    Path file = folder.resolve("limits.yml");
    Files.writeString(file, "LoginsPerIPAddress: {burst: 3, count: 3}\n");
    application
        .withPropertyValues("sluice.files.limits=" + file)
        .run(
            context ->
                assertThat(analysis(context.getStartupFailure()))
                    .contains("limits.yml:1:1: the field period is missing")
                    .contains("sluice lint"));
  }

  private WebApplicationContextRunner withBook(String rules) throws IOException {
    Path limits = folder.resolve("limits.yml");
    Path book = folder.resolve("rules.yml");
    Files.writeString(limits, "LoginsPerIPAddress: {burst: 2, count: 2, period: 1m}\n");
    Files.writeString(book, rules);
    return new WebApplicationContextRunner()
        .withConfiguration(ALL)
        .withPropertyValues(
            "sluice.files.limits=" + limits,
            "sluice.files.reload=10ms",
            "sluice.rules=file:" + book);
  }

  private static int status(RateLimitFilter filter, String path) throws Exception {
    MockHttpServletRequest request = new MockHttpServletRequest("POST", path);
    MockHttpServletResponse response = new MockHttpServletResponse();
    filter.doFilter(request, response, new MockFilterChain());
    return response.getStatus();
  }

  @Test
  void costBesideAnEstimate_isAMistake_alsoTheUsualCost() {
    new WebApplicationContextRunner()
        .withConfiguration(ALL)
        .withPropertyValues(LOGINS)
        .withPropertyValues(RULE)
        .withPropertyValues("sluice.filter.rules[0].estimate=2", "sluice.filter.rules[0].cost=1")
        .run(
            context ->
                assertThat(analysis(context.getStartupFailure()))
                    .contains("sluice.filter.rules[0].estimate: found both cost and estimate"));
  }

  @Test
  void estimateOfARule_isReplacedByTheCostThatTheHandlerSets() {
    new WebApplicationContextRunner()
        .withConfiguration(ALL)
        .withPropertyValues(LOGINS)
        .withPropertyValues(RULE)
        .withPropertyValues("sluice.filter.rules[0].estimate=2")
        .run(
            context -> {
              RateLimitFilter filter =
                  (RateLimitFilter) context.getBean(FilterRegistrationBean.class).getFilter();
              filter.doFilter(
                  new MockHttpServletRequest("POST", "/login"),
                  new MockHttpServletResponse(),
                  (request, response) -> RateLimitFilter.cost(request, 1));
              assertThat(
                      context
                          .getBean(Limiter.class)
                          .check("LoginsPerIPAddress", "127.0.0.1", 0)
                          .remaining())
                  .isEqualTo(1);
            });
  }

  @Test
  void ruleBook_makesAFilter_andIsFollowed() throws IOException {
    withBook("rules: [{path: /login, limit: LoginsPerIPAddress, id: \"{ip}\"}]\n")
        .run(
            context -> {
              RateLimitFilter filter =
                  (RateLimitFilter) context.getBean(FilterRegistrationBean.class).getFilter();
              assertThat(
                      List.of(
                          status(filter, "/login"),
                          status(filter, "/login"),
                          status(filter, "/login")))
                  .containsExactly(200, 200, 429);
              assertThat(status(filter, "/other")).isEqualTo(200);
              Files.writeString(
                  folder.resolve("rules.yml"), "rules: [{path: /other, deny: true}]\n");
              await().atMost(Duration.ofMinutes(1)).until(() -> status(filter, "/other") == 429);
              assertThat(status(filter, "/login")).isEqualTo(200);
            });
  }

  @Test
  void ruleBookBesideRulesOfTheFilter_namesBothProperties() throws IOException {
    withBook("rules: [{path: /login, limit: LoginsPerIPAddress, id: \"{ip}\"}]\n")
        .withPropertyValues(RULE)
        .run(
            context ->
                assertThat(analysis(context.getStartupFailure()))
                    .contains("sluice.rules: found a rule book and sluice.filter.rules")
                    .contains("Keep the rules in the book"));
  }

  @Test
  void ruleBookWithoutFilesOfLimits_orWithoutRulesForRequests_isAnalysed() throws IOException {
    application
        .withPropertyValues(LOGINS)
        .withPropertyValues("sluice.rules=classpath:rules.yml")
        .run(
            context ->
                assertThat(analysis(context.getStartupFailure()))
                    .contains("sluice.rules: found a rule book without files of limits"));
    withBook("rules: [{entries: [a], deny: true}]\n")
        .run(
            context ->
                assertThat(analysis(context.getStartupFailure()))
                    .contains("sluice.rules: found no rule for requests"));
  }

  /** A limit that is known and has no default, named by a rule and by an annotation. */
  private static WebApplicationContextRunner forgetful(String... properties) {
    return new WebApplicationContextRunner()
        .withConfiguration(ALL)
        .withPropertyValues(LOGINS)
        .withPropertyValues(
            "sluice.filter.rules[0].path=/login",
            "sluice.filter.rules[0].limit=SignUpsPerIPAddress",
            "sluice.filter.rules[0].id=ip")
        .withPropertyValues(properties);
  }

  static class Forgetful {
    @RateLimited(limit = "SignUpsPerIPAddress", id = "#address")
    String call(String address) {
      return address;
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "sluice.missing-default=refuse"})
  void missingDefault_isRefused_unlessAllowed(String property) {
    forgetful(property)
        .run(
            context ->
                assertThat(analysis(context.getStartupFailure()))
                    .contains(
                        "SignUpsPerIPAddress has no default, but the rule /login requires one"));
    forgetful(property, "sluice.filter.enabled=false")
        .withBean(Forgetful.class)
        .run(
            context ->
                assertThat(analysis(context.getStartupFailure()))
                    .contains("Forgetful.call: the limit SignUpsPerIPAddress has no default"));
  }

  @ParameterizedTest
  @CsvSource({"warn, 2", "allow, 0", "WARN, 2"})
  void missingDefault_thatIsAllowed_letsPass(String word, int warnings) {
    List<String> warned = new CopyOnWriteArrayList<>();
    Logger logger = Logger.getLogger("dev.sluice.limit.CurrentLimits");
    Handler handler =
        new Handler() {
          @Override
          public void publish(LogRecord line) {
            warned.add(line.getMessage());
          }

          @Override
          public void flush() {}

          @Override
          public void close() {}
        };
    logger.addHandler(handler);
    logger.setLevel(Level.WARNING); // Spring Boot may have left a higher level in this JVM
    try {
      forgetful("sluice.missing-default=" + word)
          .withBean(Forgetful.class)
          .run(
              context -> {
                assertThat(context).hasNotFailed();
                Forgetful service = context.getBean(Forgetful.class);
                for (int i = 0; i < 3; i++) {
                  assertThat(service.call("192.0.2.7")).isEqualTo("192.0.2.7");
                }
                CurrentLimits limits = context.getBean(CurrentLimits.class);
                assertThat(limits.unmet(limits.get()))
                    .extracting(Requirement::limit)
                    .containsExactly("SignUpsPerIPAddress", "SignUpsPerIPAddress");
              });
    } finally {
      logger.setLevel(null);
      logger.removeHandler(handler);
    }
    assertThat(warned)
        .hasSize(warnings)
        .allMatch(line -> line.startsWith("SignUpsPerIPAddress has no default"));
  }

  static class Costly {
    @RateLimited(
        limit = "Reports",
        id = {"#user", "#user"},
        cost = "5")
    String call(String user) {
      return user;
    }
  }

  @Test
  void limitsThatAnAnnotationDoesNotFit_areRefused() {
    Quota five = Quota.per(5, Duration.ofMinutes(1));
    IdFormat pair = IdFormat.joined(IdFormat.string(), IdFormat.string());
    Limits good = reports(pair, five);
    application
        .withBean(CurrentLimits.class, () -> new CurrentLimits(good))
        .withBean(Costly.class)
        .withPropertyValues("sluice.missing-default=allow")
        .run(
            context -> {
              CurrentLimits limits = context.getBean(CurrentLimits.class);
              for (Limits bad :
                  List.of(
                      reports(pair, Quota.per(4, Duration.ofMinutes(1))),
                      reports(IdFormat.string(), five),
                      Limits.builder(Catalogue.samples()).build())) {
                assertThatThrownBy(() -> limits.replace(bad))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContainingAll("@RateLimited on ", "Costly.call: ");
                assertThat(limits.get()).isSameAs(good);
              }
            });
  }

  private static Limits reports(IdFormat id, Quota quota) {
    Catalogue names = Catalogue.of(LimitName.builder("Reports").id(id).build());
    return Limits.builder(names).limit("Reports", quota).build();
  }

  /** An id of 0123 in YAML is the number 83. */
  @Test
  void overrideOfAnIdWithoutQuotes_isRefused() throws IOException {
    String yaml =
        "sluice.overrides: [{ApiCallsPerKey: {burst: 9, count: 9, period: 1m, ids: [%s]}}]\n";
    for (String id : List.of("0123", "1e3", "on", "1:30", "\"0123\"")) {
      PropertySource<?> source =
          new YamlPropertySourceLoader()
              .load("yaml", new ByteArrayResource(yaml.formatted(id).getBytes(UTF_8)))
              .get(0);
      application
          .withInitializer(
              context -> context.getEnvironment().getPropertySources().addFirst(source))
          .withPropertyValues(LOGINS)
          .run(
              context -> {
                if (id.startsWith("\"")) {
                  assertThat(context).hasNotFailed();
                } else {
                  assertThat(analysis(context.getStartupFailure()))
                      .contains(
                          "sluice.overrides[0].ApiCallsPerKey.ids[0]: found ",
                          "expected a text in quotes");
                }
              });
    }
  }

  /** Two applications in one process can share their limits. */
  @Test
  void applicationThatIsClosedTwice_releasesOnlyItsOwnRequirements() {
    Limits without = Limits.builder(Catalogue.samples()).build();
    CurrentLimits shared =
        new CurrentLimits(
            Limits.builder(Catalogue.samples())
                .limit("SignUpsPerIPAddress", Quota.per(7, Duration.ofMinutes(1)))
                .build());
    ApplicationContextRunner annotated =
        application.withBean(CurrentLimits.class, () -> shared).withBean(Forgetful.class);
    annotated.run(
        open -> {
          assertThat(open).hasNotFailed();
          annotated.run(closed -> closed.getBean(RateLimitedMethods.class).close());
          assertThatThrownBy(() -> shared.replace(without))
              .isInstanceOf(MissingDefaultException.class);
        });
    shared.replace(without);
    assertThat(shared.get()).isEqualTo(without);
  }

  /** Which may be away, and lists two processes. */
  private static final class SharedStore implements BucketStore {

    private final BucketStore memory = BucketStore.inMemory();
    private volatile boolean away;
    private volatile boolean broken = true; // as where a driver's class is missing

    @Override
    public List<Reading> charge(List<Charge> charges) {
      if (away) {
        throw new StoreException("away");
      }
      return memory.charge(charges);
    }

    @Override
    public Optional<Presence> presence() {
      return Optional.of(
          (process, time) -> {
            if (broken) {
              broken = false;
              throw new NoClassDefFoundError("once");
            }
            return List.of(process, "another process");
          });
    }
  }

  @Test
  @Tag("slow")
  void localAuto_dividesByTheProcessesListed_andAtLeastByTheProperty() {
    SharedStore store = new SharedStore();
    ApplicationContextRunner counting =
        application
            .withBean(BucketStore.class, () -> store)
            .withPropertyValues(
                "sluice.limits.LoginsPerIPAddress.burst=10",
                "sluice.limits.LoginsPerIPAddress.count=10",
                "sluice.limits.LoginsPerIPAddress.period=24h",
                "sluice.on-failure.default=local:auto");
    counting.run(
        two ->
            counting
                .withPropertyValues("sluice.on-failure.local-at-least=5")
                .run(
                    five -> {
                      await()
                          .atMost(Duration.ofMinutes(1))
                          .until(
                              () ->
                                  two.getBean(AnnouncedProcess.class).number() == 2
                                      && five.getBean(AnnouncedProcess.class).number() == 5);
                      store.away = true;
                      assertThat(allowed(two.getBean(Limiter.class))).isEqualTo(5);
                      assertThat(allowed(five.getBean(Limiter.class))).isEqualTo(2);
                      store.away = false; // so that the contexts close as usual
                    }));
  }

  private static int allowed(Limiter limiter) {
    int allowed = 0;
    for (int i = 0; i < 10; i++) {
      allowed += limiter.spend("LoginsPerIPAddress", "192.0.2.1").allowed() ? 1 : 0;
    }
    return allowed;
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "sluice.on-failure.default=local/4      | found \"local/4\", expected fail, allow, deny, local:N for N processes that share the limits, such as local:4, | Write fail",
        "sluice.store=rdis://x                  | sluice.store: | Write memory, spring.data.redis",
        "sluice.store=memroy | sluice.store: found \"memroy\", expected memory, | Correct sluice.store",
        "sluice.store=redis  | sluice.store: found \"redis\", expected memory, | Correct sluice.store",
        "sluice.on-failure.default=maybe        | sluice.on-failure.default: found \"maybe\" | Write fail",
        "sluice.on-failure.default=local:auto   | local:auto counts the processes in a shared store that decides by its own clock | Write the number",
        "sluice.on-failure.local-at-least=0     | sluice.on-failure.local-at-least: found 0, expected at least 1 | Write the smallest",
        "sluice.on-failure.limits.Nope=allow    | sluice.on-failure.limits.Nope: | Write fail",
        "sluice.files.reload=-1s                | sluice.files.reload: found PT-1S | Write the interval",
        "sluice.files.reload=999999d            | sluice.files.reload: found PT23999976H | Write the interval",
        "sluice.files.limits=classpath:none.yml | none.yml:1:1: | Correct the limit files",
      })
  void mistakeInAProperty_isAnalysed(String property, String problem, String action) {
    String[] limits = property.startsWith("sluice.files") ? new String[0] : LOGINS;
    application
        .withPropertyValues(limits)
        .withPropertyValues(property.strip())
        .run(
            context ->
                assertThat(analysis(context.getStartupFailure()))
                    .contains(problem.strip())
                    .contains("-> " + action.strip()));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "sluice.filter.ruls[0].path     | sluice.filter.ruls           | one of client-address, enabled, headers, ignore-case, method-override, order, rules",
        "sluice.filter.rules.path       | sluice.filter.rules.path     | a list, sluice.filter.rules[0] and so on",
        "sluice.filter.rules[0].methds  | sluice.filter.rules[0].methds | one of cost, count-all-but, count-all-but-success, count-only, estimate, id, ignore-case, limit, method-override, methods, path, shadow",
        "sluice.store.address           | sluice.store.address         | nothing below sluice.store",
        "sluice.enabeld                 | sluice.enabeld               | one of annotation, enabled, endpoint,",
      })
  void unknownProperty_isAnalysed_withThoseThatThereAre(
      String property, String unknown, String expected) {
    new WebApplicationContextRunner()
        .withConfiguration(ALL)
        .withPropertyValues(LOGINS)
        .withPropertyValues(property.contains("rules.path") ? new String[0] : RULE)
        .withPropertyValues(property + "=x")
        .run(
            context ->
                assertThat(analysis(context.getStartupFailure()))
                    .contains(unknown + " (")
                    .contains("): found an unknown property, expected " + expected)
                    .contains("-> Correct these properties"));
  }

  /** As an application starts: the report of the first start names what four starts would. */
  @Test
  void allMistakesOfAnApplication_areInOneReport() {
    String[] mistakes = {
      "sluice.limits.LoginsPerIPAddress.burst=5",
      "sluice.limits.LoginsPerIPAddress.count=5",
      "sluice.limits.LoginsPerIPAddress.perid=1m",
      "sluice.filtr.order=3",
      "sluice.filter.ordr=3",
      "sluice.filter.order=first",
      "sluice.filter.headers=ietff",
      "sluice.endpoint.reset=maybe",
      "sluice.files.reload=ten",
      "sluice.filter.rules[0].path=/login",
      "sluice.filter.rules[0].limit=LoginsPerIP",
      "sluice.filter.rules[0].id=ip",
      "sluice.filter.rules[1].path=/login",
      "sluice.filter.rules[1].limit=LoginsPerIPAddress",
      "sluice.filter.rules[1].id=ipp",
      "sluice.filter.rules[2].path=login",
      "sluice.filter.rules[2].limit=LoginsPerIPAddress",
      "sluice.filter.rules[2].id=heder:X",
      "sluice.filter.rules[2].count-only=4o1",
      "sluice.filter.client-address.header=forwarded"
    };
    String report = report(mistakes);
    assertThat(report)
        .contains("sluice.filtr (", "expected one of annotation,", "did you mean \"filter\"?")
        .contains("sluice.filter.ordr (", "did you mean \"order\"?")
        .contains("sluice.filter.order (", "found \"first\", expected a whole number")
        .contains("sluice.filter.headers (", "did you mean \"ietf\"?")
        .contains("sluice.endpoint.reset (", "found \"maybe\", expected true or false")
        .contains("sluice.files.reload (", "found \"ten\", expected a time such as 10s")
        .contains("sluice.filter.rules[2].count-only (", "found \"4o1\", expected a list")
        .contains("sluice.limits.LoginsPerIPAddress", "did you mean \"period\"?")
        .contains("sluice.filter.rules[0].limit: no limit has the name \"LoginsPerIP\"")
        .contains("sluice.filter.rules[1].id: found \"ipp\"")
        .contains("sluice.filter.rules[2].path: found \"login\"")
        .contains("sluice.filter.rules[2].id: found \"heder:X\"")
        .contains("sluice.filter.client-address: found one of header and trusted-proxies");
    assertThat(report.lines().filter(line -> line.startsWith("sluice."))).doesNotHaveDuplicates();
  }

  @Test
  void mistakesBehindTheFirst_areInItsReport_whereLimitsAreRight() {
    List<String> properties = new ArrayList<>(List.of(LOGINS));
    properties.addAll(
        List.of(
            "sluice.on-failure.default=alow",
            "sluice.filter.rules[0].path=/a",
            "sluice.filter.rules[0].limit=LoginsPerIPAdress",
            "sluice.filter.rules[0].id=ip",
            "sluice.filter.rules[1].path=/b",
            "sluice.filter.rules[1].limit=LoginsPerIPAddress",
            "sluice.filter.rules[1].id=ip",
            "sluice.filter.rules[1].cost=3"));
    assertThat(report(properties.toArray(String[]::new)))
        .contains("sluice.on-failure.default: found \"alow\"")
        .contains(
            "sluice.filter.rules[0].limit: no limit has the name \"LoginsPerIPAdress\"; did you mean \"LoginsPerIPAddress\"?")
        .contains("sluice.filter.rules[1].cost: found the cost 3")
        .containsOnlyOnce("cost 3");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "user      | sluice.filter.rules[0].id: found \"user\", expected ip, ",
        "Principal | method, host, principal or constant:TEXT; did you mean \"principal\"?",
        "const:x   | method, host, principal or constant:TEXT",
      })
  void unknownIdOfARule_isAnalysed_withAllWordsThatThereAre(String id, String expected) {
    List<String> properties = new ArrayList<>(List.of(LOGINS));
    properties.addAll(List.of(RULE).subList(0, 3));
    properties.add("sluice.filter.rules[0].id=" + id);
    assertThat(report(properties.toArray(String[]::new))).contains(expected);
  }

  @Test
  void mistakesOfAllRules_andOfAllTheirFields_areInOneReport_eachWithItsProperty() {
    List<String> properties = new ArrayList<>(List.of(LOGINS));
    properties.addAll(
        List.of(
            "sluice.names[0].name=LoginsPerIPAddress",
            "sluice.names[0].number=101",
            "sluice.names[0].id=ipAddress",
            "sluice.names[1].name=Unlimited",
            "sluice.names[1].number=102",
            "sluice.names[1].id=string",
            "sluice.filter.rules[0].path=/users/{user}",
            "sluice.filter.rules[0].methods=post",
            "sluice.filter.rules[0].limit=LoginsPerIPAddress",
            "sluice.filter.rules[0].id=path:users",
            "sluice.filter.rules[0].cost=3",
            "sluice.filter.rules[0].count-only=401",
            "sluice.filter.rules[0].count-all-but=99",
            "sluice.filter.rules[1].path[0]=/right",
            "sluice.filter.rules[1].path[1]=wrong",
            "sluice.filter.rules[1].limit=LoginsPerIPAdress",
            "sluice.filter.rules[1].cost=-1",
            "sluice.filter.rules[1].estimate=0",
            "sluice.filter.rules[2].path=/right",
            "sluice.filter.rules[2].limit=LoginsPerIPAddress",
            "sluice.filter.rules[2].id[0]=ip",
            "sluice.filter.rules[2].id[1]=heder:X",
            "sluice.filter.rules[3].limit=Unlimited",
            "sluice.filter.rules[3].id=path:user",
            "sluice.filter.rules[4].path=/right",
            "sluice.filter.rules[4].id=ip"));
    String cost = "estimate: found both cost and estimate, expected only one";
    assertThat(report(properties.toArray(String[]::new)).lines())
        .filteredOn(line -> line.startsWith("sluice."))
        .satisfiesExactly(
            line -> assertThat(line).startsWith(rule(0, "methods: found \"post\", expected an")),
            line -> assertThat(line).startsWith(rule(0, "id: limit LoginsPerIPAddress: found the")),
            line -> assertThat(line).startsWith(rule(0, "cost: found the cost 3 for LoginsPerIP")),
            line -> assertThat(line).startsWith(rule(0, "count-only: found several of count-only")),
            line -> assertThat(line).startsWith(rule(0, "count-all-but: found [99], expected")),
            line -> assertThat(line).startsWith(rule(1, "path: found \"wrong\", expected a path")),
            line ->
                assertThat(line).startsWith(rule(1, "limit: no limit has the name \"LoginsPer")),
            line -> assertThat(line).startsWith(rule(1, "id: the source of the id is missing")),
            line -> assertThat(line).startsWith(rule(1, "cost: found -1, expected at least 0")),
            line -> assertThat(line).isEqualTo(rule(1, cost)),
            line -> assertThat(line).startsWith(rule(1, "estimate: found 0, expected 1 or more")),
            line -> assertThat(line).startsWith(rule(2, "id: found \"heder:X\", expected")),
            line -> assertThat(line).startsWith(rule(2, "id: found 2 part(s) for an id of Logins")),
            line ->
                assertThat(line).startsWith(rule(3, "path: the rule has no path; add at least")),
            line -> assertThat(line).startsWith(rule(3, "limit: Unlimited has no default, but")),
            line ->
                assertThat(line).startsWith(rule(4, "limit: the name of the limit is missing")));
  }

  private static String rule(int index, String mistake) {
    return "sluice.filter.rules[%s].%s".formatted(index, mistake);
  }

  @Test
  void mistakesInTheSettingsOfADatabase_areInOneReport_eachWithItsProperty() {
    for (String store : List.of("postgresql://localhost/shop", "spring.datasource")) {
      assertThat(
              report(
                  "sluice.limits.LoginsPerIPAddress.brst=1",
                  "sluice.store=" + store,
                  "sluice.postgres.durability=asink",
                  "sluice.postgres.connections=0"))
          .contains("did you mean \"burst\"?")
          .contains("sluice.postgres.durability: found \"asink\", expected unlogged, async or sync")
          .contains("sluice.postgres.connections: found 0, expected 1 to ")
          .doesNotContain("sluice.store");
    }
    assertThat(
            report(
                "sluice.limits.LoginsPerIPAddress.brst=1",
                "sluice.store=mariadb://localhost/shop",
                "sluice.mariadb.connections=0"))
        .contains("sluice.mariadb.connections: found 0, expected 1 to ");
    assertThat(report("sluice.limits.LoginsPerIPAddress.brst=1", "sluice.store=postgresql:shop"))
        .contains("did you mean \"burst\"?")
        .contains("sluice.store: ");
  }

  @Test
  void mistakesInTheStore_andTheInterval_areInTheReportOfAnEarlierOne() {
    assertThat(
            report(
                "sluice.limits.LoginsPerIPAddress.brst=1",
                "sluice.store=rdis://x",
                "sluice.files.reload=-1s",
                "sluice.on-failure.default=alow"))
        .contains("did you mean \"burst\"?")
        .contains("sluice.store: store rdis://x: found scheme")
        .contains("sluice.files.reload: found PT-1S, expected 0 to 292 years")
        .contains("sluice.on-failure.default: found \"alow\"");
  }

  static class Annotated {
    @RateLimited(limit = "LoginsPerIPAdress", id = "#ip")
    void mistaken(String ip) {}

    @RateLimited(limit = "LoginsPerIPAddress", id = "#address")
    void alsoMistaken(String ip) {}
  }

  @Test
  void mistakesInAnnotations_areInTheReportOfAnEarlierOne() {
    String[] goodLimits = Arrays.copyOf(LOGINS, LOGINS.length + 1);
    goodLimits[LOGINS.length] = "sluice.on-failure.default=alow";
    assertThat(report(goodLimits))
        .contains("sluice.on-failure.default: found \"alow\"")
        .contains("Annotated.mistaken: no limit has the name \"LoginsPerIPAdress\"")
        .contains("Annotated.alsoMistaken: id: found #address in \"#address\"");
    assertThat(report("sluice.limits.LoginsPerIPAddress.brst=1"))
        .contains("did you mean \"burst\"?")
        .contains("Annotated.mistaken: no limit has the name \"LoginsPerIPAdress\"")
        .contains("did you mean \"LoginsPerIPAddress\"?")
        .doesNotContain("alsoMistaken");
  }

  @Test
  void limitsDeclaredInPlace_areKnown_whereAnotherLimitIsWrong() {
    String[] properties = {
      "sluice.limits.LoginsPerIPAdress.id=ipAddress",
      "sluice.limits.LoginsPerIPAdress.burst=1",
      "sluice.limits.LoginsPerIPAdress.count=1",
      "sluice.limits.LoginsPerIPAdress.period=1m",
      "sluice.limits.LoginsPerIPAddress.brst=1",
      "sluice.filter.rules[0].path=/a",
      "sluice.filter.rules[0].limit=LoginsPerIPAdress",
      "sluice.filter.rules[0].id=ip"
    };
    assertThat(report(properties))
        .contains("did you mean \"burst\"?")
        .doesNotContain("no limit has the name");
  }

  private static String report(String... properties) {
    StandardEnvironment environment = new StandardEnvironment();
    TestPropertyValues.of(properties).applyTo(environment);
    AtomicReference<String> report = new AtomicReference<>();
    AtomicReference<BeanFactory> beans = new AtomicReference<>();
    new WebApplicationContextRunner()
        .withConfiguration(ALL)
        .withPropertyValues(properties)
        .withBean(Annotated.class)
        .withInitializer(context -> beans.set(context.getBeanFactory()))
        .run(
            context ->
                report.set(
                    Analyses.of(context.getStartupFailure(), environment, beans.get())
                        .getDescription()));
    return report.get();
  }

  @Test
  void listThatDoesNotBegin_isAnalysed() {
    new WebApplicationContextRunner()
        .withConfiguration(ALL)
        .withPropertyValues(LOGINS)
        .withInitializer(file(RULE))
        .withInitializer(variables(Map.of("SLUICE_FILTER_RULES_1_COST", "2")))
        .run(
            context ->
                assertThat(analysis(context.getStartupFailure()))
                    .contains("sluice.filter.rules[1].cost")
                    .contains("found an element of a list, but the element before it is missing")
                    .contains("-> Write the whole list, from sluice.filter.rules[0] on"));
  }

  @Test
  void storeWithoutItsModule_saysWhatToAdd() {
    application
        .withClassLoader(new FilteredClassLoader(RedisStore.class, BucketStore.Observer.class))
        .withPropertyValues("sluice.store=redis://localhost")
        .run(
            context ->
                assertThat(analysis(context.getStartupFailure()))
                    .contains("-> Add the dependency dev.sluice:sluice-redis"));
    application
        .withClassLoader(new FilteredClassLoader(RedisStore.class, BucketStore.Observer.class))
        .withPropertyValues("sluice.store=redi")
        .run(
            context ->
                assertThat(analysis(context.getStartupFailure()))
                    .contains("sluice.store: found \"redi\", expected memory, spring.data.redis,")
                    .contains("-> Correct sluice.store"));
  }

  @Test
  void beansOfTheUser_areUsed() {
    application
        .withUserConfiguration(OwnBeans.class)
        .run(
            context -> {
              assertThat(context).hasSingleBean(BucketStore.class);
              assertThat(context).doesNotHaveBean(LimitSource.class);
              Limiter limiter = context.getBean(Limiter.class);
              assertThat(limiter.spend("ApiCallsPerKey", "a").remaining()).isEqualTo(6);
            });
  }

  /** As of a test with a store of its own, beside the properties of production. */
  @Test
  void emptyPropertiesOfAStore_besideAStoreOfTheApplication_areNoMistake() {
    application
        .withPropertyValues("sluice.store=memory", "sluice.redis.prefix=")
        .withUserConfiguration(OwnBeans.class)
        .run(
            context -> {
              assertThat(context).hasNotFailed();
              new ApplicationContextRunner()
                  .withConfiguration(AutoConfigurations.of(SluiceAutoConfiguration.class))
                  .withPropertyValues("sluice.store=redis://localhost")
                  .withParent(context)
                  .run(child -> assertThat(child).as("the parent's store").hasNotFailed());
            });
  }

  @ParameterizedTest
  @CsvSource({
    "sluice.store=redis://localhost, sluice.store",
    "sluice.redis.prefix=shop:, sluice.redis.prefix",
    "sluice.postgres.create=true, sluice.postgres.create",
    "sluice.mariadb.prefix=shop:, sluice.mariadb.prefix",
    "sluice.mariadb.connections=8, sluice.mariadb.connections",
    "sluice.postgres.connections=8, sluice.postgres.connections",
  })
  void propertyOfAStore_besideAStoreOfTheApplication_stopsTheStart(String property, String named) {
    application
        .withPropertyValues(property)
        .withUserConfiguration(OwnBeans.class)
        .run(
            context ->
                assertThat(analysis(context.getStartupFailure()))
                    .contains(
                        named + ": found this property and a bean of type BucketStore, which does")
                    .contains("-> Remove the properties"));
  }

  @Configuration(proxyBeanMethods = false)
  static class OwnBeans {
    @Bean
    Limits limits() {
      return Limits.builder(Catalogue.samples())
          .limit("ApiCallsPerKey", Quota.per(7, Duration.ofMinutes(1)))
          .build();
    }

    @Bean
    BucketStore store() {
      return BucketStore.inMemory();
    }
  }

  @Test
  void switchedOff_hasNoBeans() {
    application
        .withPropertyValues("sluice.enabled=false")
        .run(context -> assertThat(context).doesNotHaveBean(Limiter.class));
  }

  /** Even for limiters of the application. */
  @Test
  void switchedOff_startsWithBeansOfTheUser_andHasNoOthers() {
    application
        .withPropertyValues(
            "sluice.enabled=false", "management.endpoints.web.exposure.include=sluice")
        .withBean(MeterRegistry.class, SimpleMeterRegistry::new)
        .withUserConfiguration(OwnBeans.class)
        .withBean(
            Limiter.class,
            () ->
                Limiter.builder(new CurrentLimits(new OwnBeans().limits()), BucketStore.inMemory())
                    .build())
        .run(
            context -> {
              assertThat(context).hasNotFailed();
              assertThat(context)
                  .doesNotHaveBean(RateLimitedMethods.class)
                  .doesNotHaveBean(SluiceEndpoint.class)
                  .doesNotHaveBean(LimiterMetrics.class);
            });
  }

  @Test
  void withoutLimits_starts() {
    application.run(context -> assertThat(context).hasSingleBean(Limiter.class));
  }

  @Test
  void metrics_areThere_whereARegistryIs() {
    application
        .withPropertyValues(LOGINS)
        .withBean(MeterRegistry.class, SimpleMeterRegistry::new)
        .run(
            context -> {
              assertThat(context).hasSingleBean(LimiterMetrics.class);
              var unused = context.getBean(Limiter.class).spend("LoginsPerIPAddress", "192.0.2.1");
              assertThat(context.getBean(MeterRegistry.class).getMeters())
                  .anyMatch(meter -> meter.getId().getName().startsWith("ratelimits."));
            });
    application
        .withClassLoader(new FilteredClassLoader(MeterRegistry.class))
        .run(context -> assertThat(context).doesNotHaveBean(LimiterMetrics.class));
  }

  @ParameterizedTest
  @ValueSource(strings = {"10ms", "0"})
  void metrics_sayWhenFilesAndOverridesWereLoaded_andTheirMistakes(String reload)
      throws IOException {
    Path limits = folder.resolve("limits.yml");
    Path overrides = folder.resolve("overrides.yml");
    Files.writeString(limits, "LoginsPerIPAddress: {burst: 3, count: 3, period: 1m}\n");
    Files.writeString(
        overrides, "- LoginsPerIPAddress: {burst: 9, count: 9, period: 1m, ids: [192.0.2.1]}\n");
    application
        .withPropertyValues(
            "sluice.files.limits=" + limits,
            "sluice.files.overrides=" + overrides,
            "sluice.files.reload=" + reload)
        .withBean(MeterRegistry.class, SimpleMeterRegistry::new)
        .run(
            context -> {
              MeterRegistry registry = context.getBean(MeterRegistry.class);
              assertThat(gauge(registry, "ratelimits.limit.files.timestamp.seconds")).isFinite();
              assertThat(gauge(registry, "ratelimits.overrides.timestamp.seconds")).isFinite();
              if (!reload.equals("0")) {
                Files.writeString(overrides, "- LoginsPerIPAddress: 1\n");
                await()
                    .atMost(Duration.ofMinutes(1))
                    .until(() -> gauge(registry, "ratelimits.overrides.errors") == 1);
                Files.writeString(overrides, "[]\n");
                Files.writeString(limits, "LoginsPerIPAddress: 1\n");
                await()
                    .atMost(Duration.ofMinutes(1))
                    .until(
                        () ->
                            gauge(registry, "ratelimits.overrides.errors") == 0
                                && gauge(registry, "ratelimits.limit.files.errors") == 1);
              }
            });
  }

  @Test
  void metrics_sayWhenLimitsInPropertiesWereLoaded_notThoseOfTheApplication() {
    ApplicationContextRunner metered =
        application.withBean(MeterRegistry.class, SimpleMeterRegistry::new);
    metered
        .withPropertyValues(LOGINS)
        .run(context -> assertThat(limitsLoadedAt(context)).isFinite());
    metered
        .withUserConfiguration(OwnBeans.class)
        .run(context -> assertThat(limitsLoadedAt(context)).isNaN());
  }

  private static double limitsLoadedAt(ApplicationContext context) {
    return gauge(context.getBean(MeterRegistry.class), "ratelimits.limit.files.timestamp.seconds");
  }

  @Test
  void mistakeInTheLimits_leavesTheMistakesOfATableOfOverrides() throws IOException {
    Path limits = folder.resolve("limits.yml");
    Files.writeString(limits, "LoginsPerIPAddress: {burst: 3, count: 3, period: 1m}\n");
    application
        .withPropertyValues("sluice.files.limits=" + limits, "sluice.files.reload=10ms")
        .withBean(MeterRegistry.class, SimpleMeterRegistry::new)
        .run(
            context -> {
              MeterRegistry registry = context.getBean(MeterRegistry.class);
              context.getBean(LimiterMetrics.class).overridesFailed(2);
              Files.writeString(limits, "LoginsPerIPAddress: 1\n");
              await()
                  .atMost(Duration.ofMinutes(1))
                  .until(() -> gauge(registry, "ratelimits.limit.files.errors") == 1);
              assertThat(gauge(registry, "ratelimits.overrides.errors")).isEqualTo(2);
            });
  }

  private static double gauge(MeterRegistry registry, String name) {
    return registry.get(name).gauge().value();
  }

  @Test
  void rulesInProperties_makeTheFilter_ofEitherStack() {
    new WebApplicationContextRunner()
        .withConfiguration(ALL)
        .withPropertyValues(LOGINS)
        .run(context -> assertThat(context).doesNotHaveBean(FilterRegistrationBean.class));
    new WebApplicationContextRunner()
        .withConfiguration(ALL)
        .withPropertyValues(LOGINS)
        .withPropertyValues(RULE)
        .run(
            context -> {
              FilterRegistrationBean<?> filter = context.getBean(FilterRegistrationBean.class);
              assertThat(filter.getFilter()).isInstanceOf(RateLimitFilter.class);
              assertThat(filter.getOrder()).isEqualTo(-110);
            });
    new ReactiveWebApplicationContextRunner()
        .withConfiguration(ALL)
        .withPropertyValues(LOGINS)
        .withPropertyValues(RULE)
        .withPropertyValues("sluice.filter.order=5")
        .run(
            context ->
                assertThat(context.getBean(RateLimitWebFilter.class).getOrder()).isEqualTo(5));
  }

  @Test
  void rulesInProperties_besideAFilterOfTheApplication_stopTheStart() {
    String mistake = "sluice.filter.rules: found rules and a bean of type ";
    new WebApplicationContextRunner()
        .withConfiguration(ALL)
        .withPropertyValues(LOGINS)
        .withPropertyValues(RULE)
        .withBean(RateLimitFilter.class, () -> null)
        .run(
            context ->
                assertThat(analysis(context.getStartupFailure()))
                    .contains(mistake + "RateLimitFilter, "));
    new ReactiveWebApplicationContextRunner()
        .withConfiguration(ALL)
        .withPropertyValues(LOGINS)
        .withPropertyValues(RULE)
        .withBean(RateLimitWebFilter.class, () -> null)
        .run(
            context ->
                assertThat(analysis(context.getStartupFailure()))
                    .contains(mistake + "RateLimitWebFilter, "));
    new WebApplicationContextRunner()
        .withConfiguration(ALL)
        .withPropertyValues(LOGINS)
        .withPropertyValues(RULE)
        .withPropertyValues("sluice.filter.enabled=false")
        .withBean(RateLimitFilter.class, () -> null)
        .run(context -> assertThat(context).hasNotFailed());
  }

  /** A main file, and a profile that wins over it. */
  private static WebApplicationContextRunner profile(String... properties) {
    return new WebApplicationContextRunner()
        .withConfiguration(ALL)
        .withPropertyValues(LOGINS)
        .withInitializer(
            file(
                "sluice.filter.rules[0].path[0]=/login",
                "sluice.filter.rules[0].path[1]=/signin",
                "sluice.filter.rules[0].methods[0]=POST",
                "sluice.filter.rules[0].limit=LoginsPerIPAddress",
                "sluice.filter.rules[0].id=ip",
                "sluice.filter.rules[1].path[0]=/other",
                "sluice.filter.rules[1].methods[0]=POST",
                "sluice.filter.rules[1].limit=LoginsPerIPAddress",
                "sluice.filter.rules[1].id[0]=ip",
                "sluice.overrides[0].LoginsPerIPAddress.burst=5",
                "sluice.overrides[0].LoginsPerIPAddress.count=5",
                "sluice.overrides[0].LoginsPerIPAddress.period=1m",
                "sluice.overrides[0].LoginsPerIPAddress.ids[0]=192.0.2.1",
                "sluice.overrides[1].LoginsPerIPAddress.burst=5",
                "sluice.overrides[1].LoginsPerIPAddress.count=5",
                "sluice.overrides[1].LoginsPerIPAddress.period=1m",
                "sluice.overrides[1].LoginsPerIPAddress.ids[0]=192.0.2.2"))
        .withPropertyValues(properties);
  }

  @Test
  void listsOfTheMainFile_areReplacedByThoseOfAProfile_withFewerElements() {
    profile(
            "sluice.filter.rules[0].path[0]=/page",
            "sluice.filter.rules[0].limit=LoginsPerIPAddress",
            "sluice.filter.rules[0].id=ip",
            "sluice.overrides[0].LoginsPerIPAddress.burst=5",
            "sluice.overrides[0].LoginsPerIPAddress.count=5",
            "sluice.overrides[0].LoginsPerIPAddress.period=1m",
            "sluice.overrides[0].LoginsPerIPAddress.ids[0]=192.0.2.3")
        .run(
            context -> {
              assertThat(context).hasNotFailed();
              SluiceProperties properties = context.getBean(SluiceProperties.class);
              assertThat(properties.filter().rules())
                  .singleElement()
                  .satisfies(
                      rule -> {
                        assertThat(rule.path()).containsExactly("/page");
                        assertThat(rule.methods()).isEmpty();
                      });
              Limits limits = context.getBean(Limiter.class).limits().get();
              assertThat(limits.overridesOf(limits.catalogue().get("LoginsPerIPAddress")))
                  .hasSize(1);
            });
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "sluice.filter.rules[0].methds[0]",
        "sluice.filter.ruls[0].path[0]",
      })
  void unknownPropertyOfAProfile_isAnalysedAlone_whereItsListReplacesAnother(String unknown) {
    profile(
            "sluice.filter.rules[0].path[0]=/page",
            "sluice.filter.rules[0].limit=LoginsPerIPAddress",
            "sluice.filter.rules[0].id=ip",
            unknown + "=POST")
        .run(
            context ->
                assertThat(analysis(context.getStartupFailure()))
                    .contains(unknown.replace("[0].path[0]", "").replace("methds[0]", "methds"))
                    .containsOnlyOnce("found an unknown property")
                    .doesNotContain("[1]"));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "sluice.filter.rules[0].id=heder:X   | sluice.filter.rules[0].id: found \"heder:X\"",
        "sluice.filter.rules[0].limit=Logins | sluice.filter.rules[0].limit: no limit has the name",
        "sluice.filter.rules[0].cost=3       | sluice.filter.rules[0].cost: found the cost 3",
        "sluice.filter.rules[0].estimate=0   | sluice.filter.rules[0].estimate: found 0, expected 1",
        "sluice.filter.rules[0].path=login   | sluice.filter.rules[0].path: found \"login\"",
        "sluice.filter.client-address.header=forwarded | sluice.filter.client-address: found one of",
      })
  void mistakeInARule_isAnalysed(String property, String problem) {
    new WebApplicationContextRunner()
        .withConfiguration(ALL)
        .withPropertyValues(LOGINS)
        .withPropertyValues(RULE)
        .withPropertyValues(property.strip())
        .run(
            context -> assertThat(analysis(context.getStartupFailure())).contains(problem.strip()));
  }
}

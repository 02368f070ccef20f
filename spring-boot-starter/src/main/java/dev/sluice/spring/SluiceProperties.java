// SPDX-License-Identifier: Apache-2.0
package dev.sluice.spring;

import dev.sluice.FailureRule;
import dev.sluice.Limiter;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Limits.Requirement.MissingDefault;
import dev.sluice.web.HeaderProfile;
import dev.sluice.web.ProxyHeader;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.boot.context.properties.bind.Name;

/**
 * The properties of {@code sluice}. {@code limits}, {@code names} and {@code overrides} have the
 * same form as in limit files.
 */
@ConfigurationProperties(prefix = SluiceProperties.PREFIX, ignoreUnknownFields = false)
record SluiceProperties(
    @DefaultValue("true") boolean enabled,
    @Nullable Map<String, Object> limits,
    @Nullable List<Map<String, Object>> names,
    @Nullable List<Map<String, Object>> overrides,
    @DefaultValue Files files,
    @Nullable String rules,
    @DefaultValue(SluiceProperties.MEMORY) String store,
    @DefaultValue Redis redis,
    @DefaultValue Postgres postgres,
    @DefaultValue MariaDb mariadb,
    @DefaultValue OnFailure onFailure,
    @DefaultValue("refuse") MissingDefault missingDefault,
    @DefaultValue Filter filter,
    @DefaultValue Annotation annotation,
    @DefaultValue Endpoint endpoint) {

  static final String PREFIX = "sluice";

  static final String MEMORY = "memory";

  /** The name of the store that Spring Boot's properties for Redis configure. */
  static final String SPRING_DATA_REDIS = "spring.data.redis";

  /** The name of the store whose database Spring Boot's own properties configure. */
  static final String SPRING_DATASOURCE = "spring.datasource";

  /**
   * The limit files, and the interval for checking them; with the interval zero, the files are read
   * only once.
   */
  record Files(
      @Nullable String limits,
      @Nullable String overrides,
      @Nullable String names,
      @DefaultValue("10s") Duration reload) {

    boolean isEmpty() {
      return limits == null && overrides == null && names == null;
    }
  }

  /** The keys in Redis; a null prefix means the application's name. */
  record Redis(@Nullable String prefix) {}

  /** The buckets in PostgreSQL; a null prefix means the application's name. */
  record Postgres(
      @Nullable String prefix,
      @Nullable String durability,
      @Nullable Integer connections,
      @DefaultValue("false") boolean create) {}

  /** The buckets in MariaDB; a null prefix means the application's name. */
  record MariaDb(
      @Nullable String prefix,
      @Nullable Integer connections,
      @DefaultValue("false") boolean create) {}

  /**
   * The failure rules, which decide while the store does not reply, as {@link FailureRule#parse}
   * reads them. The rule {@code local:auto} divides limits by the number of processes, and at least
   * by {@code localAtLeast}.
   */
  record OnFailure(
      @DefaultValue("fail") @Name("default") String others,
      @DefaultValue Map<String, String> limits,
      @DefaultValue("1") int localAtLeast) {

    boolean count() {
      return Stream.concat(Stream.of(others), limits.values().stream())
          .anyMatch(rule -> rule.matches("local:auto(,.*)?"));
    }

    /**
     * Adds the rules to the builder; if rules have mistakes, throws an exception with all mistakes.
     */
    void apply(Limits configured, Limiter.Builder limiter, Binder binder) {
      List<String> problems = new ArrayList<>();
      try {
        limiter.onFailure(parseDefault());
      } catch (IllegalArgumentException e) {
        problems.add(String.valueOf(e.getMessage()));
      }
      RelaxedNames names =
          new RelaxedNames(configured.catalogue().names().stream().map(LimitName::name).toList());
      names
          .keys(limits, "sluice.on-failure.limits", binder)
          .forEach(
              (name, rule) -> {
                try {
                  limiter.onFailure(configured.catalogue().get(name), FailureRule.parse(rule));
                } catch (IllegalArgumentException e) {
                  problems.add("sluice.on-failure.limits.%s: %s".formatted(name, e.getMessage()));
                }
              });
      if (!problems.isEmpty()) {
        throw new SluiceConfigurationException(
            problems,
            "Write fail, allow, deny, local:PROCESSES or local:auto for a configured limit.");
      }
    }

    /**
     * Returns the failure rule for limits without their own failure rule; throws if the rule has a
     * mistake.
     */
    FailureRule parseDefault() {
      try {
        return FailureRule.parse(others);
      } catch (IllegalArgumentException e) {
        throw new IllegalArgumentException("sluice.on-failure.default: " + e.getMessage(), e);
      }
    }
  }

  /** The properties of the filter for requests. */
  record Filter(
      @DefaultValue("true") boolean enabled,
      @DefaultValue("-110") int order,
      @DefaultValue("ietf") HeaderProfile headers,
      @DefaultValue Client clientAddress,
      @DefaultValue("false") boolean ignoreCase,
      @DefaultValue("true") boolean methodOverride,
      @DefaultValue List<FilterRule> rules) {}

  /** How the filter finds the client's address. */
  record Client(
      @Nullable ProxyHeader header,
      @DefaultValue List<String> trustedProxies,
      @DefaultValue("64") int ipv6Prefix) {}

  /** A rule that determines which requests spend from a limit. */
  record FilterRule(
      @DefaultValue List<String> path,
      @DefaultValue List<String> methods,
      @Nullable Boolean ignoreCase,
      @Nullable Boolean methodOverride,
      @Nullable String limit,
      @DefaultValue List<String> id,
      @Nullable Long cost,
      @Nullable Long estimate,
      @DefaultValue List<Integer> countOnly,
      @DefaultValue List<Integer> countAllBut,
      @DefaultValue("false") boolean countAllButSuccess,
      @DefaultValue("false") boolean shadow) {}

  /** The properties of {@link RateLimited}. */
  record Annotation(@DefaultValue("true") boolean enabled) {}

  /** The properties of the actuator endpoint. */
  record Endpoint(@DefaultValue("false") boolean reset) {}
}

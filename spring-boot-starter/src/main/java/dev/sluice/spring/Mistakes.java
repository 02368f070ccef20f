// SPDX-License-Identifier: Apache-2.0
package dev.sluice.spring;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.Limiter;
import dev.sluice.internal.text.SafeText;
import dev.sluice.internal.text.Suggestion;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Limits.Requirement.MissingDefault;
import dev.sluice.store.BucketStore;
import dev.sluice.yaml.LimitFilesException;
import dev.sluice.yaml.LimitPropertiesException;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiConsumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.context.properties.bind.AbstractBindHandler;
import org.springframework.boot.context.properties.bind.BindContext;
import org.springframework.boot.context.properties.bind.BindHandler;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.ConfigurationPropertyName;
import org.springframework.core.env.Environment;
import org.springframework.core.io.DefaultResourceLoader;

/**
 * Finds all mistakes in the properties of {@code sluice} after the application failed to start. If
 * a bean fails, Spring creates no later beans, so mistakes in later beans would appear only at the
 * next start.
 */
final class Mistakes {

  /** Ignores values that cannot be bound, since Spring Boot has already reported these values. */
  private static final BindHandler LENIENT =
      new AbstractBindHandler() {
        @Override
        public @Nullable Object onFailure(
            ConfigurationPropertyName name,
            Bindable<?> target,
            BindContext context,
            Exception error) {
          return null;
        }
      };

  private final SluiceProperties properties;
  private final Environment environment;
  private final BeanFactory beans;
  private final List<String> found = new ArrayList<>();

  private Mistakes(SluiceProperties properties, Environment environment, BeanFactory beans) {
    this.properties = properties;
    this.environment = environment;
    this.beans = beans;
  }

  /** Returns all mistakes in limits, failure rules, filter rules and annotations, one per line. */
  static List<String> in(Environment environment, BeanFactory beans) {
    SluiceProperties properties =
        Binder.get(environment)
            .bind(SluiceProperties.PREFIX, Bindable.of(SluiceProperties.class), LENIENT)
            .orElse(null);
    if (properties == null || !properties.enabled()) {
      return List.of();
    }
    Mistakes mistakes = new Mistakes(properties, environment, beans);
    mistakes.find();
    return mistakes.found.stream().flatMap(String::lines).toList();
  }

  private void find() {
    findInStore();
    result(
        () -> {
          LimitReload.start(null, null, null, properties.files().reload(), null).close();
          return null;
        });
    LimitSource source = result(this::source);
    Limits limits = source == null ? null : result(source::load);
    if (limits == null) {
      List<String> names = source == null ? List.of() : source.names();
      result(() -> properties.onFailure().parseDefault());
      findInRules(null, names);
      if (!names.isEmpty()) {
        eachAnnotated((method, type) -> findUnknown(names, method, type));
      }
      return;
    }
    try (BucketStore store = BucketStore.inMemory()) {
      Limiter.Builder limiter =
          Limiter.builder(new CurrentLimits(limits), store)
              .missingDefault(properties.missingDefault());
      result(
          () -> {
            properties.onFailure().apply(limits, limiter, Binder.get(environment));
            return limiter;
          });
    }
    findInRules(limits, List.of());
    boolean needsDefaults = properties.missingDefault() == MissingDefault.REFUSE;
    eachAnnotated(
        (method, type) -> {
          var unused = new MethodParser(limits, needsDefaults, beans, method, type, found).parse();
        });
  }

  private void eachAnnotated(BiConsumer<Method, Class<?>> action) {
    if (properties.annotation().enabled() && beans instanceof ConfigurableListableBeanFactory all) {
      RateLimitedMethods.each(all, action);
    }
  }

  /** Finds unknown names of limits, even if the limits could not be loaded. */
  private void findUnknown(List<String> names, Method method, Class<?> type) {
    for (RateLimited annotation : RateLimitedMethods.annotations(method, type)) {
      String limit = annotation.limit();
      if (!names.contains(limit)) {
        found.add(
            "@RateLimited on %s.%s: no limit has the name %s%s"
                .formatted(
                    type.getName(),
                    method.getName(),
                    SafeText.quote(limit),
                    Suggestion.didYouMean(limit, names)));
      }
    }
  }

  /** Finds a mistake in the store's address and settings, without a connection to the store. */
  private void findInStore() {
    String address = properties.store();
    if (address.equals(SluiceProperties.MEMORY)) {
      return;
    }
    boolean ofSpring = address.equals(SluiceProperties.SPRING_DATASOURCE);
    String kind =
        ofSpring ? SluiceAutoConfiguration.kindOfModules() : SluiceAutoConfiguration.kind(address);
    if (!SluiceAutoConfiguration.isAddress(address) || !SluiceAutoConfiguration.hasStore(kind)) {
      String missing = SluiceAutoConfiguration.missing(address, "sluice-" + kind).getMessage();
      found.add(String.valueOf(missing));
      return;
    }
    // The settings can be checked only with an address, so Spring's own database gets a dummy
    // address.
    String parsed = ofSpring ? kind + "://localhost/any" : address;
    // Each lambda is created only if its module is present, since the module has the result's type.
    switch (kind) {
      case SluiceAutoConfiguration.POSTGRES ->
          result(() -> SluiceAutoConfiguration.Postgres.builder(parsed, properties.postgres()));
      case SluiceAutoConfiguration.MARIADB ->
          result(() -> SluiceAutoConfiguration.MariaDb.builder(parsed, properties.mariadb()));
      default ->
          result(
              () ->
                  SluiceAutoConfiguration.Redis.builder(
                      parsed, () -> SpringDataRedis.builder(environment)));
    }
  }

  /** Returns the source of the limits; null if the application has a bean of limits. */
  private @Nullable LimitSource source() {
    boolean here =
        properties.limits() != null || properties.names() != null || properties.overrides() != null;
    return here || !properties.files().isEmpty()
        ? new LimitSource(properties, new DefaultResourceLoader(), environment)
        : null;
  }

  /**
   * Finds mistakes in the filter's rules.
   *
   * @param limits the limits; null if they could not be loaded
   * @param names the names of the limits, for checking the names in rules; empty if unknown
   */
  private void findInRules(@Nullable Limits limits, List<String> names) {
    SluiceProperties.Filter filter = properties.filter();
    if (!filter.enabled() || filter.rules().isEmpty()) {
      return;
    }
    FilterRules.parse(filter, limits, properties.missingDefault(), found);
    for (int i = 0; i < filter.rules().size(); i++) {
      String limit = filter.rules().get(i).limit();
      if (limit != null && !names.isEmpty() && !names.contains(limit)) {
        found.add(
            "sluice.filter.rules[%s].limit: no limit has the name %s%s"
                .formatted(i, SafeText.quote(limit), Suggestion.didYouMean(limit, names)));
      }
    }
    if (properties.rules() != null) {
      found.add(FilterRules.BOOK_AND_RULES);
    }
    result(() -> FilterRules.clientAddress(filter.clientAddress()));
  }

  /** Returns the result of a check; null if the check found mistakes. */
  @CanIgnoreReturnValue
  private <T> @Nullable T result(Supplier<@Nullable T> step) {
    try {
      return step.get();
    } catch (SluiceConfigurationException | IllegalArgumentException e) {
      found.add(String.valueOf(e.getMessage()));
    } catch (LimitPropertiesException | LimitFilesException e) {
      found.add(String.valueOf(e.getMessage()));
    }
    return null;
  }
}

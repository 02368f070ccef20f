// SPDX-License-Identifier: Apache-2.0
package dev.sluice.spring;

import dev.sluice.Limiter;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Limits.Requirement;
import dev.sluice.limit.Limits.Requirement.MissingDefault;
import dev.sluice.spring.RateLimitedMethod.Spend;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.ForkJoinPool;
import java.util.function.BiConsumer;
import java.util.function.Function;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.framework.autoproxy.AutoProxyUtils;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.context.expression.BeanFactoryResolver;
import org.springframework.core.MethodIntrospector;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.core.annotation.AnnotationUtils;
import org.springframework.util.ClassUtils;

/**
 * The {@link RateLimited} methods of all beans, each parsed once. When the application starts,
 * checks the methods of all beans, including lazy beans. Refuses a reload of limits that do not fit
 * these methods. Thread-safe.
 */
final class RateLimitedMethods implements SmartInitializingSingleton, AutoCloseable {

  private final Limiter limiter;
  private final ConfigurableListableBeanFactory beans;
  private final BeanFactoryResolver resolver;
  private final Map<Key, RateLimitedMethod> methods = new ConcurrentHashMap<>();
  private final List<Requirement> required = new ArrayList<>();
  private final List<Key> checked = new ArrayList<>();
  private final Function<Limits, List<String>> check = this::faults;
  private volatile @Nullable Executor executor;

  private record Key(Method method, Class<?> type) {}

  RateLimitedMethods(Limiter limiter, ConfigurableListableBeanFactory beans) {
    this.limiter = limiter;
    this.beans = beans;
    this.resolver = new BeanFactoryResolver(beans);
  }

  /** Returns the annotations of a method, including inherited and composed annotations. */
  static Set<RateLimited> annotations(Method method, Class<?> type) {
    return AnnotatedElementUtils.findMergedRepeatableAnnotations(
        AopUtils.getMostSpecificMethod(method, type), RateLimited.class, RateLimited.All.class);
  }

  @Override
  public void afterSingletonsInstantiated() {
    List<String> problems = new ArrayList<>();
    each(
        beans,
        (method, type) -> {
          RateLimitedMethod parsed = parsed(new Key(method, type), problems);
          if (parsed != null) {
            checked.add(new Key(method, type));
            parsed.spends().stream()
                .filter(spend -> spend.quota() == null || hasDefault(spend.limit()))
                .map(Spend::limit)
                .map(
                    limit ->
                        new Requirement(
                            limit, "@RateLimited on " + parsed, limiter.missingDefault()))
                .forEach(required::add);
          }
        });
    if (!problems.isEmpty()) {
      throw new SluiceConfigurationException(
          problems,
          "Correct the annotations, or configure the limits that they name (sluice.limits or"
              + " sluice.files). Set the id format of your own limits, such as sluice.limits.NAME.id=string.");
    }
    limiter.limits().addCheck(check);
    limiter.limits().require(required);
  }

  /** Whether the limit has a default now; if true, a reload must not remove this default. */
  private boolean hasDefault(String limit) {
    Limits now = limiter.limits().get();
    LimitName name = now.catalogue().find(limit);
    return name != null && now.hasDefault(name);
  }

  /** Calls an action for each limited method of all beans, without creating a bean. */
  static void each(ConfigurableListableBeanFactory beans, BiConsumer<Method, Class<?>> action) {
    Set<Class<?>> seen = new HashSet<>();
    for (String name : beans.getBeanNamesForType(Object.class, true, false)) {
      Class<?> found = AutoProxyUtils.determineTargetClass(beans, name);
      Class<?> type = found == null ? null : ClassUtils.getUserClass(found);
      if (type != null
          && seen.add(type)
          && AnnotationUtils.isCandidateClass(type, RateLimited.class)) {
        MethodIntrospector.selectMethods(
                type,
                (MethodIntrospector.MetadataLookup<Set<RateLimited>>)
                    method -> {
                      Set<RateLimited> annotations = annotations(method, type);
                      return annotations.isEmpty() ? null : annotations;
                    })
            .keySet()
            .stream()
            .sorted((one, other) -> one.toString().compareTo(other.toString()))
            .forEach(method -> action.accept(method, type));
      }
    }
  }

  @Override
  public void close() {
    limiter.limits().removeCheck(check);
    limiter.limits().release(required);
    required.clear(); // a second call releases nothing
  }

  private @Nullable RateLimitedMethod parsed(Key key, List<String> problems) {
    boolean needsDefaults = limiter.missingDefault() == MissingDefault.REFUSE;
    return parsed(key, limiter.limits().get(), needsDefaults, problems);
  }

  private @Nullable RateLimitedMethod parsed(
      Key key, Limits limits, boolean needsDefaults, List<String> problems) {
    return new MethodParser(limits, needsDefaults, beans, key.method(), key.type(), problems)
        .parse();
  }

  /** Returns the mistakes that the annotations would have under new limits. */
  private List<String> faults(Limits limits) {
    List<String> problems = new ArrayList<>();
    for (Key key : checked) {
      var unused = parsed(key, limits, false, problems); // `required` contains the defaults
    }
    return problems;
  }

  @Nullable Object invoke(MethodInvocation call) throws Throwable {
    Object target = call.getThis();
    Class<?> type = target == null ? call.getMethod().getDeclaringClass() : target.getClass();
    RateLimitedMethod method =
        methods.computeIfAbsent(
            new Key(call.getMethod(), ClassUtils.getUserClass(type)), this::parsed);
    RateLimitedCall limited = new RateLimitedCall(method, call, resolver);
    return switch (method.kind()) {
      case BLOCKING -> limited.block(limiter);
      case STAGE -> limited.stage(limiter, executor());
      case PUBLISHER -> ReactiveCall.publisher(limited, method, limiter);
    };
  }

  /** Parses a method when it is called, if its bean did not exist when the application started. */
  private RateLimitedMethod parsed(Key key) {
    List<String> problems = new ArrayList<>();
    RateLimitedMethod method = parsed(key, problems);
    if (method == null || !problems.isEmpty()) {
      throw new IllegalStateException(String.join("\n", problems));
    }
    return method;
  }

  /**
   * Returns the executor that runs methods after a wait for the store: the application's executor.
   */
  private Executor executor() {
    Executor known = executor;
    if (known == null) {
      String name = "applicationTaskExecutor";
      known =
          beans.containsBean(name) && beans.isTypeMatch(name, Executor.class)
              ? beans.getBean(name, Executor.class)
              : ForkJoinPool.commonPool();
      executor = known;
    }
    return known;
  }
}

// SPDX-License-Identifier: Apache-2.0
package dev.sluice.spring;

import dev.sluice.Limiter;
import dev.sluice.limit.Requirement.MissingDefault;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.ForkJoinPool;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.context.expression.BeanFactoryResolver;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.util.ClassUtils;

/** The {@link RateLimited} methods of all beans, each parsed once. Thread-safe. */
final class RateLimitedMethods {

  private final Limiter limiter;
  private final BeanFactory beans;
  private final BeanFactoryResolver resolver;
  private final Map<Key, RateLimitedMethod> methods = new ConcurrentHashMap<>();
  private volatile @Nullable Executor executor;

  private record Key(Method method, Class<?> type) {}

  RateLimitedMethods(Limiter limiter, BeanFactory beans) {
    this.limiter = limiter;
    this.beans = beans;
    this.resolver = new BeanFactoryResolver(beans);
  }

  /** The annotations of a method, those of interfaces and composed ones too. */
  static Set<RateLimited> annotations(Method method, Class<?> type) {
    return AnnotatedElementUtils.findMergedRepeatableAnnotations(
        AopUtils.getMostSpecificMethod(method, type), RateLimited.class, RateLimited.All.class);
  }

  Limiter limiter() {
    return limiter;
  }

  /** Parses a method, and adds what is wrong with it to the problems. */
  @Nullable RateLimitedMethod check(Method method, Class<?> type, List<String> problems) {
    boolean needsDefaults = limiter.missingDefault() == MissingDefault.REFUSE;
    return new MethodParser(limiter.limits().get(), needsDefaults, beans, method, type, problems)
        .parse();
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
      case STAGE -> limited.stage(limiter.async(), executor(), limiter.limits().get());
      case PUBLISHER -> ReactiveCall.publisher(limited, method, limiter);
    };
  }

  /** A bean that was not there at start is checked when it is called. */
  private RateLimitedMethod parsed(Key key) {
    List<String> problems = new ArrayList<>();
    RateLimitedMethod method = check(key.method(), key.type(), problems);
    if (method == null || !problems.isEmpty()) {
      throw new IllegalStateException(String.join("\n", problems));
    }
    return method;
  }

  /** Where a method continues that waited for the store: the application's own executor. */
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

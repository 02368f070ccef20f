// SPDX-License-Identifier: Apache-2.0
package dev.sluice.spring;

import dev.sluice.limit.Requirement;
import dev.sluice.spring.RateLimitedMethod.Spend;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.springframework.aop.framework.autoproxy.AutoProxyUtils;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.core.MethodIntrospector;
import org.springframework.core.annotation.AnnotationUtils;
import org.springframework.util.ClassUtils;

/**
 * Checks the annotations of all beans at start, lazy ones too, and keeps a reload from taking away
 * a limit that one of them names.
 */
final class RateLimitedCheck implements SmartInitializingSingleton, AutoCloseable {

  private final RateLimitedMethods methods;
  private final ConfigurableListableBeanFactory beans;
  private final List<Requirement> required = new ArrayList<>();

  RateLimitedCheck(RateLimitedMethods methods, ConfigurableListableBeanFactory beans) {
    this.methods = methods;
    this.beans = beans;
  }

  @Override
  public void afterSingletonsInstantiated() {
    List<String> problems = new ArrayList<>();
    Map<Class<?>, Boolean> seen = new LinkedHashMap<>();
    for (String name : beans.getBeanNamesForType(Object.class, true, false)) {
      Class<?> type = AutoProxyUtils.determineTargetClass(beans, name);
      if (type != null && seen.putIfAbsent(ClassUtils.getUserClass(type), true) == null) {
        check(ClassUtils.getUserClass(type), problems);
      }
    }
    if (!problems.isEmpty()) {
      throw new SluiceConfigurationException(
          problems,
          "Correct the annotations, or configure the limits that they name (sluice.limits or"
              + " sluice.files). Names of your own stand in sluice.names.");
    }
    methods.limiter().limits().require(required);
  }

  private void check(Class<?> type, List<String> problems) {
    if (!AnnotationUtils.isCandidateClass(type, RateLimited.class)) {
      return;
    }
    Map<Method, Set<RateLimited>> annotated =
        MethodIntrospector.selectMethods(
            type,
            (MethodIntrospector.MetadataLookup<Set<RateLimited>>)
                method -> {
                  Set<RateLimited> found = RateLimitedMethods.annotations(method, type);
                  return found.isEmpty() ? null : found;
                });
    annotated.keySet().stream()
        .sorted((one, other) -> one.toString().compareTo(other.toString()))
        .forEach(
            method -> {
              RateLimitedMethod parsed = methods.check(method, type, problems);
              if (parsed != null) {
                parsed.spends().stream()
                    .map(Spend::limit)
                    .map(
                        limit ->
                            new Requirement(
                                limit,
                                "@RateLimited on " + parsed,
                                methods.limiter().missingDefault()))
                    .forEach(required::add);
              }
            });
  }

  @Override
  public void close() {
    methods.limiter().limits().release(required);
  }
}

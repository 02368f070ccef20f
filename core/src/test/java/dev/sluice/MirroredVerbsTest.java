// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.AsyncLimiter.AsyncLimit;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletionStage;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** Who knows the verbs of one view knows those of the others. */
final class MirroredVerbsTest {

  private static final Set<String> VERBS =
      Set.of(
          "check",
          "spend",
          "spendUpTo",
          "refund",
          "reset",
          "reserve",
          "acquire",
          "cancel",
          "settle");

  private static Set<String> verbs(Class<?> view, Predicate<Method> which) {
    return Arrays.stream(view.getDeclaredMethods())
        .filter(method -> Modifier.isPublic(method.getModifiers()) && !method.isSynthetic())
        .filter(method -> VERBS.contains(method.getName()) && which.test(method))
        .map(MirroredVerbsTest::signature)
        .collect(Collectors.toCollection(TreeSet::new));
  }

  private static String signature(Method method) {
    return method.getName()
        + Arrays.stream(method.getGenericParameterTypes())
            .map(Object::toString)
            .map(type -> type.replace("interface java.lang.CharSequence", "class java.lang.String"))
            .toList();
  }

  private static boolean isNamed(Method method) {
    return method.getParameterTypes()[0] == String.class;
  }

  @Test
  void asyncLimiter_hasTheVerbsOfTheLimiter() {
    assertThat(verbs(AsyncLimiter.class, MirroredVerbsTest::isStage))
        .isEqualTo(verbs(Limiter.class, method -> true))
        .hasSize(27);
  }

  @Test
  void limit_hasTheVerbsOfTheLimiter_withoutAName() {
    Set<String> named =
        verbs(Limiter.class, MirroredVerbsTest::isNamed).stream()
            .map(verb -> verb.replaceFirst("class java.lang.String, ", ""))
            .collect(Collectors.toCollection(TreeSet::new));
    assertThat(verbs(Limit.class, method -> true)).isEqualTo(named);
    assertThat(verbs(AsyncLimit.class, MirroredVerbsTest::isStage)).isEqualTo(named);
  }

  private static boolean isStage(Method method) {
    assertThat(method.getReturnType()).as(method.toString()).isEqualTo(CompletionStage.class);
    return true;
  }
}

// SPDX-License-Identifier: Apache-2.0
package dev.sluice.spring;

import dev.sluice.gcra.Quota;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.spring.RateLimitedMethod.Fallback;
import dev.sluice.spring.RateLimitedMethod.Kind;
import dev.sluice.spring.RateLimitedMethod.Spend;
import java.lang.reflect.AnnotatedElement;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Proxy;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.core.DefaultParameterNameDiscoverer;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.expression.Expression;
import org.springframework.expression.ParseException;
import org.springframework.expression.spel.SpelNode;
import org.springframework.expression.spel.ast.BeanReference;
import org.springframework.expression.spel.ast.Literal;
import org.springframework.expression.spel.ast.VariableReference;
import org.springframework.expression.spel.standard.SpelExpression;
import org.springframework.expression.spel.standard.SpelExpressionParser;
import org.springframework.scheduling.annotation.Async;
import org.springframework.util.ReflectionUtils;

/** Parses the annotations of one method, and finds every mistake in them. */
final class MethodParser {

  static final DefaultParameterNameDiscoverer NAMES = new DefaultParameterNameDiscoverer();

  /** The name of a method's result in expressions. */
  static final String RESULT = "result";

  private static final SpelExpressionParser PARSER = new SpelExpressionParser();

  /**
   * Result types of methods that can return before their work has ended. The list contains names of
   * types, since a result type can be absent from the class path.
   */
  private static final List<String> LATER =
      List.of(
          "java.util.concurrent.Callable",
          "java.util.concurrent.Flow$Publisher",
          "java.util.concurrent.Future",
          "org.reactivestreams.Publisher",
          "org.springframework.web.context.request.async.DeferredResult",
          "org.springframework.web.context.request.async.WebAsyncTask",
          "org.springframework.web.servlet.mvc.method.annotation.ResponseBodyEmitter",
          "org.springframework.web.servlet.mvc.method.annotation.StreamingResponseBody");

  private final Limits limits;
  private final boolean needsDefaults;
  private final BeanFactory beans;
  private final Method method;
  private final Class<?> type;
  private final List<String> problems;

  /** Makes a parser. With {@code needsDefaults}, a limit without a default is a mistake. */
  MethodParser(
      Limits limits,
      boolean needsDefaults,
      BeanFactory beans,
      Method declared,
      Class<?> type,
      List<String> problems) {
    this.limits = limits;
    this.needsDefaults = needsDefaults;
    this.beans = beans;
    // If a bean is only an interface, the methods of its proxy lack the annotations.
    boolean isProxy = Proxy.isProxyClass(type);
    this.method = isProxy ? declared : AopUtils.getMostSpecificMethod(declared, type);
    this.type = isProxy ? declared.getDeclaringClass() : type;
    this.problems = problems;
  }

  /** Returns the parsed method; null if there was a mistake. */
  @Nullable RateLimitedMethod parse() {
    int before = problems.size();
    Set<RateLimited> annotations = RateLimitedMethods.annotations(method, type);
    int modifiers = method.getModifiers();
    if (Modifier.isPrivate(modifiers)
        || Modifier.isStatic(modifiers)
        || Modifier.isFinal(modifiers)) {
      problem("found a private, static or final method, which no proxy can limit");
    }
    Kind kind = kind();
    List<Spend> spends = new ArrayList<>();
    Set<String> fallbacks = new LinkedHashSet<>();
    for (RateLimited annotation : annotations) {
      Spend spend = spend(annotation);
      if (spend != null) {
        spends.add(spend);
      }
      if (!annotation.fallback().isEmpty()) {
        fallbacks.add(annotation.fallback());
      }
    }
    if (kind == Kind.BLOCKING) {
      if (spends.stream().anyMatch(Spend::isConditional)) {
        checkOutcome("countOnlyOn");
      }
      if (spends.stream().anyMatch(spend -> spend.settle() != null)) {
        checkOutcome("settle");
        if (method.getReturnType() == void.class) {
          problem("settle: found a method without a result, expected a result with the cost");
        }
      }
    }
    if (fallbacks.size() > 1) {
      problem(
          "found the fallbacks %s, expected only one fallback for the method".formatted(fallbacks));
    }
    Fallback fallback = fallbacks.size() == 1 ? fallback(fallbacks.iterator().next()) : null;
    return problems.size() > before ? null : new RateLimitedMethod(method, kind, spends, fallback);
  }

  private void problem(String message) {
    problems.add("@RateLimited on %s.%s: %s".formatted(type.getName(), method.getName(), message));
  }

  private Kind kind() {
    Class<?> result = method.getReturnType();
    if (CompletionStage.class.isAssignableFrom(result)) {
      if (!result.isAssignableFrom(CompletableFuture.class)) {
        problem(
            "found the result %s, expected CompletionStage or CompletableFuture"
                .formatted(result.getSimpleName()));
      }
      return Kind.STAGE;
    }
    String name = result.getName();
    if (name.equals("reactor.core.publisher.Mono")
        || name.equals("reactor.core.publisher.Flux")
        || name.equals("org.reactivestreams.Publisher")) {
      return Kind.PUBLISHER;
    }
    if (Arrays.stream(method.getParameterTypes())
        .anyMatch(parameter -> parameter.getName().equals("kotlin.coroutines.Continuation"))) {
      problem("found a suspend function, expected a blocking method, a CompletionStage or a Mono");
    }
    if (isA(result, "kotlinx.coroutines.flow.Flow")) {
      problem("found the result Flow of Kotlin, expected Flux");
    }
    return Kind.BLOCKING;
  }

  /** Rejects a method whose work can end after its return, so that Sluice misses the end. */
  private void checkOutcome(String field) {
    Class<?> result = method.getReturnType();
    boolean isLater =
        LATER.stream().anyMatch(name -> isA(result, name)) || isAsync(method) || isAsync(type);
    if (isLater) {
      problem(
          ("%s: found the result %s of a method whose work continues after its return,"
                  + " expected CompletableFuture, Mono, Flux, or work in the caller's thread")
              .formatted(field, result.getSimpleName()));
    }
  }

  private static boolean isA(Class<?> type, String name) {
    return type.getName().equals(name)
        || Stream.concat(Stream.ofNullable(type.getSuperclass()), Stream.of(type.getInterfaces()))
            .anyMatch(parent -> isA(parent, name));
  }

  private static boolean isAsync(AnnotatedElement element) {
    return AnnotatedElementUtils.hasAnnotation(element, Async.class);
  }

  private @Nullable Spend spend(RateLimited annotation) {
    int before = problems.size();
    boolean hasQuota = !annotation.quota().isEmpty();
    LimitName name = name(annotation.limit(), needsDefaults && !hasQuota);
    List<Expression> id = new ArrayList<>();
    for (String part : annotation.id()) {
      Expression parsed = expression("id", part);
      if (parsed != null) {
        id.add(parsed);
      }
    }
    Expression cost = expression("cost", annotation.cost());
    Expression quota = hasQuota ? expression("quota", annotation.quota()) : null;
    Expression settle =
        annotation.settle().isEmpty() ? null : expression("settle", annotation.settle());
    if (name != null && problems.size() == before) {
      checkId(name, id);
    }
    long fixed = 0;
    if (cost instanceof SpelExpression spel && spel.getAST() instanceof Literal literal) {
      Long tokens = tokens(literal.getLiteralValue().getValue());
      cost = null;
      long most =
          name == null || hasQuota ? Long.MAX_VALUE : Quota.leastBurst(limits.defaultsFor(name));
      if (tokens == null || tokens < 0) {
        problem("cost: found %s, expected a whole number".formatted(annotation.cost()));
      } else if (tokens > most) {
        problem(
            "cost %s exceeds the burst (%s) of %s: no call could ever be allowed"
                .formatted(tokens, most, name));
      } else {
        fixed = tokens;
      }
    }
    return problems.size() > before
        ? null
        : new Spend(
            annotation.limit(), id, cost, fixed, quota, settle, List.of(annotation.countOnlyOn()));
  }

  /** Returns a cost; null if the value is not a whole number (of any type, or as a text). */
  static @Nullable Long tokens(@Nullable Object cost) {
    try {
      return cost instanceof Number number
          ? new BigDecimal(number.toString()).longValueExact()
          : Long.valueOf(
              String.valueOf(cost).strip()); // BigDecimal would take minutes for a long text
    } catch (ArithmeticException | NumberFormatException e) {
      return null;
    }
  }

  private @Nullable LimitName name(String limit, boolean needsDefault) {
    try {
      LimitName name = limits.catalogue().get(limit);
      if (needsDefault && !name.overridesOnly() && !limits.hasDefault(name)) {
        problem("the limit %s has no default".formatted(name));
      }
      return name;
    } catch (IllegalArgumentException e) {
      problem(String.valueOf(e.getMessage()));
      return null;
    }
  }

  private void checkId(LimitName name, List<Expression> id) {
    int parts = name.id().parts().size();
    if (id.size() != parts && id.size() != 1) {
      problem(
          "found %s expressions for an id of %s, expected %s: %s"
              .formatted(id.size(), name, parts, name.id().name()));
    }
    for (int i = 0; i < id.size() && id.size() == parts; i++) {
      if (id.get(i) instanceof SpelExpression spel && spel.getAST() instanceof Literal literal) {
        try {
          var unused =
              name.id()
                  .parts()
                  .get(i)
                  .canonical(
                      String.valueOf(literal.getLiteralValue().getValue()), Strictness.LENIENT);
        } catch (IllegalArgumentException e) {
          problem("id: " + e.getMessage());
        }
      }
    }
  }

  private @Nullable Expression expression(String field, String text) {
    try {
      SpelExpression parsed = PARSER.parseRaw(text);
      checkNames(field, text, parsed.getAST());
      return parsed;
    } catch (ParseException | IllegalStateException | IllegalArgumentException e) {
      problem(
          "%s: found \"%s\", which is not an expression: %s"
              .formatted(field, text, e.getMessage()));
      return null;
    }
  }

  private void checkNames(String field, String text, SpelNode node) {
    if (node instanceof BeanReference bean) {
      String name = bean.toStringAST().replaceAll("^@|'", "");
      if (!beans.containsBean(name)) {
        problem(
            "%s: found @%s in \"%s\", expected the name of a bean".formatted(field, name, text));
      }
    }
    if (node instanceof VariableReference variable) {
      String name = variable.toStringAST().substring(1);
      List<String> known = new ArrayList<>(parameters());
      if (field.equals("settle")) {
        known.add(RESULT);
      }
      boolean isPosition =
          name.matches("[pa][0-9]{1,3}")
              && Integer.parseInt(name.substring(1)) < method.getParameterCount();
      if (!isPosition && !known.contains(name) && !name.equals("this") && !name.equals("root")) {
        problem(
            "%s: found #%s in \"%s\", expected %s"
                .formatted(
                    field,
                    name,
                    text,
                    known.isEmpty() && method.getParameterCount() > 0
                        ? "one of #p0 to #p%s, since the class was compiled without -parameters"
                            .formatted(method.getParameterCount() - 1)
                        : "a parameter of the method: " + known));
      }
    }
    // A parameter has the same meaning in each nested expression; only #this can change its
    // meaning.
    for (int i = 0; i < node.getChildCount(); i++) {
      checkNames(field, text, node.getChild(i));
    }
  }

  private List<String> parameters() {
    String[] names = NAMES.getParameterNames(method);
    return names == null ? List.of() : List.of(names);
  }

  private @Nullable Fallback fallback(String name) {
    Class<?>[] same = method.getParameterTypes();
    Class<?>[] more = Arrays.copyOf(same, same.length + 1);
    more[same.length] = RateLimitedException.class;
    Method found = ReflectionUtils.findMethod(type, name, more);
    boolean takesDenial = found != null;
    if (found == null) {
      found = ReflectionUtils.findMethod(type, name, same);
    }
    if (found == null || !method.getReturnType().isAssignableFrom(found.getReturnType())) {
      problem(
          "fallback: there is no method %s with the same parameters (optionally followed by a RateLimitedException) and the result %s"
              .formatted(name, method.getReturnType().getSimpleName()));
      return null;
    }
    ReflectionUtils.makeAccessible(found);
    return new Fallback(found, takesDenial);
  }
}

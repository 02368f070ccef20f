// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit;

import dev.sluice.AsyncLimiter;
import dev.sluice.Limiter;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.Limits;
import dev.sluice.store.BucketStore;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;

/**
 * A JUnit Jupiter extension that gives each test a limiter with full buckets and with a clock that
 * the test moves. With this extension, a test of a rate limit need not sleep.
 *
 * <pre>{@code
 * @RegisterExtension
 * static final LimiterExtension LIMITS = LimiterExtension.of(limits);
 *
 * @Test
 * void login_afterAMinute_isAllowedAgain(Limiter limiter, ManualTime time) { … }
 * }</pre>
 *
 * <p>Test methods, and the methods before and after each test, can have parameters of these types:
 * {@link Limiter}, {@link AsyncLimiter}, {@link ManualTime}, {@link BucketStore}, and {@link
 * CurrentLimits}, with which a test can replace the limits. All parameters of one test use the same
 * store and clock; no two tests share an object. With {@code @ExtendWith(LimiterExtension.class)}
 * there are no named limits: the test supplies the quotas.
 *
 * <p>Thread-safe: tests can run in parallel.
 */
public final class LimiterExtension implements ParameterResolver {

  private static final Map<Class<?>, Function<Kit, Object>> PARAMETERS =
      Map.of(
          Limiter.class, Kit::limiter,
          AsyncLimiter.class, kit -> kit.limiter().async(),
          ManualTime.class, Kit::time,
          BucketStore.class, Kit::store,
          CurrentLimits.class, kit -> kit.limiter().limits());

  private final Namespace namespace = Namespace.create(LimiterExtension.class, this);
  private final Limits limits;

  /** The objects of one test. */
  private record Kit(ManualTime time, BucketStore store, Limiter limiter) {

    static Kit of(Limits limits) {
      ManualTime time = new ManualTime();
      BucketStore store = BucketStore.inMemory(time);
      return new Kit(
          time, store, Limiter.builder(new CurrentLimits(limits), store).time(time).build());
    }
  }

  /** Creates an extension without named limits. */
  public LimiterExtension() {
    this(Limits.builder(Catalogue.of()).build());
  }

  private LimiterExtension(Limits limits) {
    this.limits = limits;
  }

  /**
   * Returns an extension with named limits. Pass the limits that the application loads from its
   * files, or limits made for the test.
   *
   * @param limits the limits with which each test starts
   * @return the extension, to be registered in a field
   */
  public static LimiterExtension of(Limits limits) {
    return new LimiterExtension(limits);
  }

  @Override
  public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
    return context.getTestMethod().isPresent()
        && PARAMETERS.containsKey(parameter.getParameter().getType());
  }

  @Override
  public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
    Kit kit =
        context
            .getStore(namespace)
            .getOrComputeIfAbsent(Kit.class, type -> Kit.of(limits), Kit.class);
    return Objects.requireNonNull(PARAMETERS.get(parameter.getParameter().getType())).apply(kit);
  }
}

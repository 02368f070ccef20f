// SPDX-License-Identifier: Apache-2.0
package dev.sluice.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Limiter;
import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import java.lang.reflect.InvocationHandler;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.security.Principal;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.Future;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import kotlinx.coroutines.flow.Flow;
import org.aopalliance.intercept.MethodInterceptor;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.aop.ProxyMethodInvocation;
import org.springframework.aop.framework.ProxyFactory;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.scheduling.annotation.Async;
import org.springframework.web.context.request.async.DeferredResult;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Limited methods: what they spend, what a denial is, and what is refused at start. */
class RateLimitedTest {

  private final ApplicationContextRunner application =
      new ApplicationContextRunner()
          .withConfiguration(SluiceAutoConfigurationTest.ALL)
          .withPropertyValues(
              "sluice.names[0].number=1001",
              "sluice.names[0].name=PerUser",
              "sluice.names[0].id=string",
              "sluice.names[1].number=1002",
              "sluice.names[1].name=PerUserPerIp",
              "sluice.names[1].id=ipAddress:string",
              "sluice.names[2].number=1003",
              "sluice.names[2].name=Forgotten",
              "sluice.names[2].id=string",
              "sluice.limits.PerUser.burst=2",
              "sluice.limits.PerUser.count=2",
              "sluice.limits.PerUser.period=1h",
              "sluice.limits.PerUserPerIp.burst=1",
              "sluice.limits.PerUserPerIp.count=1",
              "sluice.limits.PerUserPerIp.period=1h");

  record User(String id) {}

  static final class BadPassword extends RuntimeException {
    private static final long serialVersionUID = 1;
  }

  interface Reports {
    @RateLimited(limit = "PerUser", id = "#user")
    String ofInterface(String user);
  }

  static class Service implements Reports {

    @RateLimited(limit = "PerUser", id = "#user.id")
    String blocking(User user) {
      return "report of " + user.id();
    }

    @Override
    public String ofInterface(String user) {
      return user;
    }

    @RateLimited(limit = "PerUser", id = "#p0", cost = "#items.size()")
    int costly(String user, List<String> items) {
      return items.size();
    }

    @RateLimited(limit = "PerUser", id = "#user", cost = "#cost")
    void priced(String user, Object cost) {}

    @RateLimited(limit = "PerUser", id = "@tenants.current()")
    void ofBean() {}

    @RateLimited(limit = "PerUser", id = "#user")
    @RateLimited(
        limit = "PerUserPerIp",
        id = {"#ip", "#user"})
    void several(String user, String ip) {}

    @RateLimited(limit = "PerUser", id = "#user", countOnlyOn = BadPassword.class)
    String login(String user, RuntimeException failure) {
      if (failure != null) {
        throw failure;
      }
      return "in";
    }

    @RateLimited(limit = "PerUser", id = "#user", fallback = "cached")
    String withFallback(String user) {
      return "fresh";
    }

    String cached(String user, RateLimitedException denial) {
      return user + " cached, retry in " + denial.decision().retryAfterSeconds();
    }

    @RateLimited(limit = "PerUser", id = "#user", countOnlyOn = BadPassword.class)
    CompletionStage<String> stage(String user, CompletableFuture<String> work) {
      return work;
    }

    @RateLimited(limit = "PerUser", id = "#user", countOnlyOn = BadPassword.class)
    Mono<String> mono(String user, Mono<String> work) {
      return work;
    }

    @RateLimited(limit = "PerUser", id = "#user")
    Flux<Integer> flux(String user) {
      return Flux.range(0, 3);
    }
  }

  static final class Tenants {
    public String current() {
      return "acme";
    }
  }

  private interface Check {
    void run(Service service, Limiter limiter) throws Exception;
  }

  private void with(Check test) {
    application
        .withBean(Service.class)
        .withBean("tenants", Tenants.class)
        .run(
            context -> {
              assertThat(context).hasNotFailed();
              test.run(context.getBean(Service.class), context.getBean(Limiter.class));
            });
  }

  private static long left(Limiter limiter, String user) {
    return limiter.check("PerUser", user, 0).remaining();
  }

  @Test
  void blockingMethod_overTheLimit_throwsTheDenial() {
    with(
        (service, limiter) -> {
          User ann = new User("ann");
          assertThat(service.blocking(ann)).isEqualTo("report of ann");
          assertThat(service.blocking(ann)).isEqualTo("report of ann");

          assertThatThrownBy(() -> service.blocking(ann))
              .isInstanceOfSatisfying(
                  RateLimitedException.class,
                  e -> assertThat(e.decision().retryAfterSeconds()).isBetween(1L, 2000L));
          assertThat(service.blocking(new User("bob"))).isEqualTo("report of bob");
        });
  }

  @Test
  void annotationOfAnInterface_holdsForItsClass() {
    with(
        (service, limiter) -> {
          assertThat(service.ofInterface("ann")).isEqualTo("ann");

          assertThat(left(limiter, "ann")).isEqualTo(1);
        });
  }

  @Test
  void costAndIdOfABean_areExpressions() {
    with(
        (service, limiter) -> {
          assertThat(service.costly("ann", List.of("a", "b"))).isEqualTo(2);
          service.ofBean();

          assertThat(left(limiter, "ann")).isZero();
          assertThat(left(limiter, "acme")).isEqualTo(1);
        });
  }

  @Test
  void unusableId_orCost_isRefused_andNothingIsSpent() {
    with(
        (service, limiter) -> {
          assertThatThrownBy(() -> service.blocking(new User(null)))
              .isInstanceOf(UnusableIdException.class)
              .hasMessageContaining("@RateLimited(limit = \"PerUser\") on Service.blocking: ");
          assertThatThrownBy(() -> service.several("ann", "localhost"))
              .isInstanceOf(UnusableIdException.class);
          assertThatThrownBy(() -> service.costly("ann", List.of("a", "b", "c")))
              .isInstanceOf(UnusableIdException.class);

          assertThat(left(limiter, "ann")).isEqualTo(2);
        });
  }

  static Stream<Object> wholeCosts() {
    return Stream.of(
        1, (short) 1, 1.0, new BigDecimal("1.00"), BigInteger.ONE, new AtomicLong(1), "1", " 1 ");
  }

  @ParameterizedTest
  @MethodSource("wholeCosts")
  void wholeCost_ofAnyType_isSpent(Object cost) {
    with(
        (service, limiter) -> {
          service.priced("ann", cost);

          assertThat(left(limiter, "ann")).isEqualTo(1);
        });
  }

  static Stream<Object> unusableCosts() {
    return Stream.of(
        0.5,
        1.9f,
        -0.5,
        Double.NaN,
        Double.POSITIVE_INFINITY,
        1e30,
        0x1p63,
        Double.MIN_VALUE,
        new BigDecimal("1.00000000000000000001"),
        BigInteger.TWO.pow(64).add(BigInteger.ONE),
        "0.5",
        "many",
        "9".repeat(1_000_000),
        true,
        List.of(0.5));
  }

  @ParameterizedTest
  @MethodSource("unusableCosts")
  void cost_thatIsNoWholeNumber_isRefused_andNothingIsSpent(Object cost) {
    with(
        (service, limiter) -> {
          assertThatThrownBy(() -> service.priced("ann", cost))
              .isInstanceOf(UnusableIdException.class)
              .hasMessageContaining("@RateLimited(limit = \"PerUser\") on Service.priced: ")
              .hasMessageContaining("expected a whole number")
              .satisfies(e -> assertThat(e.getMessage()).hasSizeLessThan(300));

          assertThat(left(limiter, "ann")).isEqualTo(2);
        });
  }

  @Test
  void severalAnnotations_areOneBatch() {
    with(
        (service, limiter) -> {
          service.several("ann", "192.0.2.1");

          assertThatThrownBy(() -> service.several("ann", "192.0.2.1"))
              .isInstanceOf(RateLimitedException.class);
          assertThat(left(limiter, "ann")).isEqualTo(1);
        });
  }

  @Test
  void exceptionThatCounts_leavesTheTokenSpent_othersGiveItBack() {
    with(
        (service, limiter) -> {
          assertThat(service.login("ann", null)).isEqualTo("in");
          assertThatThrownBy(() -> service.login("ann", new IllegalStateException()))
              .isInstanceOf(IllegalStateException.class);
          assertThat(left(limiter, "ann")).isEqualTo(2);

          assertThatThrownBy(() -> service.login("ann", new BadPassword()))
              .isInstanceOf(BadPassword.class);
          assertThat(left(limiter, "ann")).isEqualTo(1);
        });
  }

  @Test
  void denial_isAnsweredByTheFallback() {
    with(
        (service, limiter) -> {
          assertThat(service.withFallback("ann")).isEqualTo("fresh");
          assertThat(service.withFallback("ann")).isEqualTo("fresh");

          assertThat(service.withFallback("ann")).startsWith("ann cached, retry in ");
        });
  }

  @Test
  void stage_isSettledByItsOutcome() {
    with(
        (service, limiter) -> {
          CompletableFuture<String> work = new CompletableFuture<>();
          CompletableFuture<String> result = service.stage("ann", work).toCompletableFuture();
          assertThat(result).isNotDone();
          assertThat(left(limiter, "ann")).isEqualTo(1);
          work.complete("done");
          assertThat(result.join()).isEqualTo("done");
          assertThat(left(limiter, "ann")).isEqualTo(2);

          assertThat(service.stage("ann", CompletableFuture.failedFuture(new BadPassword())))
              .isCompletedExceptionally();
          assertThat(left(limiter, "ann")).isEqualTo(1);

          assertThat(service.stage("ann", CompletableFuture.failedFuture(new BadPassword())))
              .isCompletedExceptionally();
          assertThatThrownBy(
                  () ->
                      service.stage("ann", new CompletableFuture<>()).toCompletableFuture().join())
              .hasCauseInstanceOf(RateLimitedException.class);
        });
  }

  /** Its caller gives up when the store has answered, and before an executor has time for it. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void stage_thatNeverRuns_givesBack_whatOnlyFailuresCost(boolean timesOut) {
    HeldStore store = new HeldStore();
    Queue<Runnable> tasks = new ConcurrentLinkedQueue<>();
    application
        .withBean(Service.class)
        .withBean("tenants", Tenants.class)
        .withBean(BucketStore.class, () -> store)
        .withBean("applicationTaskExecutor", Executor.class, () -> tasks::add)
        .run(
            context -> {
              CompletableFuture<String> result =
                  context
                      .getBean(Service.class)
                      .stage("ann", new CompletableFuture<>())
                      .toCompletableFuture();
              store.answers.complete(null);
              if (timesOut) {
                result.completeExceptionally(new TimeoutException());
              } else {
                result.cancel(false);
              }
              tasks.forEach(Runnable::run);

              assertThat(left(context.getBean(Limiter.class), "ann")).isEqualTo(2);
            });
  }

  /** A store in memory that keeps its asynchronous answers back for a while. */
  private static final class HeldStore implements BucketStore {

    private final BucketStore memory = BucketStore.inMemory();
    private final CompletableFuture<Void> answers = new CompletableFuture<>();

    @Override
    public List<Reading> charge(List<Charge> charges) {
      return memory.charge(charges);
    }

    @Override
    public CompletionStage<List<Reading>> chargeAsync(List<Charge> charges) {
      List<Reading> readings = memory.charge(charges);
      return answers.thenApply(open -> readings);
    }
  }

  @Test
  void mono_spendsAtEachSubscription_andIsSettledByItsEnding() {
    with(
        (service, limiter) -> {
          Mono<String> failing = service.mono("ann", Mono.error(new BadPassword()));
          assertThat(left(limiter, "ann")).isEqualTo(2);

          for (int left = 1; left >= 0; left--) {
            assertThatThrownBy(failing::block).isInstanceOf(BadPassword.class);
            assertThat(left(limiter, "ann")).isEqualTo(left);
          }
          assertThatThrownBy(failing::block).isInstanceOf(RateLimitedException.class);

          assertThat(service.mono("bob", Mono.just("in")).block()).isEqualTo("in");
          assertThat(left(limiter, "bob")).isEqualTo(2);
          service.mono("bob", Mono.never()).subscribe().dispose();
          assertThat(left(limiter, "bob")).isEqualTo(1); // nobody knows how it ends
        });
  }

  @Test
  void flux_isLimited() {
    with(
        (service, limiter) -> {
          assertThat(service.flux("ann").collectList().block()).containsExactly(0, 1, 2);
          assertThat(left(limiter, "ann")).isEqualTo(1);
        });
  }

  static class Typos {
    @RateLimited(limit = "PerUser", id = "#user.nme")
    public void property(User user) {}

    @RateLimited(limit = "PerUser", id = "#user.name()")
    public CompletionStage<String> method(User user) {
      return CompletableFuture.completedFuture("");
    }

    @RateLimited(limit = "PerUser", id = "#user.id.length")
    public void ofNull(User user) {}
  }

  /** A 400 would blame the client. */
  @Test
  void expressionThatIsWrong_isTheApplicationsError_notTheCallers() {
    application
        .withBean(Typos.class)
        .run(
            context -> {
              Typos typos = context.getBean(Typos.class);
              assertThatThrownBy(() -> typos.property(new User("ann")))
                  .isInstanceOf(IllegalStateException.class)
                  .hasMessageContaining("Typos.property: correct the expression \"#user.nme\"");
              assertThatThrownBy(() -> typos.method(new User("ann")).toCompletableFuture().join())
                  .hasCauseInstanceOf(IllegalStateException.class);
              assertThatThrownBy(() -> typos.ofNull(new User(null)))
                  .isInstanceOf(UnusableIdException.class);
            });
  }

  static class Ids {
    @RateLimited(limit = "PerUser", id = "#id")
    public void call(Object id) {}
  }

  static class Account {}

  /** As Hibernate's proxies are. */
  static class AccountProxy extends Account {
    private final Account account = new Account();

    @Override
    public String toString() {
      return account.toString();
    }
  }

  static Stream<Arguments> unusableIds() {
    Principal principal = () -> "ann";
    return Stream.of(
        Arguments.of(new Account(), "dev.sluice.spring.RateLimitedTest$Account, ", "#id.id"),
        Arguments.of(new AccountProxy(), "", "#id.id"),
        Arguments.of(new byte[] {1}, "byte[], ", "new String(#id)"),
        Arguments.of(Optional.of("ann"), "java.util.Optional, ", "#id.orElse(null)"),
        Arguments.of(principal, "", "#id.name"));
  }

  @ParameterizedTest
  @MethodSource("unusableIds")
  void id_whoseTextIsNotAnId_isTheApplicationsError(Object id, String type, String instead) {
    application
        .withBean(Ids.class)
        .run(
            context ->
                assertThatThrownBy(() -> context.getBean(Ids.class).call(id))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("Ids.call: correct the expression \"#id\": ")
                    .hasMessageContaining("found a value of the type " + type)
                    .hasMessageContaining("write for example \"%s\"".formatted(instead)));
  }

  @ParameterizedTest
  @MethodSource("usableIds")
  void id_ofAnotherTypeThanString_isItsText(Object id, String text) {
    application
        .withBean(Ids.class)
        .run(
            context -> {
              context.getBean(Ids.class).call(id);
              assertThat(left(context.getBean(Limiter.class), text)).isEqualTo(1);
            });
  }

  static Stream<Arguments> usableIds() {
    UUID uuid = new UUID(1, 2);
    return Stream.of(
        Arguments.of(7L, "7"),
        Arguments.of(uuid, uuid.toString()),
        Arguments.of(Thread.State.NEW, "NEW"),
        Arguments.of(new User("ann"), "User[id=ann]"),
        Arguments.of("java.lang.String@1", "java.lang.String@1"));
  }

  static class Numbered {
    @RateLimited(limit = "PerUser", id = "#p7")
    public void call(String p7) {}
  }

  @Test
  void parameterNamedLikeAPosition_isAParameter() {
    application
        .withBean(Numbered.class)
        .run(
            context -> {
              context.getBean(Numbered.class).call("ann");
              assertThat(left(context.getBean(Limiter.class), "ann")).isEqualTo(1);
            });
  }

  interface Remote {
    @RateLimited(limit = "PerUser", id = "#user", fallback = "cached")
    String profile(String user);

    default String cached(String user) {
      return user + " cached";
    }
  }

  /** As Spring makes the clients of HTTP that are interfaces. */
  private static Remote remote() {
    ProxyFactory client = new ProxyFactory();
    client.addInterface(Remote.class);
    client.addAdvice(
        (MethodInterceptor)
            call ->
                call.getMethod().isDefault()
                    ? InvocationHandler.invokeDefault(
                        ((ProxyMethodInvocation) call).getProxy(),
                        call.getMethod(),
                        call.getArguments())
                    : call.getArguments()[0] + " fresh");
    return (Remote) client.getProxy();
  }

  @Test
  void clientThatIsAnInterfaceAlone_isLimited_andHasItsFallback() {
    application
        .withBean("remote", Remote.class, RateLimitedTest::remote)
        .run(
            context -> {
              Remote remote = context.getBean(Remote.class);
              assertThat(remote.profile("ann")).isEqualTo("ann fresh");
              assertThat(remote.profile("ann")).isEqualTo("ann fresh");

              assertThat(remote.profile("ann")).isEqualTo("ann cached");
            });
  }

  static class Wrong {
    @RateLimited(limit = "PerUser", id = "@nobody.current()")
    public void unknownBean() {}

    @RateLimited(limit = "PerUser", id = "#user", countOnlyOn = BadPassword.class)
    public Future<String> endsLater(String user) {
      return new CompletableFuture<>();
    }

    @Async
    @RateLimited(limit = "PerUser", id = "#user", countOnlyOn = BadPassword.class)
    public void endsElsewhere(String user) {}

    @RateLimited(limit = "PerUser", id = "#user", countOnlyOn = BadPassword.class)
    public DeferredResult<String> answersLater(String user) {
      return new DeferredResult<>();
    }

    @RateLimited(limit = "PerUser", id = "#user")
    public Flow<String> ofKotlin(String user) {
      throw new UnsupportedOperationException();
    }

    @RateLimited(limit = "PerUsr", id = "#user")
    public void unknownLimit(String user) {}

    @RateLimited(limit = "Forgotten", id = "#user")
    public void notConfigured(String user) {}

    @RateLimited(limit = "PerUser", id = "#usr.name")
    public void unknownParameter(String user) {}

    @RateLimited(limit = "PerUser", id = "#user..name")
    public void noExpression(String user) {}

    @RateLimited(limit = "PerUser", id = "#user", cost = "3")
    public void aboveTheBurst(String user) {}

    @RateLimited(limit = "PerUser", id = "#user", cost = "0.5")
    public void half(String user) {}

    @RateLimited(limit = "PerUser", id = "#user", cost = "1.9f")
    public void oneAndABit(String user) {}

    @RateLimited(limit = "PerUser", id = "#user", cost = "1e30")
    public void beyondALong(String user) {}

    @RateLimited(limit = "PerUser", id = "#user", cost = "'-1'")
    public void belowZero(String user) {}

    @RateLimited(limit = "PerUser", id = "#user", cost = "null")
    public void ofNothing(String user) {}

    @RateLimited(
        limit = "PerUserPerIp",
        id = {"#user", "#user", "#user"})
    public void partsOfTheId(String user) {}

    @RateLimited(limit = "PerUser", id = "#user", fallback = "nowhere")
    public void fallbackIsMissing(String user) {}

    @RateLimited(limit = "PerUser", id = "#user")
    public final void isFinal(String user) {}

    @RateLimited(limit = "PerUser", id = "#user")
    public static void isStatic(String user) {}

    @RateLimited(limit = "PerUser", id = "#user")
    @SuppressWarnings("unused")
    private void isPrivate(String user) {}
  }

  @Test
  void mistakes_areAllFoundAtStart_inLazyBeansToo() {
    application
        .withBean(Wrong.class, Wrong::new, bean -> bean.setLazyInit(true))
        .run(
            context ->
                assertThat(Analyses.of(context.getStartupFailure()).getDescription())
                    .contains("Wrong.unknownLimit: ")
                    .contains("did you mean \"PerUser\"")
                    .contains("Wrong.notConfigured: the limit Forgotten has no default")
                    .contains("Wrong.unknownBean: id: found @nobody in \"@nobody.current()\"")
                    .contains("Wrong.endsLater: countOnlyOn: found the result Future")
                    .contains("Wrong.endsElsewhere: countOnlyOn: found the result void")
                    .contains("Wrong.answersLater: countOnlyOn: found the result DeferredResult")
                    .contains("Wrong.ofKotlin: found the result Flow of Kotlin, expected Flux")
                    .contains("Wrong.unknownParameter: id: found #usr in \"#usr.name\"")
                    .contains("[user]")
                    .contains(
                        "Wrong.noExpression: id: found \"#user..name\", which is not an expression")
                    .contains("Wrong.aboveTheBurst: cost 3 exceeds the burst (2) of PerUser")
                    .contains("Wrong.half: cost: found 0.5, expected a whole number")
                    .contains("Wrong.oneAndABit: cost: found 1.9f, expected a whole number")
                    .contains("Wrong.beyondALong: cost: found 1e30, expected a whole number")
                    .contains("Wrong.belowZero: cost: found '-1', expected a whole number")
                    .contains("Wrong.ofNothing: cost: found null, expected a whole number")
                    .contains("Wrong.partsOfTheId: found 3 expressions")
                    .contains("Wrong.fallbackIsMissing: fallback: there is no method nowhere")
                    .contains("Wrong.isFinal: found a private, static or final method")
                    .contains("Wrong.isStatic: found a private, static or final method")
                    .contains("Wrong.isPrivate: found a private, static or final method"));
  }
}

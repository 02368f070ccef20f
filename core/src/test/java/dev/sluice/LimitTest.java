// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.management.ThreadMXBean;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.InvalidRequestException;
import dev.sluice.limit.InvalidRequestException.MissingDefaultException;
import dev.sluice.limit.InvalidRequestException.UnknownLimitException;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.LimitOverride;
import dev.sluice.limit.Limits;
import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import dev.sluice.store.StoreException;
import java.lang.management.ManagementFactory;
import java.nio.CharBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

class LimitTest {

  private static final Catalogue CATALOGUE =
      Catalogue.of(
          LimitName.builder(1, "CallsPerText").id(IdFormat.string()).jitter(0).build(),
          LimitName.builder(2, "CallsPerAddress").id(IdFormat.ipAddress()).build(),
          LimitName.builder(3, "CallsPerNumber").id(IdFormat.integer()).build(),
          LimitName.builder(4, "Unlimited").id(IdFormat.string()).build());
  private static final Limits LIMITS = limits(3).build();

  private final AtomicLong nowNanos = new AtomicLong(1_000_000_000_000L);
  private final CurrentLimits current = new CurrentLimits(LIMITS);
  private final BucketStore store = BucketStore.inMemory(nowNanos::get);
  private final Limiter limiter = Limiter.of(current, store);

  private static Limits.Builder limits(int burst) {
    Quota quota = Quota.burst(burst).refill(1, Duration.ofSeconds(1));
    return Limits.builder(CATALOGUE)
        .limit("CallsPerText", quota)
        .limit("CallsPerAddress", quota)
        .limit("CallsPerNumber", quota)
        .unlimited("Unlimited");
  }

  @Test
  void spend_limitsWithoutNumber_haveBucketsOfTheirOwn() {
    Quota quota = Quota.per(2, Duration.ofSeconds(1));
    Limits named =
        Limits.builder(Catalogue.of(LimitName.builder("A").build(), LimitName.builder("B").build()))
            .limit("A", quota)
            .limit("B", quota)
            .build();
    Limiter limiter = Limiter.of(named, store);
    assertThat(limiter.limit("A").trySpend("x")).isTrue();
    assertThat(limiter.spend("A", "x").remaining()).isZero();
    assertThat(limiter.check("B", "x").remaining()).isEqualTo(1);
    assertThat(limiter.transaction("A", "x").bucketKey()).isEqualTo("A:x");
  }

  @Test
  void toString_saysWhatItIs() {
    Limits two =
        LIMITS.withOverrides(
            List.of(
                new LimitOverride(
                    CATALOGUE.get("CallsPerText"),
                    "secret",
                    Quota.per(9, Duration.ofSeconds(1)),
                    "")));
    current.replace(two);
    assertThat(limiter.limit("CallsPerText"))
        .hasToString("limit CallsPerText: burst 3, 1 per PT1S");
    assertThat(limiter.limit("Unlimited")).hasToString("limit Unlimited: unlimited");
    assertThat(limiter)
        .hasToString(
            "limiter of limits CallsPerAddress (burst 3, 1 per PT1S), CallsPerNumber (burst 3, 1"
                + " per PT1S), CallsPerText (burst 3, 1 per PT1S, 1 override), Unlimited"
                + " (unlimited)");
    assertThat(Limits.builder(CATALOGUE).build()).hasToString("no limits");
    assertThat(Catalogue.of(LimitName.builder("A").build())).hasToString("names [A]");
    try (Reservation reservation = limiter.reserve("CallsPerText", "x")) {
      assertThat(reservation.toString()).startsWith("reservation, open: allowed, remaining 2");
      reservation.cancel();
      assertThat(reservation.toString()).startsWith("reservation, closed: allowed");
    }
  }

  @Test
  void transactionOfAStandaloneLimit_isRefusedByALimiter_asAllOfThemWouldShareABucket() {
    Limit alone = Limit.of(Quota.per(1, Duration.ofDays(1)));
    Transaction one = alone.transaction("7");
    for (ThrowingCallable act :
        List.<ThrowingCallable>of(
            () -> limiter.spend(one),
            () -> limiter.refund(List.of(limiter.transaction("CallsPerText", "a"), one)),
            () -> limiter.reset(one),
            () -> limiter.acquire(one, Duration.ZERO))) {
      assertThatThrownBy(act)
          .isInstanceOf(InvalidRequestException.class)
          .hasMessage(
              "found a transaction of Limit.of(…), whose buckets are in its own memory; for a batch, give the limit a name: limiter.limit(LimitName, Quota)");
    }
    assertThat(alone.spend("7").allowed()).isTrue();
    LimitName namesake = LimitName.builder(1, "Limit").build();
    Limiter others = Limiter.of(BucketStore.inMemory());
    assertThat(others.spend(Transaction.of(namesake, Quota.per(1, Duration.ofDays(1)), "7")))
        .matches(Decision::allowed);
  }

  @Test
  void limit_thatTheCurrentLimitsLack_isRefused_evenIfItWasReturnedBefore() {
    assertThat(limiter.limit("CallsPerText")).isSameAs(limiter.limit("CallsPerText"));
    current.replace(Limits.builder(CATALOGUE).build());
    assertThatThrownBy(() -> limiter.limit("CallsPerText"))
        .isInstanceOf(MissingDefaultException.class);
    current.replace(Limits.builder(Catalogue.of()).build());
    assertThatThrownBy(() -> limiter.limit("CallsPerText"))
        .isInstanceOf(UnknownLimitException.class)
        .hasMessageContaining("no limit has the name");
  }

  @Test
  void bytes_thatAreNoUtf8_shareNoBucket() {
    Limit limit = limiter.limit("CallsPerText");
    for (byte[] bytes : List.of(new byte[] {(byte) 0xff}, new byte[] {'a', (byte) 0xc3})) {
      assertThatThrownBy(() -> limit.trySpendUtf8(bytes))
          .isInstanceOf(InvalidRequestException.class)
          .hasMessageContaining("not UTF-8");
    }
    assertThat(limit.trySpendUtf8("é".getBytes(StandardCharsets.UTF_8))).isTrue();
    assertThat(limiter.check("CallsPerText", "é").remaining()).isEqualTo(1);
  }

  @Test
  void text_thatComesAgain_isLookedAtByEachLimitForItself() {
    Limit texts = limiter.limit("CallsPerText");
    Limit addresses = limiter.limit("CallsPerAddress");
    for (int round = 0; round < 6; round++) {
      for (int i = 0; i < 6; i++) {
        assertThat(texts.trySpend("10.0.0.300")).isEqualTo(round == 0 && i < 3);
      }
      assertThatThrownBy(() -> addresses.trySpend("10.0.0.300"))
          .isInstanceOf(InvalidRequestException.class);
      assertThat(addresses.trySpend("10.0.0.3")).isEqualTo(round < 3);
    }
    Catalogue changed =
        Catalogue.of(LimitName.builder(1, "CallsPerText").id(IdFormat.ipAddress()).build());
    Quota quota = Quota.burst(3).refill(1, Duration.ofSeconds(1));
    assertThat(texts.trySpend("10.0.0.300")).isFalse();
    current.replace(Limits.builder(changed).limit("CallsPerText", quota).build());
    assertThatThrownBy(() -> texts.trySpend("10.0.0.300"))
        .isInstanceOf(InvalidRequestException.class);
  }

  @Test
  void text_bytesAndNumber_shareABucket() {
    Limit limit = limiter.limit("CallsPerText");
    assertThat(limit.trySpend("42")).isTrue();
    assertThat(limit.trySpendId(42)).isTrue();
    assertThat(limit.trySpendUtf8("42".getBytes(StandardCharsets.UTF_8))).isTrue();
    assertThat(limit.trySpend(CharBuffer.wrap("42"))).isFalse();
    assertThat(limit.trySpendId(42)).isFalse();
    assertThat(limiter.spend("CallsPerText", "42").allowed()).isFalse();
    assertThat(limiter.spend(List.of(limiter.transaction("CallsPerText", "42"))).allowed())
        .isFalse();
    limiter.reset("CallsPerText", "42");
    assertThat(limit.trySpendId(42)).isTrue();
    assertThat(limit.trySpendUtf8("ä€".getBytes(StandardCharsets.UTF_8), 3)).isTrue();
    assertThat(limit.trySpend("ä€")).isFalse();
  }

  @Test
  void id_inAnotherSpelling_meetsItsBucket() {
    Limit limit = limiter.limit("CallsPerAddress");
    assertThat(limit.trySpend("::ffff:10.0.0.1", 2)).isTrue();
    assertThat(limit.trySpend("10.0.0.1", 2)).isFalse();
    assertThat(limit.trySpendUtf8("10.0.0.1".getBytes(StandardCharsets.UTF_8), 1)).isTrue();
    assertThat(limit.trySpend("2001:DB8::0:1", 3)).isTrue();
    assertThat(limit.trySpend("2001:db8::1")).isFalse();
    assertThat(limiter.limit("CallsPerNumber").trySpend("007", 3)).isTrue();
    assertThat(limiter.limit("CallsPerNumber").trySpendId(7)).isFalse();
  }

  @Test
  void bad_requests_areRefusedAsTheLimiterDoes() {
    Limit limit = limiter.limit("CallsPerAddress");
    for (String id : List.of("", "10.0.0", "10.0.0.256", "1.2.3.04", "10.0.0.1 ", "nobody")) {
      assertThatThrownBy(() -> limit.trySpend(id))
          .as(id)
          .isInstanceOf(InvalidRequestException.class);
      assertThatThrownBy(() -> limit.trySpendUtf8(id.getBytes(StandardCharsets.UTF_8)))
          .isInstanceOf(InvalidRequestException.class);
    }
    assertThatThrownBy(() -> limit.trySpendId(5)).isInstanceOf(InvalidRequestException.class);
    assertThatThrownBy(() -> limit.trySpend("10.0.0.1", 4)).hasMessageContaining("cost ");
    assertThatThrownBy(() -> limit.trySpend("10.0.0.1", -1))
        .hasMessageContaining("invalid cost, must be >= 0");
    assertThatThrownBy(() -> limiter.limit("Nobody")).isInstanceOf(UnknownLimitException.class);
  }

  @Test
  void replaced_limits_holdAtOnce() {
    Limit limit = limiter.limit("CallsPerText");
    assertThat(limit.trySpend("a", 3)).isTrue();
    current.replace(
        limits(5).override("CallsPerText", "b", Quota.per(9, Duration.ofDays(1))).build());
    assertThat(limit.trySpend("a", 2)).isTrue();
    assertThat(limit.trySpend("a")).isFalse();
    assertThat(limit.trySpend("b", 9)).isTrue();
    assertThat(limit.spend("b").transaction().overridden()).isTrue();
    current.replace(Limits.builder(CATALOGUE).unlimited("CallsPerText").build());
    assertThat(limit.trySpend("a", 100)).as("unlimited").isTrue();
    current.replace(Limits.builder(Catalogue.of()).build());
    assertThatThrownBy(() -> limit.trySpend("a")).isInstanceOf(UnknownLimitException.class);
  }

  @Test
  void decisions_equalThoseOfABatchOfOne() {
    Limiter other = Limiter.of(current, BucketStore.inMemory(nowNanos::get));
    Random random = new Random(11);
    for (int i = 0; i < 5_000; i++) {
      nowNanos.addAndGet(random.nextInt(700_000_000));
      String id = Integer.toString(random.nextInt(5));
      long cost = random.nextInt(4);
      boolean check = random.nextInt(3) == 0;
      Limit limit = limiter.limit("CallsPerText");
      Decision found = check ? limit.check(id, cost) : limit.spend(id, cost);
      List<Transaction> batch = List.of(other.transaction("CallsPerText", id).withCost(cost));
      Decision expected = check ? other.check(batch) : other.spend(batch);
      assertThat(found).hasToString(expected.toString());
      assertThat(found.tat()).isEqualTo(expected.tat());
      assertThat(found.message()).isEqualTo(expected.message());
      assertThat(found.retryAfterSeconds()).isEqualTo(expected.retryAfterSeconds());
    }
  }

  @Test
  void each_ofABulk_isSpentAsIfAlone() {
    Limit one = Limiter.of(current, BucketStore.inMemory(nowNanos::get)).limit("CallsPerText");
    Limit each = limiter.limit("CallsPerText");
    Random random = new Random(4);
    for (int round = 0; round < 200; round++) {
      nowNanos.addAndGet(random.nextInt(1_000_000_000));
      List<String> ids =
          random
              .ints(random.nextInt(100), 0, 60)
              .mapToObj(i -> i % 7 == 0 ? "ä" + i : "" + i)
              .toList();
      boolean[] spent = each.trySpendEach(ids);
      for (int i = 0; i < spent.length; i++) {
        assertThat(spent[i]).isEqualTo(one.trySpend(ids.get(i)));
      }
    }
    assertThatThrownBy(() -> limiter.limit("CallsPerAddress").trySpendEach(List.of("::1", "x")))
        .isInstanceOf(InvalidRequestException.class);
    assertThat(limiter.limit("CallsPerAddress").trySpendEach(List.of("::1", "0::1", "::1", "::01")))
        .containsExactly(true, true, true, false);
    current.replace(
        limits(3).override("CallsPerText", "b", Quota.per(1, Duration.ofDays(1))).build());
    assertThat(each.trySpendEach(List.of("b", "b", "new"))).containsExactly(true, false, true);
  }

  @Test
  void each_ofBytes_isSpentAsEachOfTexts() {
    Limit limit = limiter.limit("CallsPerText");
    byte[] text = "ä1".getBytes(StandardCharsets.UTF_8);
    assertThat(limit.trySpendEach(text, bytes("b"), text, text, text))
        .containsExactly(true, true, true, true, false);
    assertThat(limit.trySpend("ä1")).isFalse();
    assertThat(limit.trySpendEach()).isEmpty();
    byte[] half = {'c', (byte) 0xc3};
    assertThatThrownBy(() -> limit.trySpendEach(bytes("c"), half))
        .isInstanceOf(InvalidRequestException.class)
        .hasMessageContaining("not UTF-8");
    assertThat(limit.trySpend("c", 3)).as("nothing was spent").isTrue();
    current.replace(
        limits(3).override("CallsPerText", "b", Quota.per(1, Duration.ofDays(1))).build());
    assertThat(limit.trySpendEach(bytes("d"), bytes("b"))).containsExactly(true, false);
    assertThatThrownBy(() -> limit.trySpendEach(bytes("d"), half))
        .isInstanceOf(InvalidRequestException.class);
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  /** All that an act needs, and each id of many, ends by the time-out of one call. */
  @Test
  void store_thatHasToBeWaitedFor_isAskedWithinOneCall() {
    nowNanos.addAndGet(7_200_000_000_000L);
    AtomicInteger calls = new AtomicInteger();
    List<Integer> asked = new ArrayList<>();
    BucketStore network =
        new BucketStore() {
          @Override
          public List<Reading> charge(List<Charge> charges) {
            throw new AssertionError("not within a call");
          }

          @Override
          public BucketStore forOneCall() {
            int call = calls.incrementAndGet();
            return charges -> {
              asked.add(call);
              return store.charge(charges);
            };
          }
        };
    Limiter slow = Limiter.of(limits(3).build(), network);
    Limit limit = slow.limit("CallsPerText");
    assertThat(limit.trySpend("a")).isTrue();
    assertThat(limit.spend("a").allowed()).isTrue();
    assertThat(limit.trySpendEach(List.of("a", "a", "b"))).containsExactly(true, false, true);
    assertThat(asked).containsExactly(1, 2, 3, 3, 3);

    asked.clear();
    calls.set(0);
    nowNanos.addAndGet(-3_600_000_000_000L); // what was spent is a debt now
    assertThat(limit.trySpend("a")).isFalse();
    assertThat(limit.spend("b").denied()).isTrue();
    assertThat(asked).containsOnly(1, 2).startsWith(1, 1).endsWith(2, 2);
  }

  @Test
  void eachOfMany_whoseStoreFails_endsInItsFailure() {
    BucketStore failing =
        charges -> {
          if (charges.get(0).key().endsWith(":b")) {
            throw new StoreException("b is away");
          }
          return store.charge(charges);
        };
    Limit limit = Limiter.of(limits(3).build(), failing).limit("CallsPerText");
    assertThatThrownBy(() -> limit.trySpendEach(List.of("a", "b", "c")))
        .isInstanceOf(StoreException.class)
        .hasMessage("b is away");
    assertThatThrownBy(() -> limit.trySpendEach(List.of("b", "c"))).hasMessage("b is away");
    Thread.currentThread().interrupt();
    assertThat(limit.trySpendEach(List.of("a"))).containsExactly(true);
    assertThat(Thread.interrupted()).isTrue();
  }

  @Test
  void store_withoutAShortWay_answersTheSame() {
    BucketStore plain =
        new BucketStore() {
          @Override
          public List<Reading> charge(List<Charge> charges) {
            return store.charge(charges);
          }
        };
    Limit limit = Limiter.of(current, plain).limit("CallsPerText");
    assertThat(limit.trySpend("ä", 2)).isTrue();
    assertThat(limit.trySpendId(7, 3)).isTrue();
    assertThat(limiter.limit("CallsPerText").trySpendEach(List.of("ä", "ä", "7")))
        .containsExactly(true, false, false);
    assertThat(limit.trySpendEach(List.of("ä", "b", "b", "b", "b")))
        .containsExactly(false, true, true, true, false);
    assertThat(limit.spend("b").retryInNanos()).isEqualTo(1_000_000_000L);
  }

  @Test
  void store_thatFails_leavesItToTheRule() {
    BucketStore full = BucketStore.inMemory(nowNanos::get, 1);
    Limiter failing = Limiter.of(current, full);
    assertThat(failing.limit("CallsPerText").trySpend("a")).isTrue();
    assertThatThrownBy(() -> failing.limit("CallsPerText").trySpend("b"))
        .isInstanceOf(StoreException.class);
    Limiter denying = Limiter.builder(current, full).onFailure(FailureRule.deny()).build();
    Limit limit = denying.limit("CallsPerText");
    assertThat(limit.trySpend("b")).isFalse();
    assertThat(limit.trySpendId(7)).isFalse();
    assertThat(limit.trySpendUtf8(new byte[] {'b'})).isFalse();
    assertThat(limit.spend("b").degraded()).isTrue();
    assertThat(limit.trySpend("a")).isTrue();
  }

  /** The short ways to a store in memory leave neither an observer nor a rule out. */
  @Test
  void observer_hearsOfEachSpend_onEachWay() {
    List<String> heard = new ArrayList<>();
    Limiter observed =
        Limiter.builder(current, store)
            .observer(
                new LimiterObserver() {
                  @Override
                  public void decided(Act act, Decision decision, long elapsedNanos) {
                    heard.add(act + " " + decision.transaction().id());
                  }
                })
            .build();
    Limit limit = observed.limit("CallsPerText");
    assertThat(limit.spend("a").allowed()).isTrue();
    assertThat(limit.check("b").allowed()).isTrue();
    assertThat(limit.trySpend("c")).isTrue();
    assertThat(limit.trySpendUtf8(new byte[] {'d'})).isTrue();
    assertThat(limit.trySpendEach(List.of("e", "f"))).containsExactly(true, true);
    assertThat(heard)
        .containsExactly("SPEND a", "CHECK b", "SPEND c", "SPEND d", "SPEND e", "SPEND f");
  }

  @Test
  void eachOfMany_inAStoreThatIsFull_isAnsweredByTheRule() {
    BucketStore full = BucketStore.inMemory(nowNanos::get, 1);
    for (FailureRule rule : List.of(FailureRule.allow(), FailureRule.deny())) {
      boolean passes = rule.equals(FailureRule.allow());
      Limit limit = Limiter.builder(current, full).onFailure(rule).build().limit("CallsPerText");
      assertThat(limit.trySpendEach(List.of("a", "b"))).containsExactly(true, passes);
      assertThat(limit.trySpend("b")).isEqualTo(passes);
      assertThat(limit.trySpendUtf8(new byte[] {'b'})).isEqualTo(passes);
      assertThat(limit.spend("b").allowed()).isEqualTo(passes);
    }
  }

  /** A caller repeats a call that charged nothing, and would charge the other ids twice. */
  @Test
  void eachOfMany_afterOthers_whoseStoreIsFull_saysThatOthersMayHaveBeenCharged() {
    BucketStore full = BucketStore.inMemory(nowNanos::get, 2);
    BucketStore plain = charges -> full.charge(charges);
    for (Limiter limiter :
        List.of(
            Limiter.of(current, full),
            Limiter.builder(current, full).observer(new LimiterObserver() {}).build(),
            Limiter.of(current, plain))) {
      Limit limit = limiter.limit("CallsPerText");
      assertThatThrownBy(() -> limit.trySpendEach(List.of("a", "b", "new")))
          .isInstanceOfSatisfying(
              StoreException.class, e -> assertThat(e.chargedNothing()).isFalse())
          .hasMessageStartingWith("one of several ids failed, and others may have been charged: ")
          .hasMessageNotContaining("nothing was charged");
      assertThatThrownBy(() -> limit.trySpendEach(List.of("new", "a")))
          .isInstanceOfSatisfying(
              StoreException.class, e -> assertThat(e.chargedNothing()).isTrue());
    }
  }

  @Test
  void eachOfMany_underALimitThatIsUnlimited_passes() {
    Limit unlimited = limiter.limit("Unlimited");
    assertThat(unlimited.trySpendEach(List.of("a", "a"))).containsExactly(true, true);
    assertThat(unlimited.trySpendEach(bytes("a"))).containsExactly(true);
  }

  @Test
  void acquireAndReserve_takeOneTokenOrTheCost() throws Exception {
    Limit limit = Limit.of(Quota.per(5, Duration.ofMinutes(1)));
    assertThat(limit.acquire("a", Duration.ZERO).remaining()).isEqualTo(4);
    assertThat(limit.acquire("a", 2, Duration.ZERO).remaining()).isEqualTo(2);
    try (Reservation one = limit.reserve("a")) {
      assertThat(one.allowed()).isTrue();
      one.cancel();
    }
    assertThat(
            limit.async().acquire("a", 2, Duration.ZERO).toCompletableFuture().join().remaining())
        .isZero();
    assertThat(limit.acquire("a", Duration.ofSeconds(1)).denied()).isTrue();
    assertThatThrownBy(() -> limit.async().acquire("", Duration.ZERO).toCompletableFuture().join())
        .hasCauseInstanceOf(InvalidRequestException.class);
  }

  @Test
  void limiter_withoutNamedLimits_takesTheCallersQuotas() {
    Limiter plain = Limiter.of(store);
    LimitName plan = LimitName.builder(7, "CallsPerPlan").build();
    assertThat(plain.limit(plan, Quota.per(1, Duration.ofSeconds(1))).trySpend("a")).isTrue();
    assertThatThrownBy(() -> plain.spend("CallsPerPlan", "a"))
        .isInstanceOf(UnknownLimitException.class);
  }

  @Test
  void formats_callCanonicalOnlyWhatIs() {
    Random random = new Random(3);
    String alphabet = "0123456789abcdefABCDEF.:-/ é\u0001";
    for (var format :
        List.of(
            IdFormat.string(),
            IdFormat.ipAddress(),
            IdFormat.integer(),
            IdFormat.regId(),
            IdFormat.uuid())) {
      for (int i = 0; i < 20_000; i++) {
        String text = text(random, alphabet);
        byte[] ascii = text.getBytes(StandardCharsets.US_ASCII);
        boolean isAscii = text.chars().allMatch(c -> c < 0x80);
        if (isAscii && format.isCanonical(ascii, ascii.length)) {
          assertThat(format.canonical(text, Strictness.LENIENT)).isEqualTo(text);
        }
      }
    }
  }

  private static String text(Random random, String alphabet) {
    StringBuilder text = new StringBuilder();
    int length = random.nextInt(22);
    switch (random.nextInt(3)) {
      case 0 -> {
        for (int i = 0; i < length; i++) {
          text.append(alphabet.charAt(random.nextInt(alphabet.length())));
        }
      }
      case 1 -> text.append(random.nextLong() >> random.nextInt(64));
      default -> {
        for (int i = 0; i < 3 + random.nextInt(3); i++) {
          text.append(i == 0 ? "" : ".").append(random.nextInt(300));
        }
      }
    }
    return text.toString();
  }

  @Test
  void try_spend_makesNoObject() {
    Limit limit = limiter.limit("CallsPerText");
    String[] ids = new String[1_000];
    byte[][] bytes = new byte[ids.length][];
    for (int i = 0; i < ids.length; i++) {
      ids[i] = "user-" + (1_000_000_000L + i);
      bytes[i] = ids[i].getBytes(StandardCharsets.UTF_8);
    }
    // Allowed, denied, inserted and reused; as bytes, text and number.
    Runnable everything =
        () -> {
          for (int i = 0; i < ids.length; i++) {
            boolean unused =
                limit.trySpend(ids[i]) && limit.trySpendUtf8(bytes[i]) && limit.trySpendId(i);
          }
          nowNanos.addAndGet(500_000_000);
        };
    for (int i = 0; i < 300; i++) {
      everything.run();
    }
    var threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    long best = Long.MAX_VALUE;
    for (int i = 0; i < 20_000 && best > 0; i++) {
      long before = threads.getCurrentThreadAllocatedBytes();
      everything.run();
      best = Math.min(best, threads.getCurrentThreadAllocatedBytes() - before);
    }
    assertThat(best).isZero();
  }

  @Test
  void of_oneLine_limitsEachIdByItself() {
    Limit limit = Limit.of(Quota.per(2, Duration.ofMinutes(1)), nowNanos::get);
    assertThat(limit.spend("192.0.2.7").remaining()).isEqualTo(1);
    assertThat(limit.trySpend("192.0.2.7")).isTrue();
    Decision denied = limit.spend("192.0.2.7");
    assertThat(denied.denied()).isTrue();
    assertThat(denied.retryIn()).isEqualTo(Duration.ofSeconds(30));
    assertThat(denied.message()).startsWith("denied: at most 2 per 1m, retry after");
    assertThat(limit.trySpend("192.0.2.8", 2)).isTrue();
    nowNanos.addAndGet(Duration.ofSeconds(30).toNanos());
    assertThat(limit.spend("192.0.2.7").allowed()).isTrue();
  }

  @Test
  void of_twoLimits_shareNoBucket() {
    Quota quota = Quota.per(1, Duration.ofMinutes(1));
    assertThat(Limit.of(quota, nowNanos::get).trySpend("a")).isTrue();
    assertThat(Limit.of(quota, nowNanos::get).trySpend("a")).isTrue();
  }

  @Test
  void of_anyVerb_actsOnTheBucket() {
    Limit limit = Limit.of(Quota.per(5, Duration.ofMinutes(1)), nowNanos::get);
    try (Reservation attempt = limit.reserve("a", 3)) {
      assertThat(limit.check("a", 2).allowed()).isTrue();
      assertThat(limit.check("a", 3).denied()).isTrue();
      attempt.cancel();
    }
    assertThat(limit.check("a", 5).allowed()).isTrue();
    assertThat(limit.spend("a", 5).allowed()).isTrue();
    assertThat(limit.refund("a").remaining()).isEqualTo(1);
    limit.reset("a");
    assertThat(limit.spend("a", 5).allowed()).isTrue();
    assertThatThrownBy(() -> limit.spend("a", 6)).isInstanceOf(InvalidRequestException.class);
    assertThatThrownBy(() -> limit.refund("")).isInstanceOf(InvalidRequestException.class);
  }

  @Test
  void suppliedQuota_limitsReplaced_keepsTheQuotaAndRefusesANumberThatClashes() {
    LimitName plan = LimitName.builder(7, "CallsPerPlan").build();
    Limit limit = limiter.limit(plan, Quota.per(4, Duration.ofSeconds(1)));
    assertThat(limit.trySpend("a", 3)).isTrue();
    current.replace(
        limits(9).override("CallsPerText", "a", Quota.per(9, Duration.ofDays(1))).build());
    assertThat(limit.spend("a").remaining()).isZero();
    assertThat(limit.trySpend("a")).isFalse();
    assertThat(limit.name()).isEqualTo(plan);
    Catalogue clashing = Catalogue.of(LimitName.builder(7, "Other").build());
    current.replace(Limits.builder(clashing).build());
    assertThatThrownBy(() -> limit.trySpend("a"))
        .isInstanceOf(InvalidRequestException.class)
        .hasMessageContaining("number 7, which is the number of Other in the catalogue");
  }

  @Test
  void transactions_ofALimitWithOverrides_haveTheirQuota() {
    current.replace(
        limits(3).override("CallsPerText", "b", Quota.per(9, Duration.ofDays(1))).build());
    Limit limit = limiter.limit("CallsPerText");
    assertThat(limit.transaction("b").quota()).isEqualTo(Quota.per(9, Duration.ofDays(1)));
    assertThat(limit.refund("b").denied()).isTrue();
    assertThat(limit.reserve("b", 9).allowed()).isTrue();
    assertThat(limit.transaction("a").overridden()).isFalse();
    assertThat(limiter.limit("CallsPerNumber").transaction("007").id()).isEqualTo("7");
  }
}

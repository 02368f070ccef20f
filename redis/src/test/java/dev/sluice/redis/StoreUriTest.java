// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.redis.StoreUri.Host;
import dev.sluice.redis.StoreUri.Kind;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class StoreUriTest {

  @Test
  void parse_single_takesItApart() {
    StoreUri uri =
        StoreUri.parse("rediss://us%3Aer:p%40ss+1@[::1]:7000/3?timeout=200ms&prefix=a%26b");
    assertThat(uri.kind()).isEqualTo(Kind.SINGLE_TLS);
    assertThat(uri.hosts()).containsExactly(new Host("::1", 7000));
    assertThat(uri.user()).isEqualTo("us:er");
    assertThat(uri.password()).isEqualTo("p@ss+1");
    assertThat(uri.database()).isEqualTo(3);
    assertThat(uri.options()).containsEntry("timeout", "200ms").containsEntry("prefix", "a&b");
    assertThat(uri).hasToString("rediss://[::1]:7000/3");
  }

  @Test
  void parse_passwordOnly_hasNoUser() {
    assertThat(StoreUri.parse("redis://:secret@h").password()).isEqualTo("secret");
    assertThat(StoreUri.parse("redis://:secret@h").user()).isNull();
    assertThat(StoreUri.parse("redis://secret@h").password()).isEqualTo("secret");
  }

  @Test
  void parse_many_knowsAllHostsAndTheirUsualPorts() {
    assertThat(StoreUri.parse("redis-sentinel://a,b:5/2#mine").hosts())
        .containsExactly(new Host("a", 26379), new Host("b", 5));
    assertThat(StoreUri.parse("redis-sentinel://a,b:5/2#mine").master()).isEqualTo("mine");
    assertThat(StoreUri.parse("redis-cluster://a:1,b:2").kind()).isEqualTo(Kind.CLUSTER);
    assertThat(StoreUri.parse("redis-ring://a:1,b").hosts())
        .containsExactly(new Host("a", 1), new Host("b", 6379));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "http://h | scheme \"http\"",
        "reddis://h | did you mean \"redis\"?",
        "redis:h | no host",
        "redis://a,b | 2 hosts",
        "redis://a:x | no port after \"a:\"",
        "redis://a:70000 | no port after \"a:\"",
        "redis://a:0 | no port after \"a:\"",
        "redis-ring://a,,b | an empty host",
        "redis://a/x | database \"x\"",
        "redis://a/-1 | database \"-1\"",
        "redis://a#m | #m",
        "redis-sentinel://a | an address without the master's name",
        "redis-cluster://a/1 | database 1",
        "redis://a?timeout | name=value",
        "redis://a?prefix=a&prefix=b | option prefix twice",
        "redis://a?timeuot=1s | did you mean \"timeout\"?",
        "redis://a?timeout=soon | option timeout",
        "redis://a?timeout=0s | expected from 1ms",
        "redis://a?protocol=resp4 | found \"resp4\", expected one of [resp2, resp3]",
        "redis://a?queue=0 | expected at least 1",
        "redis://a?names=x | only for a redis-ring",
        "redis-ring://a,b?names=x,x | a different name for each",
        "redis-ring://a,b?names=,x | found [, x], expected a different name for each",
        "redis://a?clientName=a%20b | without spaces",
        "redis://a?sentinelPassword=x | Sentinel credentials require a redis-sentinel:// address",
        "redis-ring://a?sentinelUser=x | Sentinel credentials require a redis-sentinel:// address",
      })
  void open_badAddress_saysWhatWasFoundAndExpected(String uri, String expected) {
    assertThatThrownBy(() -> RedisStore.builder(uri))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining(expected);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "redis://app:S3cr/et@h",
        "redis://app:12/34x@h",
        "redis://app:12?34x@h",
        "redis://app:12#34x@h",
        "redis://app:1@2/34x@h",
        "redis://h?prefix=a@b",
      })
  void open_anAtBehindTheHost_saysHowToWriteItAndQuotesNothing(String uri) {
    assertThatThrownBy(() -> RedisStore.builder(uri))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage(
            "store: found an @ after the host; percent-encode the user and the password:"
                + " / as %2F, ? as %3F, # as %23, and an @ in an option as %40");
  }

  @Test
  void parse_atWithAPercentSign_isPartOfAnOption() {
    assertThat(StoreUri.parse("redis://h?prefix=a%40b").options()).containsEntry("prefix", "a@b");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "redis://user:secret@a:x",
        "redis://user:secret@a?no=1",
        "redis:user:secret@a",
        "user:secret@a",
        "secret@a",
        "redis://user:secret",
        "redis://:secret",
        "redis://user:secret@",
        "redis://user:sec@secret@a",
        "redis-ring://user:secret@a,user:other@b",
        "redis-ring://user:secret@a:1,b:x",
        "redis-sentinel://user:secret@a,b/0",
        "redis-sentinel://user:secret@a,b/x#mine",
        "redis-sentinel://a/0?sentinelPassword=secret",
        "redis-sentinel://a/0?sentinelPassword=secret&no=1#mine",
        "redis-sentinel://a/0?sentinelPassword=x&secret#mine",
        "redis-sentinel://a/0?sentinelPassword=x&secret=1#mine",
        "redis-sentinel://a/0?sentinelPassword=secret&timeout=soon#mine",
        "redis-sentinel://a/0?sentinelPassword=x#secret#mine",
        "redis-sentinel://a/0?sentinelPassword=p@secret#mine",
      })
  void open_badAddress_neverShowsThePassword(String uri) {
    assertThatThrownBy(() -> RedisStore.builder(uri))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageNotContaining("secret");
  }

  @ParameterizedTest
  @CsvSource({
    "redis://user:secret@a/x, store redis://…@a/x: found database",
    "redis://a/x, store redis://a/x: found database",
    "user:secret@a, store …@a: found scheme",
  })
  void open_badAddress_showsAllButTheLogin(String uri, String message) {
    assertThatThrownBy(() -> RedisStore.builder(uri)).hasMessageStartingWith(message);
  }

  @ParameterizedTest
  @CsvSource({
    "redis://a, false",
    "redis-sentinel://a/0#mine, false",
    "redis-ring://a, false",
    "'redis-ring://a,b', true",
    "redis-cluster://a, true",
  })
  void isSeveralServers_whereABatchMayNeedMore(String uri, boolean several) {
    assertThat(StoreUri.parse(uri).isSeveralServers()).isEqualTo(several);
  }

  @Test
  void withLogin_changesNothingElse() {
    assertThat(StoreUri.parse("redis://u:p@a:1/2?timeout=1s").withLogin("v", "q"))
        .isEqualTo(StoreUri.parse("redis://v:q@a:1/2?timeout=1s"));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "redis://user:sec ret@a",
        "redis://user:sec{ret@a",
        "redis://user:sec%zzret@a",
        "redis://user:sec\"ret@a",
        "redis://user:sec^ret@a:1/0?timeout=1s",
        "redis-ring://user:sec\\ret@a,b",
        "redis-cluster://user:sec|ret@a,b",
        "redis-sentinel://user:sec<ret@a,b/0#mine",
        "redis-sentinel://a,b/0?sentinelPassword=sec ret#mine",
      })
  void open_noUri_saysSoWithoutThePasswordThatUriQuotes(String address) {
    assertThatThrownBy(() -> RedisStore.open(address))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("the address is not a URI")
        .hasMessageContaining("percent-encode")
        .hasMessageNotContaining("user:")
        .hasMessageNotContaining("sec")
        .hasNoCause();
  }

  @ParameterizedTest
  @ValueSource(strings = {"redis-cluster", "redis-ring"})
  void parse_severalAddressesOfIpv6_knowsAll(String scheme) {
    StoreUri uri = StoreUri.parse(scheme + "://u:p@[::1]:7000,[2001:db8::2],h:7002?timeout=1s");
    assertThat(uri.hosts())
        .containsExactly(new Host("::1", 7000), new Host("2001:db8::2", 6379), new Host("h", 7002));
    assertThat(uri.password()).isEqualTo("p");
    assertThat(uri).hasToString(scheme + "://[::1]:7000,[2001:db8::2]:6379,h:7002/0");
  }

  @ParameterizedTest
  @CsvSource({
    "redis://a/x y, 12, redis",
    "redis-ring://a/x y, 17, redis-ring",
    "other://a/x y, 12, redis",
  })
  void open_noUri_saysWhereAndWhatWasExpected(String address, int character, String scheme) {
    assertThatThrownBy(() -> RedisStore.open(address))
        .hasMessageContaining(" at character %d), expected %s://host:port;", character, scheme);
  }

  @Test
  void sentinelUserAlone_isRefused() {
    assertThatThrownBy(() -> RedisStore.open("redis-sentinel://a/0?sentinelUser=watcher#mine"))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("option sentinelPassword");
  }
}

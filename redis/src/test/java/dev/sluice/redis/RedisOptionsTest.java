// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class RedisOptionsTest {

  private static final Path DOCUMENTATION = Path.of("..", "docs", "stores.md");

  /** A range as the options write it, and as the builder's comments do. */
  private static final Map<String, String> RANGES =
      Map.of(
          "1ms to 1h", "from 1 ms to an hour",
          "0s to 10m", "up to ten minutes",
          "up to 1h, off", "up to an hour",
          "1 or more", "at least 1");

  private static RedisOptions of(String uri) {
    return RedisOptions.of(StoreUri.parse(uri));
  }

  @Test
  void documentation_hasOneRowForEachOption() throws IOException {
    List<String> rows =
        Stream.concat(
                Stream.of("| option | values | default | meaning |", "|---|---|---|---|"),
                RedisOptions.ALL.stream().map(RedisOption::row))
            .toList();
    assertThat(Files.readAllLines(DOCUMENTATION)).containsSequence(rows);
  }

  @Test
  void builder_hasOneMethodForEachOption_ofItsName() {
    List<String> methods =
        Arrays.stream(RedisStoreBuilder.class.getDeclaredMethods())
            .filter(method -> Modifier.isPublic(method.getModifiers()))
            .filter(method -> method.getReturnType() == RedisStoreBuilder.class)
            .map(Method::getName)
            .filter(name -> !List.of("credentials", "observer").contains(name))
            .toList();
    assertThat(methods)
        .containsExactlyInAnyOrderElementsOf(
            RedisOptions.ALL.stream().map(RedisOption::name).toList());
  }

  static Stream<RedisOption<?>> numbers() {
    return RedisOptions.ALL.stream()
        .filter(
            option ->
                option.fallback() instanceof Duration || option.fallback() instanceof Integer);
  }

  @ParameterizedTest
  @MethodSource("numbers")
  void builder_namesTheDefaultAndTheRange(RedisOption<?> option) throws IOException {
    String[] cells = option.row().split(" \\| ", -1);
    String usual = cells[2].replaceAll("(\\d)([a-z])", "$1 $2");

    assertThat(commentInTheBuilder(option.name())).contains("by default " + usual);
    assertThat(RANGES).containsKey(cells[1]);
    assertThat(commentInTheBuilder(option.name())).contains(RANGES.get(cells[1]));
  }

  private static String commentInTheBuilder(String method) throws IOException {
    String source =
        Files.readString(Path.of("src/main/java/dev/sluice/redis/RedisStoreBuilder.java"));
    String before = source.substring(0, source.indexOf("RedisStoreBuilder " + method + "("));
    return before.substring(before.lastIndexOf("/**")).replaceAll("\\s+\\*\\s+", " ");
  }

  static Stream<RedisOption<?>> all() {
    return RedisOptions.ALL.stream();
  }

  @ParameterizedTest
  @MethodSource("all")
  void find_whatNobodySet_isTheDefault(RedisOption<?> option) {
    assertThat((Object) of("redis://h").find(option)).isEqualTo(option.fallback());
  }

  @Test
  void of_setInTheUri_isWhatItSays() {
    RedisOptions options =
        of(
            "redis-sentinel://h/0?timeout=200ms&connectTimeout=1s&clientName=me&protocol=resp2&tls=true"
                + "&verify=ca&prefix=a%26b&tag=account&clock=client&skew=5ms&denials=off&queue=7"
                + "&failures=2&probe=1s&sentinelUser=u&sentinelPassword=p#mine");
    assertThat(options.get(RedisOptions.TIMEOUT)).isEqualTo(Duration.ofMillis(200));
    assertThat(options.get(RedisOptions.CONNECT_TIMEOUT)).isEqualTo(Duration.ofSeconds(1));
    assertThat(options.get(RedisOptions.CLIENT_NAME)).isEqualTo("me");
    assertThat(options.get(RedisOptions.PROTOCOL)).isEqualTo(RedisStoreBuilder.Protocol.RESP2);
    assertThat(options.tls()).isTrue();
    assertThat(options.get(RedisOptions.VERIFY)).isEqualTo(RedisStoreBuilder.Verify.CA);
    assertThat(options.get(RedisOptions.PREFIX)).isEqualTo("a&b");
    assertThat(options.get(RedisOptions.TAG)).isEqualTo(HashTag.ACCOUNT);
    assertThat(options.settings().clock()).isNotNull();
    assertThat(options.get(RedisOptions.SKEW)).isEqualTo(Duration.ofMillis(5));
    assertThat(options.get(RedisOptions.DENIALS)).isZero();
    assertThat(options.get(RedisOptions.QUEUE)).isEqualTo(7);
    assertThat(options.get(RedisOptions.FAILURES)).isEqualTo(2);
    assertThat(options.get(RedisOptions.PROBE)).isEqualTo(Duration.ofSeconds(1));
    assertThat(options.get(RedisOptions.SENTINEL_USER)).isEqualTo("u");
    assertThat(options.get(RedisOptions.SENTINEL_PASSWORD)).isEqualTo("p");
    assertThatCode(options::check).doesNotThrowAnyException();
  }

  /** A password that nobody set would log in as the server's default user. */
  @Test
  @SuppressWarnings("NullAway") // a mistake of the application
  void builder_null_isRefusedByName() {
    RedisStoreBuilder builder = RedisStore.builder("redis://app:secret@h");
    assertThatThrownBy(() -> builder.credentials(null, "p")).hasMessage("user");
    assertThatThrownBy(() -> builder.credentials("app", null)).hasMessage("password");
    assertThatThrownBy(() -> builder.timeout(null)).hasMessage("timeout");
    assertThatThrownBy(() -> builder.names(null)).hasMessage("names");
    assertThatThrownBy(() -> builder.clock(null)).hasMessage("time");
    assertThatThrownBy(() -> builder.observer(null)).hasMessage("newObserver");
  }

  @Test
  void with_anotherValue_leavesTheOptionsAlone() {
    RedisOptions options = of("redis://h?queue=7");
    assertThat(options.with(RedisOptions.QUEUE, 9).get(RedisOptions.QUEUE)).isEqualTo(9);
    assertThat(options.get(RedisOptions.QUEUE)).isEqualTo(7);
  }

  @Test
  void tls_isThatOfTheScheme_unlessTheOptionSaysOtherwise() {
    assertThat(of("rediss://h").tls()).isTrue();
    assertThat(of("redis://h").tls()).isFalse();
    assertThat(of("redis://h?tls=true").tls()).isTrue();
    assertThat(of("rediss://h?tls=false").tls()).isFalse();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "redis://h?skew=1s | option skew requires clock=client",
        "redis-sentinel://h?sentinelUser=u#m | option sentinelUser requires the option sentinelPassword",
        "rediss://h?cert=pom.xml | the options cert and key require each other",
        "rediss://h?key=pom.xml | the options cert and key require each other",
        "redis://h?ca=pom.xml | certificates require TLS: write rediss://, or the option tls=true",
        "redis://h?verify=full | option verify requires TLS: write rediss://, or the option tls=true",
        "rediss://h?tls=false&verify=none | option verify requires TLS",
        "rediss://h?ca=pom.xml | option ca: the file pom.xml holds no X.509 certificate in PEM",
        "rediss://h?cert=pom.xml&key=pom.xml | option cert: the file pom.xml holds no X.509",
      })
  void check_contradictionOrWrongFile_isRefused(String uri, String message) {
    assertThatThrownBy(() -> of(uri).check())
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining(message);
  }

  /** The Spring Boot starter copies the setting of each connection factory. */
  @Test
  void check_verifySetInCodeWithoutTls_isNoContradiction() {
    RedisOptions options = of("redis://h").with(RedisOptions.VERIFY, RedisStoreBuilder.Verify.FULL);
    assertThatCode(options::check).doesNotThrowAnyException();
  }

  @Test
  void prefix_withBraces_isRefusedWhereItWouldPutAllKeysOnOneServer() {
    for (String uri : List.of("redis-cluster://h:1,h:2?", "redis-ring://h:1,h:2?")) {
      assertThatThrownBy(() -> of(uri + "prefix=%7Bshop%7D:").check())
          .hasMessageContaining("found a prefix with \"{\" ({shop}:), expected a prefix without");
      assertThatCode(() -> of(uri + "prefix=shop:").check()).doesNotThrowAnyException();
    }
    assertThatCode(() -> of("redis://h?prefix=%7Bshop%7D:").check()).doesNotThrowAnyException();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"timeout=1ms", "timeout=1h", "skew=0s", "skew=10m", "failures=1", "queue=1"})
  void of_leastAndMostOfARange_areAccepted(String option) {
    assertThatCode(() -> of("redis://h?clock=client&" + option).check()).doesNotThrowAnyException();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "redis://h?failures=0 | option failures: found 0, expected at least 1",
        "redis://h?timeout=2h | store redis://h:6379/0: option timeout: found 2h, expected from 1ms to 1h",
        "redis://h?skew=11m | option skew: found 11m, expected from 0s to 10m",
        "redis://h?tls=yes | option tls: found \"yes\", expected one of true, false",
        "redis://h?clock=mine | option clock: found \"mine\", expected one of server, client",
        "redis://h?ca=nowhere.pem | option ca: the file nowhere.pem cannot be read",
        "redis://h?queue=many | option queue: found \"many\", expected a whole number",
      })
  void of_valueThatIsRefused_saysWhereAndWhatWasExpected(String uri, String message) {
    assertThatThrownBy(() -> of(uri))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining(message);
  }
}

// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.util.stream.Collectors.joining;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.charset.Charset;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class WebPathTest {

  private static final String PLAIN = "aB0/.-_~+:@{}|";

  @ParameterizedTest
  @CsvSource({
    "/,                   /",
    "/login,              /login",
    "/login/,             /login",
    "//login//,           /login",
    "/./login/.,          /login",
    "/%2e/login,          /login",
    "/x/../login,         /login",
    "/x/%2e%2E/login,     /login",
    "/x/..;a=b/login,     /login",
    "/../../login,        /login",
    "/login;a=b/c;d,      /login/c",
    "/log%69n,            /login",
    "/a+b%2Bc,            /a+b+c",
    "/%C3%A9,             /é",
    "/;a/b,               /b",
    "/a%3Bb,              /a;b",
    "/%252e%252e/a,       /%2e%2e/a"
  })
  void firstReading_isOneForm(String path, String expected) {
    assertThat(WebPath.readings(path)).startsWith(expected);
  }

  /** A path without special characters is not taken apart; an escape in it has it taken apart. */
  @Test
  void readings_ofAPlainPath_areThoseOfTheSamePathWithAnEscape() {
    long seed = Long.getLong("sluice.seed", 1);
    Random random = new Random(seed);
    for (int i = 0; i < 20_000; i++) {
      StringBuilder path = new StringBuilder("/");
      random
          .ints(random.nextInt(8), 0, PLAIN.length())
          .forEach(at -> path.append(PLAIN.charAt(at)));
      String plain = path + "z";
      assertThat(WebPath.readings(plain))
          .as("%s, seed %s", plain, seed)
          .isEqualTo(WebPath.readings(path + "%7A"));
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "login",
        "*",
        "/a%00",
        "/a%zz",
        "/a%",
        "/a%4",
        "/a#b",
        "/#",
        "/a b",
        "/a%C2%85",
        "http:/a",
        "http:a",
        "http:///a",
        "http://x\\a",
        "//a#b"
      })
  void pathThatNobodyCanRead_isRefused(String path) {
    PlainRequest request = WebRequest.builder("GET", path).build();
    assertThatThrownBy(request::paths)
        .isInstanceOf(UnusableRequestException.class)
        .hasMessageStartingWith("the path ");
  }

  @ParameterizedTest
  @CsvSource({
    "/,               /,             -",
    "/a//b;c/,        /a/b,          -",
    "/x/../a//b;c/,   /a/b,          /x/../a/b",
    "/x/%2e/a,        /x/a,          /x/./a",
    "/%61,            /a,            -",
    "/a%2Fb,          /a%2Fb,        /a/b",
    "/a%2Fb%2f,       /a%2Fb%2F,     /a/b",
    "/a%5Cb,          /a\\b,          /a/b",
    "/a%252Fb,        /a%2Fb,        -"
  })
  void readings_areAllThatAnApplicationMayTakeAPathFor(String path, String one, String other) {
    assertThat(WebPath.readings(path))
        .isEqualTo(other.equals("-") ? List.of(one) : List.of(one, other));
  }

  @ParameterizedTest
  @CsvSource({
    "/a/b/,                    /a/b,                    -",
    "/a/../b,                  /b,                      /a/../b",
    "/a/%2e/b,                 /a/b,                    /a/./b",
    "/b;c=d,                   /b,                      /b;c=d",
    "/b%3bc,                   /b;c,                    /b",
    "/projects/g%2Fp/files,    /projects/g%2Fp/files,   /projects/g/p/files",
    "/@scope%2fname,           /@scope%2Fname,          /@scope/name",
    "/a%5Cb,                   /a\\b,                    /a/b",
    "/a\\b,                     /a\\b,                    /a/b",
    "/a%252Fb,                 /a%2Fb,                  -"
  })
  void readingsOfAny_areThoseOfEachKindOfApplication(String path, String one, String other) {
    assertThat(WebPath.readingsOfAny(path))
        .isEqualTo(other.equals("-") ? List.of(one) : List.of(one, other));
  }

  @Test
  void readingsOfAny_ofDotsAndParameters_areFour() {
    assertThat(WebPath.readingsOfAny("/a/../b;c"))
        .containsExactly("/b", "/a/../b", "/b;c", "/a/../b;c");
    assertThat(WebPath.readingsOfAny("/a/..;c/b")).containsExactly("/b", "/a/../b", "/a/..;c/b");
  }

  /**
   * {@code new URL}, {@code URI} and {@code urlparse} take what is behind two slashes for a host.
   */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "//x/login",
        "///x/login",
        "//x:80/login",
        "//u@x/login",
        "/\\x/login",
        "\\/x/login",
        "//x\\login",
        "/%5Cx/login",
        "/%2Fx/login",
        "//x//login/",
        "//x/y/../login",
        "//x/login;a=b",
        "/;a/x/login",
        "/.//x/login",
        "/y/..//x/login",
        "http://h/login",
        "HTTPS://u@h:1/login",
        "http://h//x/login"
      })
  void pathBehindAHost_isAReading(String target) {
    List<String> paths = readAs(target);
    assertThat(paths.isEmpty() || paths.contains("/login")).as("%s", paths).isTrue();
  }

  @Test
  void absoluteForm_isItsPathAndItsQuery() {
    PlainRequest request = WebRequest.builder("GET", "http://h:80/a%62?c=/d").build();
    assertThat(request.paths()).containsExactly("/ab");
    assertThat(request.query()).isEqualTo("c=/d");
    assertThat(WebRequest.builder("GET", "http://h?c").build().query()).isEqualTo("c");
    assertThat(WebRequest.builder("GET", "http://h").build().paths()).containsExactly("/");
    assertThat(WebRequest.builder("GET", "/http://h/a").build().paths())
        .containsExactly("/http:/h/a");
  }

  @Test
  void bytesOfUtf8_thatAreNotEscaped_areRead() {
    assertThat(readAs("/caf\u00c3\u00a9")).containsExactly("/caf\u00e9");
    assertThat(readAs("/caf\u00c3%A9")).containsExactly("/caf\u00e9");
    assertThat(readAs("/caf\u00e9")).containsExactly("/caf\u00e9");
    assertThat(readAs("/\u4e2d%20\ud83d\ude00")).containsExactly("/\u4e2d \ud83d\ude00");
    assertThat(readAs("/caf%E9")).containsExactly("/caf\ufffd");
  }

  @Test
  void readingsIn_areThoseOfAPathInAnotherCharset() {
    assertThat(WebPath.readingsIn(ISO_8859_1, "/caf%E9;x/%2e%2e/b%2Fc"))
        .containsExactly("/b/c", "/caf\u00e9/../b/c");
    assertThat(WebPath.readingsIn(Charset.forName("ISO-2022-KR"), "/%0Flogin"))
        .containsExactly("/login");
    assertThat(WebPath.readingsIn(Charset.forName("IBM037"), "/%93%96%87%89%95"))
        .startsWith("/login");
    assertThat(WebPath.readingsIn(ISO_8859_1, "/%zz")).containsExactly("/%zz");
  }

  private static List<String> readAs(String target) {
    try {
      return WebRequest.builder("GET", target).build().paths();
    } catch (UnusableRequestException e) {
      return List.of();
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "a",
        "/a/../%2e%2e",
        "/a/..;b/..",
        "/a/%2e/..;b",
        "/a%zz",
        "/a%00",
        "/a%2Fb%5Cc",
        "/a\\b%5cc",
        "/a%2F..",
        "/./a%2Fb",
        "/a;b%2Fc",
        "/a;%"
      })
  void readingsOfAny_ofWhatMayBeReadInMoreWays_areNone(String path) {
    assertThatThrownBy(() -> WebPath.readingsOfAny(path))
        .isInstanceOf(UnusableRequestException.class);
  }

  /** RFC 3986 removes the empty segment; applications that drop it first read {@code /login}. */
  @ParameterizedTest
  @CsvSource({
    "/api//../login,         /api/login",
    "/api//../login,         /login",
    "/api/x//../../login,    /api/login",
    "/api//x/../../login,    /api/login",
    "/api/;x/../login,       /api/login",
    "/api//%2e%2E/login,     /api/login",
    "/api//./../login,       /api/login",
    "//x/api//../login,      /api/login"
  })
  void dotsAfterAnEmptySegment_areReadInBothWays(String path, String expected) {
    assertThat(WebPath.readingsOfAny(path)).contains(expected);
    assertThat(WebPath.readings(path)).contains(expected);
  }

  /** Symfony's {@code Request::getPathInfo} is what follows the name of the front controller. */
  @ParameterizedTest
  @CsvSource({
    "/index.php/login,           /login",
    "/index.PHP/login,           /login",
    "/index%2Ephp/login,         /login",
    "/index.php%2Flogin,         /login",
    "/index.php;a/login,         /login",
    "/index.phplogin,            /login",
    "/index.php/x/../login,      /login",
    "/index.php,                 /",
    "/index.php/,                /",
    "/shop/index.php,            /shop",
    "/public/index.php/login,    /login",
    "/shop/index.php/login,      /shop/login",
    "/app.php/login,             /login",
    "/web/app_dev.php/login,     /login",
    "/wp-login.php/x,            /wp-login.php",
    "/wp-login.PHP;a/x,          /wp-login.PHP",
    "/wp-login.php%2Fx,          /wp-login.php",
    "/x.php/wp-login.php,        /x.php",
    "/a.php/index.php/login/b.php, /login/b.php"
  })
  void readingsOfAny_haveWhatAPhpScriptReads(String path, String expected) {
    assertThat(WebPath.readingsOfAny(path)).contains(expected);
  }

  /** Moodle, Nextcloud and others hand a path to a script; other files have such names, too. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "/wp-login.php",
        "/a.ph/b",
        "/files/config.php.dist",
        "/articles/what.php-users-need",
        "/my-index.php-notes",
        "/a/b.php7/c"
      })
  void readingsOfAny_ofAFileThatIsNoScript_areOne(String path) {
    assertThat(WebPath.readingsOfAny(path)).containsExactly(path);
  }

  @Test
  void readingsOfAny_ofAPathBelowAScript_areThePathAndTheScript() {
    assertThat(WebPath.readingsOfAny("/theme/image.php/boost/x"))
        .containsExactly("/theme/image.php/boost/x", "/theme/image.php");
    assertThat(WebPath.readingsOfAny("/remote.php/dav/files"))
        .containsExactly("/remote.php/dav/files", "/remote.php");
    assertThat(WebPath.readingsOfAny("/a/src%2FFoo.php/raw"))
        .containsExactly(
            "/a/src%2FFoo.php/raw", "/a/src/Foo.php/raw", "/a/src%2FFoo.php", "/a/src/Foo.php");
    assertThat(WebPath.readings("/index.php/login")).containsExactly("/index.php/login");
  }

  @Test
  void pathOfManyScripts_isRefused() {
    assertThatThrownBy(() -> WebPath.readingsOfAny("/x.php".repeat(7)))
        .isInstanceOf(UnusableRequestException.class)
        .hasMessage("the path has more than 5 names of PHP scripts");
  }

  /** Applications decode, split, drop parameters and resolve dots in orders of their own. */
  @Test
  void readingsOfAny_haveWhateverAnApplicationReads() {
    List<String> parts = List.of("/", "a", "%2F", "%5C", "\\", "..", ";p", "%3Bp", "%2e");
    int refused = 0;
    int number = (int) Math.pow(parts.size(), 5);
    for (int i = 0; i < number; i++) {
      StringBuilder path = new StringBuilder("/");
      for (int rest = i; rest > 0; rest /= parts.size()) {
        path.append(parts.get(rest % parts.size()));
      }
      List<String> readings;
      try {
        readings = WebPath.readingsOfAny(path.toString());
      } catch (UnusableRequestException e) {
        refused++;
        continue;
      }
      assertThat(readings)
          .as(path.toString())
          .contains(
              resolved(decoded(withoutParameters(path.toString()).replace("%2F", "%252F"))),
              resolved(decoded(withoutParameters(path.toString()))),
              resolved(withoutParameters(decoded(path.toString()))),
              resolved(
                  decoded(
                      withoutParameters(path.toString().replace('\\', '/'))
                          .replace("%2F", "%252F"))),
              resolved(decoded(resolved(withoutParameters(path.toString().replace("%2e", "."))))),
              resolved(decoded(withoutParameters(path.toString())).replace('\\', '/')),
              unresolved(decoded(withoutParameters(path.toString()).replace("%2F", "%252F"))),
              unresolved(decoded(resolved(withoutParameters(path.toString())))),
              resolved(decoded(path.toString())),
              unresolved(decoded(path.toString())),
              resolved(decoded(withoutParameters(path.toString().replaceAll("^//+[^/]*", "")))),
              resolved(withoutHost(decoded(withoutParameters(path.toString()))).replace('\\', '/')),
              unresolved(resolvedByRfc3986(decoded(withoutParameters(path.toString())))),
              unresolved(decoded(withoutParameters(resolvedByRfc3986(path.toString())))),
              unresolved(
                  resolvedByRfc3986(
                      withoutHost(decoded(withoutParameters(path.toString()))).replace('\\', '/'))),
              unresolved(
                  withoutHost(resolvedByRfc3986(decoded(withoutParameters(path.toString()))))
                      .replace('\\', '/')));
    }
    assertThat(refused).isLessThan(number * 3 / 4);
  }

  private static String withoutHost(String path) {
    return path.replaceAll("^[/\\\\]{2,}[^/\\\\]*", "");
  }

  private static String withoutParameters(String path) {
    return path.replaceAll(";[^/]*", "");
  }

  private static String decoded(String path) {
    return path.replaceAll("%2[eE]", ".")
        .replace("%2F", "/")
        .replace("%5C", "\\")
        .replace("%3B", ";")
        .replace("%252F", "%2F");
  }

  private static String unresolved(String path) {
    return "/" + Stream.of(path.split("/")).filter(name -> !name.isEmpty()).collect(joining("/"));
  }

  private static String resolved(String path) {
    Deque<String> names = new ArrayDeque<>();
    for (String name : path.split("/", -1)) {
      if (name.equals("..")) {
        names.pollLast();
      } else if (!name.isEmpty() && !name.equals(".")) {
        names.add(name);
      }
    }
    return "/" + String.join("/", names);
  }

  /** Resolves ".." as RFC 3986, section 5.2.4: it removes an empty segment, too. */
  private static String resolvedByRfc3986(String path) {
    Deque<String> names = new ArrayDeque<>();
    for (String name : path.substring(Math.min(1, path.length())).split("/", -1)) {
      if (name.equals("..")) {
        names.pollLast();
      } else if (!name.equals(".")) {
        names.add(name);
      }
    }
    return "/" + String.join("/", names);
  }

  @Test
  void plainRequest_hasItsParts() {
    WebRequest request =
        WebRequest.builder("GET", "/a%20b/?q=%20x&q=y")
            .header("X-Key", "1")
            .header("x-key", "2")
            .header("Cookie", "a=b; s=\"quoted\"")
            .header("Cookie", "s=t=u;broken")
            .peer("192.0.2.7")
            .user("ann")
            .build();

    assertThat(request.method()).isEqualTo("GET");
    assertThat(request.path()).isEqualTo("/a b");
    assertThat(request.paths()).containsExactly("/a b");
    assertThat(request.query()).isEqualTo("q=%20x&q=y");
    assertThat(request.headers("X-KEY")).containsExactly("1", "2");
    assertThat(request.headers("Other")).isEmpty();
    assertThat(request.cookies("s")).containsExactly("quoted", "t=u");
    assertThat(request.cookies("broken")).isEmpty();
    assertThat(WebRequest.builder("GET", "/").header("Cookie", "a=\"\";b=\"").build())
        .satisfies(one -> assertThat(one.cookies("a")).containsExactly(""))
        .satisfies(one -> assertThat(one.cookies("b")).containsExactly("\""));
    assertThat(request.peer()).isEqualTo("192.0.2.7");
    assertThat(request.user()).isEqualTo("ann");
    assertThatThrownBy(() -> request.unwrap(String.class))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("does not wrap a java.lang.String");
  }

  @Test
  void plainRequest_mayLackAllButAMethodAndAPath() {
    WebRequest request = WebRequest.builder("GET", "/").build();

    assertThat(request.query()).isNull();
    assertThat(request.peer()).isNull();
    assertThat(request.user()).isNull();
    assertThat(request.cookies("s")).isEmpty();
  }
}

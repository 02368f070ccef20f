// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.store.BucketStore;
import java.io.IOException;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The files of the web page as they are served; {@code PageTest} has the page in a browser. */
final class PageFilesTest {

  private static final Path FOLDER = Path.of("src/main/resources/dev/sluice/server/page");
  private static final Pattern IN_THE_MARKUP =
      Pattern.compile("<script(?![^>]*\\bsrc=)|<style|\\son[a-z]+=|\\sstyle=|javascript:");

  private static BucketStore store;
  private static TestServer server;

  @BeforeAll
  static void start() {
    store = BucketStore.inMemory();
    server = new TestServer(SampleFixture.limits(), store);
  }

  @AfterAll
  static void stop() {
    server.close();
    store.close();
  }

  private static HttpResponse<String> get(String path, String... headers) {
    return server.send("GET", path, BodyPublishers.noBody(), null, headers);
  }

  static List<String> files() throws IOException {
    try (Stream<Path> files = Files.list(FOLDER)) {
      return files
          .map(file -> file.getFileName().toString())
          .filter(name -> !name.equals("index.html"))
          .sorted()
          .toList();
    }
  }

  @ParameterizedTest
  @MethodSource("files")
  void eachFile_isServed_withItsTypeAndPolicy_andOnlyOnce(String file) throws IOException {
    HttpResponse<String> answer = get("/page/" + file);

    assertThat(answer.statusCode()).isEqualTo(200);
    assertThat(answer.body()).isEqualTo(Files.readString(FOLDER.resolve(file)));
    assertThat(answer.headers().firstValue("Content-Type").orElseThrow())
        .startsWith(
            file.endsWith(".js")
                ? "text/javascript"
                : file.endsWith(".css") ? "text/css" : "image/svg");
    assertThat(answer.headers().firstValue("X-Content-Type-Options")).contains("nosniff");
    assertThat(answer.headers().firstValue("Content-Security-Policy").orElseThrow())
        .contains("default-src 'none'")
        .doesNotContain("unsafe");
    String tag = answer.headers().firstValue("ETag").orElseThrow();
    HttpResponse<String> again = get("/page/" + file, "If-None-Match", tag);
    assertThat(again.statusCode()).isEqualTo(304);
    assertThat(again.body()).isEmpty();
  }

  @Test
  void index_isAPageForABrowser_andATextForOthers() {
    HttpResponse<String> page =
        get("/", "Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8");
    HttpResponse<String> text = get("/", "Accept", "*/*");

    assertThat(page.body()).startsWith("<!doctype html>");
    assertThat(page.headers().firstValue("Content-Type")).contains("text/html; charset=utf-8");
    assertThat(text.body()).startsWith("Sluice decides whether a request may pass.");
    assertThat(page.headers().firstValue("Vary")).contains("accept");
    assertThat(text.headers().firstValue("Vary")).contains("accept");
    assertThat(get("/").body()).isEqualTo(text.body());
  }

  @Test
  void page_loadsOnlyItsOwnFiles_andHasNoScriptInItsMarkup() throws IOException {
    String page = Files.readString(FOLDER.resolve("index.html"));

    assertThat(IN_THE_MARKUP.matcher(page).results()).isEmpty();
    for (String file : files()) {
      assertThat(Files.readString(FOLDER.resolve(file)))
          .as(file)
          .doesNotContain("innerHTML", "insertAdjacentHTML", "eval(", "setAttribute('style'")
          .doesNotContainPattern("(?<!xmlns=\")(?<!const SVG = ')https?://");
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "/page/",
        "/page/index.html",
        "/page/../http/index.txt",
        "/page/x.js",
        "/page/%2e%2e/a"
      })
  void otherPaths_leadToNoFile(String path) {
    assertThat(get(path).statusCode()).isIn(400, 404);
  }
}

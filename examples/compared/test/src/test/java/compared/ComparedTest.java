// SPDX-License-Identifier: Apache-2.0
package compared;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The same logins for all applications; docs/compared.md has the table that comes of it. */
class ComparedTest {

  private static final Path DOCS = Path.of("../../../docs/compared.md");
  private static final String BEGIN = "<!-- begin: results -->\n";
  private static final String END = "<!-- end: results -->";
  private static final int TRIALS = 3;

  /** By the name of the folder. */
  private static final Map<String, String> NAMES = new LinkedHashMap<>();

  static {
    NAMES.put("sluice", "Sluice");
    NAMES.put("bucket4j", "Bucket4j");
    NAMES.put("bucket4j-starter", "Bucket4j's starter");
    NAMES.put("resilience4j", "Resilience4j");
    NAMES.put("gateway", "Spring Cloud Gateway");
  }

  /**
   * A slow machine may delay a request too long, so an application whose column differs is tried
   * again. Where the docs are wrong, each trial differs.
   */
  @Test
  void table_ofTheDocs_isWhatHappens() throws Exception {
    String docs = Files.readString(DOCS);
    Map<String, Map<String, String>> columns = tried(NAMES.keySet());
    String found = withTable(docs, table(columns));
    for (int i = 1; i < TRIALS && !found.equals(docs); i++) {
      columns.putAll(tried(differing(docs, found)));
      found = withTable(docs, table(columns));
    }
    if (Boolean.getBoolean("sluice.write")) {
      Files.writeString(DOCS, found);
    }
    assertThat(Files.readString(DOCS)).isEqualTo(found);
  }

  private static String withTable(String docs, String table) {
    String before = docs.substring(0, docs.indexOf(BEGIN) + BEGIN.length());
    return before + table + docs.substring(docs.indexOf(END));
  }

  /** The applications whose columns are not the same in both pages. */
  private static Set<String> differing(String docs, String found) {
    Set<String> names = new LinkedHashSet<>();
    int index = 2; // behind what is before the row, and its label
    for (String name : NAMES.keySet()) {
      if (!column(docs, index).equals(column(found, index))) {
        names.add(name);
      }
      index++;
    }
    return names;
  }

  private static List<String> column(String page, int index) {
    return page.substring(page.indexOf(BEGIN) + BEGIN.length(), page.indexOf(END))
        .lines()
        .map(row -> row.split("\\|", -1)[index])
        .toList();
  }

  /** The columns, from a trial of each application. */
  private static Map<String, Map<String, String>> tried(Set<String> names) throws IOException {
    Map<String, Map<String, String>> columns = new LinkedHashMap<>();
    HttpServer backend = backend();
    ExecutorService threads = Executors.newFixedThreadPool(NAMES.size());
    try {
      Map<String, CompletableFuture<Map<String, String>>> trials = new LinkedHashMap<>();
      for (String name : names) {
        trials.put(
            name,
            CompletableFuture.supplyAsync(
                () -> Trial.run(name, backend.getAddress().getPort()), threads));
      }
      for (String name : names) {
        Map<String, String> column = new LinkedHashMap<>();
        column.put("lines of code and configuration", "" + lines(Path.of("..", name)));
        column.putAll(trials.get(name).join());
        columns.put(name, column);
      }
    } finally {
      threads.shutdownNow();
      backend.stop(0);
    }
    return columns;
  }

  /** What the gateway forwards to. */
  private static HttpServer backend() throws IOException {
    HttpServer server =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext(
        "/login",
        exchange -> {
          exchange.sendResponseHeaders(200, -1);
          exchange.close();
        });
    server.start();
    return server;
  }

  /** The lines that limit: neither the application's own, nor imports, comments and blank lines. */
  private static long lines(Path module) throws IOException {
    try (Stream<Path> files = Files.walk(module.resolve("src/main"))) {
      long lines = 0;
      for (Path file : files.filter(Files::isRegularFile).toList()) {
        if (!file.endsWith("LoginApplication.java")) {
          lines +=
              Files.readAllLines(file).stream()
                  .map(String::strip)
                  .filter(line -> !line.matches("|(import|package|//|#).*"))
                  .count();
        }
      }
      return lines;
    }
  }

  private static String table(Map<String, Map<String, String>> columns) {
    StringBuilder table = new StringBuilder();
    row(table, "", NAMES.values().stream());
    row(table, "---", NAMES.keySet().stream().map(name -> "---"));
    List<String> labels = List.copyOf(columns.get("sluice").keySet());
    for (String label : labels) {
      row(table, label, columns.values().stream().map(column -> column.get(label)));
    }
    return table.toString();
  }

  private static void row(StringBuilder table, String label, Stream<String> cells) {
    String text = cells.collect(Collectors.joining(" | "));
    table.append("| ").append(label).append(" | ").append(text).append(" |\n");
  }

  @Test
  void docs_quoteSluice() throws Exception {
    String file = "sluice/src/main/resources/application.yml";
    assertThat(Files.readString(DOCS))
        .contains(
            "<!-- from: "
                + file
                + " -->\n```yaml\n"
                + Files.readString(Path.of("..").resolve(file)).strip()
                + "\n```");
  }
}

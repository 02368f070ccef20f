// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import javax.tools.Diagnostic;
import javax.tools.DiagnosticCollector;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The first snippet of a page compiles when it is copied together with its imports. */
final class SnippetsTest {

  private static final Pattern JAVA = Pattern.compile("```java\n(.*?)```", Pattern.DOTALL);

  @TempDir private Path folder;

  /** The second column declares the variables that the snippet expects from the reader's code. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "../README.md |",
        "acme.md |",
        "stores.md |",
        "java-api.md | int unused;",
        "memory-store.md | Limiter limiter = null; String address = null;",
        "metrics.md | dev.sluice.store.BucketStore store = null;",
      })
  void firstSnippet_compiles(String page, String variables) throws IOException {
    List<String> snippets =
        JAVA.matcher(Files.readString(Path.of("../docs", page)))
            .results()
            .map((MatchResult snippet) -> snippet.group(1))
            .toList();
    String source =
        variables == null ? snippets.get(0) : snippets.get(0) + method(variables, snippets.get(1));

    assertThat(mistakes(source)).isEmpty();
  }

  private static String method(String variables, String body) {
    return """
        class Copied {
          static dev.sluice.limit.Limits limits() { return null; }
          static Object copied() throws Exception { %s %s return null; }
        }
        """
        .formatted(variables, body);
  }

  private List<String> mistakes(String source) {
    DiagnosticCollector<JavaFileObject> found = new DiagnosticCollector<>();
    Objects.requireNonNull(ToolProvider.getSystemJavaCompiler())
        .getTask(
            null,
            null,
            found,
            List.of("-proc:none", "-d", folder.toString()),
            null,
            List.of(new Source(source)))
        .call();
    return found.getDiagnostics().stream()
        .filter(one -> one.getKind() == Diagnostic.Kind.ERROR)
        .map(one -> "line " + one.getLineNumber() + ": " + one.getMessage(Locale.ROOT))
        .toList();
  }

  private static final class Source extends SimpleJavaFileObject {

    private final String text;

    Source(String text) {
      super(URI.create("string:///Copied.java"), Kind.SOURCE);
      this.text = text;
    }

    @Override
    public CharSequence getCharContent(boolean ignoreEncodingErrors) {
      return text;
    }
  }
}

// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.tools.Diagnostic;
import javax.tools.DiagnosticCollector;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;

/**
 * Each snippet of Java in the documentation compiles alone, unless it begins with {@code //
 * continued}: it is a file, or imports with either members of a class or statements of a method. A
 * snippet below {@code <!-- from: FILE#PART -->} is equal to that part of a program, which may have
 * its imports elsewhere.
 */
final class SnippetsTest {

  private static final Path ROOT = Path.of("..");

  private static final Pattern SNIPPET =
      Pattern.compile(
          "(?:<!-- from: (\\S+)#(\\S+) -->\n)?```(?:java|kotlin)\n(.*?)```", Pattern.DOTALL);

  private static final Pattern IMPORTS = Pattern.compile("\\A(?:import [^\n]*\n)+\n");

  /** What is around the part of a snippet below its imports. */
  private static final List<String> FRAMES =
      List.of(
          "%s", "class Copied { %s }", "class Copied { void copied() throws Exception { %s } }");

  private static final JavaCompiler COMPILER =
      Objects.requireNonNull(ToolProvider.getSystemJavaCompiler());

  /** One for all snippets, since it reads the jars of the class path. */
  private static final StandardJavaFileManager FILES =
      COMPILER.getStandardFileManager(null, null, null);

  @TempDir private Path folder;

  @AfterAll
  static void close() throws IOException {
    FILES.close();
  }

  @TestFactory
  Stream<DynamicTest> snippet_alone_compiles() throws IOException {
    return snippets("```java\n")
        .filter(snippet -> !snippet.group(3).startsWith("// continued\n"))
        .map(snippet -> DynamicTest.dynamicTest(title(snippet), () -> compile(snippet.group(3))));
  }

  @TestFactory
  Stream<DynamicTest> snippet_fromAProgram_isEqualToItsPart() throws IOException {
    List<Path> programs = new ArrayList<>();
    for (String tree : List.of("examples", "outbound/src", "kotlin/src")) {
      try (Stream<Path> files = Files.walk(ROOT.resolve(tree))) {
        files.filter(file -> !file.toString().contains("/target/")).forEach(programs::add);
      }
    }
    return snippets("<!-- from: ")
        .map(
            snippet ->
                DynamicTest.dynamicTest(
                    title(snippet),
                    () ->
                        assertThat(
                                IMPORTS
                                    .matcher(snippet.group(3))
                                    .replaceFirst("")
                                    .replaceFirst("\\A// continued\n", "")
                                    .strip())
                            .isEqualTo(part(programs, snippet.group(1), snippet.group(2)))));
  }

  private static Stream<MatchResult> snippets(String start) throws IOException {
    List<Path> pages = new ArrayList<>(List.of(ROOT.resolve("README.md")));
    try (Stream<Path> files = Files.walk(ROOT.resolve("docs"))) {
      files.filter(file -> file.toString().endsWith(".md")).forEach(pages::add);
    }
    List<MatchResult> found =
        pages.stream()
            .flatMap(page -> SNIPPET.matcher(read(page)).results())
            .filter(snippet -> snippet.group().contains(start))
            .toList();
    assertThat(found).as("the snippets of all pages").hasSizeGreaterThan(20);
    return found.stream();
  }

  private static String title(MatchResult snippet) {
    return snippet.group(3).lines().filter(line -> !line.startsWith("import ")).toList().toString();
  }

  private static String part(List<Path> programs, String name, String part) {
    String program =
        programs.stream()
            .filter(file -> file.endsWith(name))
            .map(SnippetsTest::read)
            .filter(text -> text.contains("// begin: " + part + "\n"))
            .findFirst()
            .orElseThrow();
    String rest = program.split("// begin: " + part + "\n", 2)[1];
    return rest.substring(0, rest.indexOf("// end: " + part + "\n")).stripIndent().strip();
  }

  private void compile(String snippet) {
    var imports = IMPORTS.matcher(snippet);
    int body = imports.lookingAt() ? imports.end() : 0;
    assertThat(FRAMES)
        .anySatisfy(
            frame ->
                assertThat(
                        mistakes(
                            snippet.substring(0, body) + frame.formatted(snippet.substring(body))))
                    .isEmpty());
  }

  private List<String> mistakes(String source) {
    DiagnosticCollector<JavaFileObject> found = new DiagnosticCollector<>();
    COMPILER
        .getTask(
            null,
            FILES,
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

  private static String read(Path file) {
    try {
      return Files.readString(file);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
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

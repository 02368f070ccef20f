// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.cli.Prose.Kind;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Everything that people read is plain English: Markdown; the comments, help texts and messages of
 * main code; the web page, the description of the HTTP interface, the examples, the comments of
 * scripts and of poms. Each rule names a phrase that needs two readings, and what to write instead.
 * Sentences have at most {@value #MOST_WORDS} words. That is not checked in messages, where values
 * stand between the words.
 */
class PlainEnglishTest {

  private static final int MOST_WORDS = 30;

  private static final Set<Kind> ALL = EnumSet.allOf(Kind.class);

  /** A question is a good heading, and the table of contents of its page. */
  private static final Set<Kind> SENTENCES = EnumSet.of(Kind.MESSAGE, Kind.PARAGRAPH);

  private static final Pattern SENTENCE_END = Pattern.compile("[.!?…][)*_\"”]*(?= |$|¶)|¶");

  /** Tags of HTML and of Javadoc end a sentence too. */
  private static final Pattern JAVADOC_SENTENCE_END =
      Pattern.compile(
          SENTENCE_END + "|(?=</?(?:p|[uod]l|li|d[td]|h\\d|table|t[rdh])\\b)|(?<= )(?=@[a-z])");

  /** Of Java, main code; of JSON, what users see. Pages, scripts, poms and examples as well. */
  private static final Pattern READ =
      Pattern.compile(
          ".*\\.md|.*/src/main/.*\\.(?:java|kt|js|html|lua|ya?ml)|.*/openapi\\.json"
              + "|(?:examples|\\.github)/.*\\.(?:ya?ml|sh|py|conf|lua)|(?:.*/)?pom\\.xml");

  /** Scripts and settings, by their first line. Maven's, and what a test reads, are not ours. */
  private static final Pattern WITHOUT_ENDING =
      Pattern.compile("(?!.*FuzzTestInputs/)(?:.*/)?(?!mvnw$)[^./]+");

  private static final Pattern LIBRARY =
      Pattern.compile(
          "(?:acme|core|grpc|micrometer|outbound|postgres|redis|servlet|spring-boot-starter"
              + "|testkit|testkit-servers|web|webflux|yaml)/src/main/.*\\.java");

  private static final String QUESTION_IN_JAVADOC =
      "/\\*\\*[\\s*]*(?<word>Whether|How|What|When|Where|Which|Why)\\b(?<rest>(?:(?!\\*/).)*+)\\*/"
          + "\\s*+(?:@\\w+(?:\\([^)]*\\))?\\s*+)*+";

  /** A doc comment of a public or protected member that begins as a question does. */
  private static final Pattern QUESTION =
      Pattern.compile(QUESTION_IN_JAVADOC + "(?:public|protected)\\b", Pattern.DOTALL);

  /** The members of an interface are public unless they say otherwise. */
  private static final Pattern QUESTION_IN_INTERFACE =
      Pattern.compile(QUESTION_IN_JAVADOC + "(?!private\\b)", Pattern.DOTALL);

  private static final Pattern INTERFACE =
      Pattern.compile("(?m)^public (?:sealed |non-sealed )?@?interface ");

  /** A free relative in the place of a noun; a question ends with its mark. */
  private static final String FREE_RELATIVE = "(?:^|[.:;!¶] |<p>)%s(?= )(?![^.!?]*\\?)";

  private static final List<Rule> RULES =
      List.of(
          new Rule("\\b[Ss]eed[ -]systems?\\b", ALL, "Boulder"),
          new Rule("\\b[Ww]hoever\\b", ALL, "a caller that, anyone who, or the noun"),
          new Rule("\\b[Cc]an not\\b", ALL, "cannot"),
          new Rule(
              "(?<!\\b[Tt]here )\\b(?:[Ii]s|[Aa]re|[Ww]as|[Ww]ere) no"
                  + " (?!more\\b|less\\b|other\\b|different\\b"
                  + "|(?:earli|fast|high|larg|lat|long|low|new|old|slow|small|wid)er\\b)[a-zA-Z]+",
              ALL,
              "is not a … (\"there is no …\" is fine)"),
          new Rule(
              "\\b(?:has|have|had) not (?:an?|the|one|this|that|its|any|all|enough)\\b",
              ALL,
              "does not have, lacks"),
          new Rule("\\b(?:has|have|had) not(?=[,;:.)])", ALL, "does not have, lacks"),
          new Rule("\\b(?:for|by) itself\\b", ALL, "separately, alone, automatically, on its own"),
          new Rule("\\b[Bb]locks never\\b", ALL, "Never blocks"),
          new Rule("\\b[Mm]eanwhile\\b", ALL, "in between, until then, at the same time"),
          new Rule("\\b[Oo]ne more\\b", ALL, "another, a further"),
          new Rule("\\bborne\\b", ALL, "tolerated"),
          new Rule("\\banew\\b", ALL, "again; reconnects"),
          new Rule("\\b[Aa]ll that is wrong\\b", ALL, "every error"),
          new Rule("\\bas many as may\\b", ALL, "queue full"),
          new Rule("\\bsomething dear\\b", ALL, "something critical"),
          new Rule("(?:^|[.:;!¶] |<p>)Tells of\\b", ALL, "recognizes, reports"),
          new Rule("\\bdo(?:es)? not go together\\b", ALL, "contradict each other"),
          new Rule("\\bagain and again\\b", ALL, "repeatedly, periodically"),
          new Rule("\\b[Jj]ust now\\b", ALL, "now, currently"),
          new Rule("\\bin lots of\\b", ALL, "ten at a time"),
          new Rule("\\bmade a mistake\\b", ALL, "internal error"),
          new Rule("\\bfound it (?:for|with)\\b", ALL, "… requires …, found …"),
          new Rule("\\bfound no\\b[^.]*, expected (?:one|it)\\b", ALL, "the … is missing"),
          new Rule("\\bexpected at most that\\b", ALL, "… has more than … bytes, … are allowed"),
          new Rule(
              FREE_RELATIVE.formatted("Who"),
              EnumSet.complementOf(EnumSet.of(Kind.HEADING)),
              "A caller that"),
          new Rule(FREE_RELATIVE.formatted("What"), SENTENCES, "the noun that it stands for"));

  /** Where a phrase is right. An entry that is not needed any more fails the test. */
  private static final List<Allowed> ALLOWED = List.of();

  @Test
  void text_ofTheRepository_isPlainEnglish() {
    Set<Allowed> unused = new LinkedHashSet<>(ALLOWED);
    List<String> found = new ArrayList<>();
    for (Path file : files()) {
      for (Finding finding : findings(RepositoryFiles.name(file), RepositoryFiles.read(file))) {
        List<Allowed> reasons = ALLOWED.stream().filter(one -> one.allows(finding)).toList();
        reasons.forEach(unused::remove);
        if (reasons.isEmpty()) {
          found.add(finding.toString());
        }
      }
    }

    assertThat(found).as("sentences to write in plain English").isEmpty();
    assertThat(unused).as("allowed phrases that no file has any more").isEmpty();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "/** Blocks never. */                 | Blocks never | Never blocks",
        "// shared with the seed system       | seed system  | Boulder",
        "// whoever drains sees it            | whoever      | a caller that",
        "throw bad(\"text that is no number\"); | is no number | is not a",
        "fail(\"the limit has not an id\");     | has not an   | does not have",
        "fail(\"a name which it has not.\");    | has not      | does not have",
        "fail(\"it can \" + \"not be read\");     | can not      | cannot",
        "/** <p>Who gives up is charged. */   | Who          | A caller that",
        "fail(\"What is held is freed.\");      | What         | the noun",
        "/* It comes back by itself. */       | by itself    | automatically",
        "/** Takes one more. */               | one more     | another",
        "fail(\"found no id, expected one\");  | found no id, expected one | is missing",
        "fail(\"expected at most that\");      | expected at most that | are allowed",
      })
  void findings_ofBadJava_nameThePhrase_andWhatToWrite(
      String source, String phrase, String instead) {
    assertThat(findings("A.java", "\n" + source))
        .singleElement()
        .asString()
        .startsWith("A.java:2: \"" + phrase + "\"")
        .contains(instead);
  }

  @Test
  void findings_ofAPhraseOverTwoLines_nameTheFirst() {
    assertThat(findings("A.java", "/**\n * Text that is\n * no number.\n */"))
        .extracting(Finding::line)
        .containsExactly(2);
    assertThat(findings("A.java", "// It comes back by\n// itself."))
        .extracting(Finding::line)
        .containsExactly(1);
    assertThat(findings("a.md", "- Spends\n  meanwhile.\n"))
        .extracting(Finding::line)
        .containsExactly(2);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "/** There is no bucket. */",
        "// It is no longer than a line, and has not been read.",
        "// Who sees which? See {@code whoever}.",
        "int seedSystem = 1; char quote = '\"'; // a \"text\" in a comment",
        "String url = \"http://host/path\"; int meanwhile;",
      })
  void findings_ofGoodJava_areNone(String source) {
    assertThat(findings("A.java", source)).isEmpty();
  }

  @Test
  void findings_ofMarkdown_leaveOutCodeAndHeadings() {
    String text =
        """
        ## What it promises

        A caller calls `whoever()`, see [there](docs/seed-system.md). Who may ask?

        ```java
        // whoever reads this
        ```

        | a cell | What is held |
        """;

    assertThat(findings("a.md", text))
        .singleElement()
        .hasToString(
            "a.md:9: \"What\": write: the noun that it stands for. Found in: What is held");
  }

  @Test
  void findings_ofALongSentence_tellItsWords() {
    String thirty = "word ".repeat(MOST_WORDS - 1) + "`one piece of code`.";
    String longer = "Short. Word, " + "word ".repeat(MOST_WORDS) + "\nword. Short.";

    assertThat(findings("a.md", thirty + " " + thirty)).isEmpty();
    assertThat(findings("a.md", "\n" + longer))
        .singleElement()
        .asString()
        .startsWith("a.md:2: a sentence of 32 words: write: at most 30");
    assertThat(findings("A.java", "fail(\"" + longer.replace('\n', ' ') + "\");")).isEmpty();
  }

  @Test
  void findings_ofLongComments() {
    String words = "word ".repeat(MOST_WORDS);
    String longer = "/**\n * " + words + "word\n */";

    assertThat(findings("core/A.java", longer))
        .singleElement()
        .asString()
        .startsWith("core/A.java:2: a sentence of 31 words: write: at most 30");
    assertThat(findings("core/A.java", longer.replace("/**", "/*"))).hasSize(1);
    assertThat(findings("core/A.java", "// " + words + "\n// word")).hasSize(1);
    assertThat(findings("a.yml", "# " + words + "\n# word\n# Word.")).hasSize(1);
    assertThat(findings("a.yml", "# " + words + "\na: 1 # word\nb: 2 # word")).isEmpty();
    assertThat(findings("core/A.java", "/*\n " + words + "\n\n word\n - word\n     now ─▶ */"))
        .isEmpty();
    assertThat(findings("core/A.java", "/** " + words + "<p>word {@code a b} @return word */"))
        .isEmpty();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "a.kt              | /** Takes one more. */",
        "page/a.js         | const text = 'It takes one more';",
        "page/a.js         | text = `It takes one more of ${limit}`;",
        "page/a.js         | // It takes one more",
        "page/index.html   | <p>It takes one more</p>",
        "page/index.html   | <!-- one more -->",
        "http/openapi.json | {\"description\": \"It takes one more\"}",
        "a.yml             | a: 1 # one more",
        "a.lua             | -- one more",
      })
  void findings_ofOtherFiles(String name, String source) {
    assertThat(findings(name, source)).hasSize(1);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "pom.xml   | <!-- It takes one more -->",
        "a/pom.xml | <description>It takes one more</description>",
        ".ci/run   | # It takes one more",
        "sluice    | # It takes one more",
      })
  void findings_ofPomsAndScripts(String name, String source) {
    assertThat(findings(name, source)).hasSize(1);
    assertThat(findings(name, source.replaceAll("<!-- | -->|</?description>|# ", ""))).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "/** Whether it fits. */ public boolean fits();",
        "/**\n * How long it takes.\n *\n * @return it\n */\n @Nullable public Duration time();",
        "public interface A {\n /** Where it is. */\n Path place();",
      })
  void findings_ofAPublicMember_whoseCommentBeginsAsAQuestion(String source) {
    assertThat(findings("core/src/main/java/A.java", source))
        .singleElement()
        .asString()
        .contains("a noun phrase, or a verb");
    assertThat(findings("cli/src/main/java/A.java", source)).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "/** Returns whether it fits. */ public boolean fits();",
        "/** Whether it fits. */ boolean fits();",
        "/** Whether it fits. */ private boolean fits() {}\n /** It. */ public int it();",
        "public interface A {\n /** Where it is. */\n private Path place() {}",
      })
  void findings_ofOtherMembers_areNone(String source) {
    assertThat(findings("core/src/main/java/A.java", source)).isEmpty();
  }

  @Test
  void files_areThoseOfTheRepository() {
    assertThat(files())
        .extracting(RepositoryFiles::name)
        .contains(
            "README.md",
            "docs/decisions/README.md",
            "core/src/main/java/dev/sluice/Limiter.java",
            "kotlin/src/main/kotlin/dev/sluice/kotlin/Limiters.kt",
            "redis/src/main/resources/dev/sluice/redis/charge.lua",
            "server/src/main/resources/dev/sluice/server/page/index.html",
            "server/src/main/resources/dev/sluice/server/page/main.js",
            "server/src/main/resources/dev/sluice/server/http/openapi.json",
            "examples/nginx/rules.yml",
            "pom.xml",
            "bom/pom.xml",
            "sluice",
            ".ci/run",
            "benchmarks/run",
            "packages/Containerfile")
        .doesNotContain("mvnw", "LICENSE")
        .noneMatch(file -> file.contains("target"));
  }

  private static List<Finding> findings(String name, String source) {
    List<Finding> found = new ArrayList<>();
    for (Prose prose : Prose.of(name, source)) {
      for (Rule rule : RULES) {
        if (rule.places().contains(prose.kind())) {
          Matcher phrase = rule.pattern().matcher(prose.text());
          while (phrase.find()) {
            found.add(rule.finding(name, prose, phrase.start(), phrase.end()));
          }
        }
      }
      if (prose.kind() != Kind.MESSAGE || name.endsWith(".json")) {
        addLongSentences(name, prose, found);
      }
    }
    if (LIBRARY.matcher(name).matches()) {
      addQuestions(name, source, found);
    }
    return found;
  }

  private static void addQuestions(String name, String source, List<Finding> found) {
    Pattern pattern = INTERFACE.matcher(source).find() ? QUESTION_IN_INTERFACE : QUESTION;
    Matcher question = pattern.matcher(source);
    while (question.find()) {
      String before = source.substring(0, question.start("word"));
      found.add(
          new Finding(
              name,
              1 + (int) before.chars().filter(c -> c == '\n').count(),
              "\"" + question.group("word") + "\" begins the comment of a public member",
              "a noun phrase, or a verb: \"Returns whether\"",
              question.group("rest").lines().findFirst().orElse("").strip()));
    }
  }

  private static void addLongSentences(String name, Prose prose, List<Finding> found) {
    int start = 0;
    Matcher end =
        (prose.kind() == Kind.JAVADOC ? JAVADOC_SENTENCE_END : SENTENCE_END).matcher(prose.text());
    while (start < prose.text().length()) {
      int next = end.find() ? end.end() : prose.text().length();
      String sentence = prose.text().substring(start, next).strip();
      long words =
          Stream.of(sentence.split(" ", -1))
              .filter(word -> word.chars().anyMatch(Character::isLetterOrDigit))
              .count();
      if (words > MOST_WORDS) {
        int first = prose.text().charAt(start) == ' ' ? start + 1 : start;
        found.add(
            new Finding(
                name,
                prose.line(first),
                "a sentence of " + words + " words",
                "at most " + MOST_WORDS,
                sentence));
      }
      start = next;
    }
  }

  private static List<Path> files() {
    return RepositoryFiles.all().stream()
        .filter(file -> READ.matcher(RepositoryFiles.name(file)).matches() || isScript(file))
        .toList();
  }

  private static boolean isScript(Path file) {
    return WITHOUT_ENDING.matcher(RepositoryFiles.name(file)).matches()
        && RepositoryFiles.read(file).startsWith("#");
  }

  /** A phrase, where it may not stand, and what to write instead. */
  private record Rule(Pattern pattern, Set<Kind> places, String instead) {

    Rule(String regex, Set<Kind> places, String instead) {
      this(Pattern.compile(regex), places, instead);
    }

    Finding finding(String file, Prose prose, int start, int end) {
      String text = prose.text();
      String phrase = text.substring(start, end).replaceAll("^(?:[.:;!] |<p>)", "");
      int at = end - phrase.length();
      String around = text.substring(Math.max(0, at - 40), Math.min(text.length(), end + 60));
      return new Finding(file, prose.line(at), "\"" + phrase + "\"", instead, around.strip());
    }
  }

  private record Finding(String file, int line, String what, String instead, String text) {

    @Override
    public String toString() {
      return "%s:%s: %s: write: %s. Found in: %s".formatted(file, line, what, instead, text);
    }
  }

  /** A phrase that is right in one file, with the reason. */
  private record Allowed(String file, String phrase, String reason) {

    boolean allows(Finding finding) {
      return finding.file().equals(file) && finding.what().equals("\"" + phrase + "\"");
    }
  }
}

// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A stretch of text that people read: a comment, a message, or a paragraph, cell or heading of
 * Markdown. Code in it is blotted out, and white space is single. Immutable.
 */
final class Prose {

  /** Where a text stands; some rules hold in one place only. */
  enum Kind {
    COMMENT,
    JAVADOC,
    MESSAGE,
    PARAGRAPH,
    HEADING
  }

  /** Ends a sentence that has no mark at its end. */
  static final String BREAK = "¶";

  /** Comments and texts; characters are there to be skipped, as '"' begins no text. */
  private static final Pattern JAVA =
      Pattern.compile(
          "//(?<line>[^\n]*)|/\\*(?<block>.*?)\\*/|\"\"\"(?<lines>.*?)(?<!\\\\)\"\"\""
              + "|\"(?<text>(?:[^\"\\\\\n]++|\\\\.)*+)\"|'(?:\\\\.|[^'\\\\])+'",
          Pattern.DOTALL);

  /** The same of JavaScript, whose texts have three kinds of quotes. */
  private static final Pattern JAVASCRIPT =
      Pattern.compile(
          "(?<![:\\\\])//(?<line>[^\n]*)|/\\*(?<block>.*?)\\*/|`(?<lines>(?:[^`\\\\]++|\\\\.)*+)`"
              + "|(?<quote>[\"'])(?<text>(?:(?!\\k<quote>)[^\\\\\n]|\\\\.)*+)\\k<quote>",
          Pattern.DOTALL);

  /** What stands between two tags, or in a comment. */
  private static final Pattern HTML =
      Pattern.compile("<!--(?<comment>.*?)-->|>(?<text>[^<]*[a-z][^<]*)(?=<)", Pattern.DOTALL);

  /** Of a pom, comments and its description. */
  private static final Pattern XML =
      Pattern.compile(
          "<!--(?<comment>.*?)-->|<description>(?<text>[^<]*)</description>", Pattern.DOTALL);

  /** A comment of YAML, a shell, Python or Lua; neither an interpreter nor a license. */
  private static final Pattern HASH =
      Pattern.compile("(?:^\\s*|\\s)(?:#(?!!)|--(?=\\s))\\s*+(?!SPDX-)(?<line>\\S.*)$");

  private static final Pattern JAVADOC_CODE =
      Pattern.compile("\\{@(?:code|literal|link|linkplain|value) [^}]*}|<pre>.*?</pre>");

  private static final Pattern MARKDOWN_CODE = Pattern.compile("`[^`]*`|(?<=])\\([^)]*\\)");

  /** What begins a paragraph of its own without an empty line before it. */
  private static final Pattern MARKER = Pattern.compile("\\s*(?:[-*+] |\\d+\\. |> |#+ )");

  private static final Pattern CELL_BORDER = Pattern.compile("(?<!\\\\)\\|");

  private final Kind kind;
  private final StringBuilder text = new StringBuilder();
  private final List<Integer> lines = new ArrayList<>();

  private Prose(Kind kind) {
    this.kind = kind;
  }

  Kind kind() {
    return kind;
  }

  /** Returns the text, without line breaks. */
  String text() {
    return text.toString();
  }

  /** Returns the line in its file, from 1, of a character. */
  int line(int index) {
    return lines.get(index);
  }

  /** Returns the text for people in a file, by the ending of its name. Other files have none. */
  static List<Prose> of(String name, String source) {
    String file = name.substring(name.lastIndexOf('/') + 1);
    return switch (file.substring(file.lastIndexOf('.') + 1)) {
      case "md" -> ofMarkdown(source);
      case "java", "kt", "json" -> ofTokens(JAVA, source);
      case "js" -> ofTokens(JAVASCRIPT, source);
      case "html" -> ofTags(HTML, source);
      case "xml" -> ofTags(XML, source);
      case "yml", "yaml", "sh", "py", "conf", "lua" -> ofHashes(source);
      default -> file.contains(".") ? List.of() : ofHashes(source); // a script
    };
  }

  /** Comments and texts; neighbours are read as one. */
  private static List<Prose> ofTokens(Pattern tokens, String source) {
    List<Prose> found = new ArrayList<>();
    String before = "";
    int end = 0;
    Matcher token = tokens.matcher(source);
    while (token.find()) {
      String name = group(token);
      if (!name.isEmpty()) {
        String gap = source.substring(end, token.start());
        boolean lines = name.equals("line") && gap.isBlank();
        boolean texts = name.equals("text") && gap.replace('+', ' ').isBlank();
        boolean goesOn = name.equals(before) && (lines || texts);
        String content = token.group(name);
        Kind kind = kind(name, content);
        if (!goesOn) {
          found.add(new Prose(kind));
        }
        Prose prose = found.get(found.size() - 1);
        boolean comment = kind != Kind.MESSAGE;
        if (comment) {
          prose.space(0);
        }
        prose.addLines(
            comment ? broken(content.replaceAll("(?m)^\\s*\\*", "")) : content,
            lineOf(source, token.start(name)));
        end = token.end();
      }
      before = name;
    }
    found.forEach(prose -> prose.blot(JAVADOC_CODE));
    return found;
  }

  /** Marks where a paragraph, an item of a list or a line of a drawing begins or ends. */
  private static String broken(String comment) {
    return comment
        .replaceAll("(?m)^[ \\t]*$", BREAK)
        .replaceAll("(?m)^( {4,}\\S.*)$", BREAK + "$1" + BREAK)
        .replaceAll("(?m)^(\\s*- )", BREAK + "$1");
  }

  private static Kind kind(String group, String content) {
    return switch (group) {
      case "line" -> Kind.COMMENT;
      case "block" -> content.startsWith("*") ? Kind.JAVADOC : Kind.COMMENT;
      default -> Kind.MESSAGE;
    };
  }

  private static String group(Matcher token) {
    for (String name : List.of("line", "block", "lines", "text")) {
      if (token.group(name) != null) {
        return name;
      }
    }
    return "";
  }

  private static int lineOf(String source, int index) {
    return 1 + (int) source.substring(0, index).chars().filter(c -> c == '\n').count();
  }

  private static List<Prose> ofTags(Pattern tokens, String source) {
    List<Prose> found = new ArrayList<>();
    Matcher token = tokens.matcher(source);
    while (token.find()) {
      String name = token.group("text") == null ? "comment" : "text";
      Prose prose = new Prose(name.equals("text") ? Kind.MESSAGE : Kind.COMMENT);
      prose.addLines(token.group(name), lineOf(source, token.start(name)));
      found.add(prose);
    }
    return found;
  }

  private static List<Prose> ofHashes(String source) {
    List<Prose> found = new ArrayList<>();
    boolean goesOn = false;
    int number = 0;
    for (String line : source.split("\n", -1)) {
      number++;
      Matcher comment = HASH.matcher(line);
      boolean commented = comment.find();
      boolean alone = commented && line.substring(0, comment.start("line")).strip().matches("#|--");
      if (commented) {
        if (!goesOn || !alone) {
          found.add(new Prose(Kind.COMMENT));
        }
        Prose prose = found.get(found.size() - 1);
        String indent = line.substring(comment.start(), comment.start("line"));
        prose.space(number);
        prose.add((indent.length() > 4 ? BREAK : "") + comment.group("line"), number);
      }
      goesOn = alone;
    }
    return found;
  }

  /** The paragraphs, list items, headings and cells of a Markdown file, without code. */
  private static List<Prose> ofMarkdown(String source) {
    List<Prose> found = new ArrayList<>();
    boolean code = false;
    boolean fresh = true;
    int number = 0;
    for (String line : source.split("\n", -1)) {
      number++;
      if (line.strip().startsWith("```")) {
        code = !code;
        fresh = true;
      } else if (code || line.isBlank()) {
        fresh = true;
      } else if (line.startsWith("|")) {
        for (String cell : CELL_BORDER.split(line, -1)) {
          found.add(new Prose(Kind.PARAGRAPH));
          found.get(found.size() - 1).add(cell, number);
        }
        fresh = true;
      } else {
        Matcher marker = MARKER.matcher(line);
        boolean marked = marker.lookingAt();
        boolean heading = line.startsWith("#");
        if (fresh || marked) {
          found.add(new Prose(heading ? Kind.HEADING : Kind.PARAGRAPH));
        }
        Prose prose = found.get(found.size() - 1);
        prose.space(number);
        prose.add(marked ? line.substring(marker.end()) : line, number);
        fresh = heading;
      }
    }
    found.forEach(prose -> prose.blot(MARKDOWN_CODE));
    return found;
  }

  private void addLines(String content, int first) {
    int number = first;
    for (String line : content.split("\n", -1)) {
      if (number > first) {
        space(number);
      }
      add(line, number);
      number++;
    }
  }

  private void add(String line, int number) {
    line.chars()
        .forEach(
            c -> {
              if (Character.isWhitespace(c)) {
                space(number);
              } else {
                text.append((char) c);
                lines.add(number);
              }
            });
  }

  private void space(int number) {
    if (!text.isEmpty() && text.charAt(text.length() - 1) != ' ') {
      text.append(' ');
      lines.add(number);
    }
  }

  private void blot(Pattern code) {
    String blotted = code.matcher(text).replaceAll(Prose::blot);
    text.replace(0, text.length(), blotted);
  }

  private static String blot(MatchResult code) {
    return "x".repeat(code.group().length());
  }
}

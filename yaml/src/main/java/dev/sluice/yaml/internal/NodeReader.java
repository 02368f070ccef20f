// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml.internal;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.api.LoadSettings;
import org.snakeyaml.engine.v2.common.Anchor;
import org.snakeyaml.engine.v2.events.AliasEvent;
import org.snakeyaml.engine.v2.events.CollectionStartEvent;
import org.snakeyaml.engine.v2.events.Event;
import org.snakeyaml.engine.v2.events.MappingStartEvent;
import org.snakeyaml.engine.v2.events.NodeEvent;
import org.snakeyaml.engine.v2.events.ScalarEvent;
import org.snakeyaml.engine.v2.exceptions.Mark;
import org.snakeyaml.engine.v2.exceptions.MarkedYamlEngineException;
import org.snakeyaml.engine.v2.exceptions.YamlEngineException;
import org.snakeyaml.engine.v2.exceptions.YamlVersionException;
import org.snakeyaml.engine.v2.parser.Parser;
import org.snakeyaml.engine.v2.parser.ParserImpl;
import org.snakeyaml.engine.v2.scanner.StreamReader;

/*
 * Makes nodes from the parser's events, without the library's composer. The composer recurses as
 * deep as the file is nested, expands aliases, merges maps and drops duplicate keys. This class
 * bounds the nesting, and reports the other cases with their line and column:
 *
 * - the depth of nesting is bounded (limit files need seven levels), and so is the number of nodes;
 * - anchors, aliases and tags are rejected, so the nodes cannot grow beyond the file's size, and
 *   every mistake has one place. In files of other systems, aliases are allowed, and the nodes of
 *   an alias are counted each time that the alias is used;
 * - a key that is not a single value is rejected.
 *
 * A rejected value becomes a Broken node or no node, and reading continues, so that one run finds
 * all mistakes. Only a syntax error or an exceeded bound stops the reading. The entries and items
 * before the error are still checked. The last entry before a syntax error is not checked, since a
 * line with too little indentation can have ended this entry too early.
 */
/** Reads one YAML 1.2 text into nodes. Not thread-safe. */
public final class NodeReader {

  /** The maximum size of a file in bytes, which is enough for half a million overrides. */
  public static final int MOST_BYTES = 16 << 20;

  /**
   * The minimum of the heap's size divided by a file's size: reading a file needs up to 16 times
   * the file's size, while the current limits stay in memory.
   */
  private static final int HEAP_PER_FILE = 32;

  /** The largest file that is read, in bytes: 16 MiB, or less if the heap is small. */
  public static final int MAX_BYTES =
      (int) Math.min(MOST_BYTES, Runtime.getRuntime().maxMemory() / HEAP_PER_FILE);

  /** The result of a file that could not be read. */
  public static final Content UNREAD = new Content(null, false);

  static final int MAX_DEPTH = 16;
  public static final int MAX_NODES = 2_000_000;

  /**
   * The maximum number of characters in a value. The longest values are ids that join an ACME
   * order's names.
   */
  static final int MAX_SCALAR = 64 * 1024;

  /**
   * The maximum number of characters in an embedded file. Kubernetes allows 1 MiB for a whole
   * ConfigMap.
   */
  private static final int MAX_EMBEDDED = 1 << 20;

  /** The nesting depth of an embedded file, which is a value in the root's map {@code data}. */
  private static final int EMBEDDED_DEPTH = 3;

  /** The largest buffer of the YAML scanner, which copies all unread characters at each refill. */
  private static final int MAX_BUFFER = 1 << 20;

  /** Matches the end of a parser's message, if it quotes more than one character of the file. */
  private static final Pattern QUOTED = Pattern.compile("(tag handle|valid version).*");

  /**
   * The result of reading a document.
   *
   * @param root the root of the document, or of the part that was read; null for an empty document
   * @param whole false if a mistake stopped the reading
   */
  public record Content(@Nullable Node root, boolean whole) {}

  private final Parser events;
  private final Problems problems;
  private final boolean hasAliases;
  private final Map<String, Anchored> anchors = new HashMap<>();
  private final Deque<List<?>> open = new ArrayDeque<>();
  private @Nullable Node root;
  private int nodes;
  private int deepest;

  private NodeReader(Parser events, boolean hasAliases, Problems problems) {
    this.events = events;
    this.hasAliases = hasAliases;
    this.problems = problems;
  }

  /**
   * A value with an anchor.
   *
   * @param nodes the number of nodes in the value
   * @param levels the depth of nesting in the value
   */
  private record Anchored(Node node, int nodes, int levels) {}

  /** Reads the content of a file, as {@link #read(String, boolean, Problems)} reads its text. */
  public static Content read(byte[] bytes, boolean hasAliases, Problems problems) {
    String text = Utf8.decode(bytes, problems);
    return text == null ? UNREAD : read(text, hasAliases, problems);
  }

  /**
   * Reads a text. Mistakes in the text are added to the problems, not thrown.
   *
   * @param hasAliases whether aliases are allowed; otherwise an alias is a mistake
   */
  static Content read(String text, boolean hasAliases, Problems problems) {
    LoadSettings settings =
        LoadSettings.builder()
            .setCodePointLimit(MAX_BYTES)
            .setBufferSize(Math.max(1024, Math.min(text.length() + 1, MAX_BUFFER)))
            .build();
    NodeReader reader =
        new NodeReader(
            new ParserImpl(settings, new StreamReader(settings, text)), hasAliases, problems);
    boolean whole = false;
    try {
      reader.document();
      whole = true;
    } catch (TooMuchException e) {
      problems.mistake(line(e.mark), column(e.mark), String.valueOf(e.getMessage()));
    } catch (MarkedYamlEngineException e) {
      Optional<Mark> mark = e.getProblemMark().or(e::getContextMark);
      String reason = "invalid YAML: " + reason(e);
      problems.mistake(line(mark), column(mark), reason, QUOTED.matcher(reason).replaceAll("$1"));
      reader.dropLast();
    } catch (YamlVersionException e) {
      problems.mistake(
          1,
          1,
          "found YAML " + e.getSpecVersion().getRepresentation() + ", expected 1.2",
          "found another version of YAML, expected 1.2");
    } catch (YamlEngineException e) {
      problems.mistake(1, 1, "invalid YAML: " + e.getMessage(), "invalid YAML");
    }
    return new Content(reader.root, whole);
  }

  private void document() {
    skip(); // the event for the start of the stream
    if (events.peekEvent().getEventId() == Event.ID.StreamEnd) {
      return;
    }
    skip(); // the event for the start of the document
    node(1, node -> root = node);
    skip(); // the event for the end of the document
    Event after = events.next();
    if (after.getEventId() != Event.ID.StreamEnd) {
      problems.mistake(
          line(after.getStartMark()),
          column(after.getStartMark()),
          "found a second document, expected one document in a file");
    }
    if (root instanceof Node.Scalar scalar && scalar.isNull()) {
      root = null;
    }
  }

  private void skip() {
    events.next();
  }

  private void dropLast() {
    List<?> innermost = open.peek();
    if (innermost != null && !innermost.isEmpty()) {
      innermost.remove(innermost.size() - 1);
    }
  }

  /**
   * Reads a node.
   *
   * @param taker receives the node. A list or the root is passed to {@code taker} before its
   *     content is read, so that the content before a syntax error is kept
   */
  private void node(int depth, Consumer<Node> taker) {
    NodeEvent event = (NodeEvent) events.next();
    requireBounded(event, 1, depth);
    if (event instanceof AliasEvent alias) {
      taker.accept(anchored(alias, depth));
      return;
    }
    String anchor = anchor(event);
    if (anchor == null) {
      value(event, depth, taker);
      return;
    }
    int before = nodes;
    int deepestBefore = deepest;
    deepest = depth;
    List<Node> made = new ArrayList<>(1);
    value(
        event,
        depth,
        node -> {
          made.add(node);
          taker.accept(node);
        });
    anchors.put(anchor, new Anchored(made.get(0), nodes - before + 1, deepest - depth + 1));
    deepest = Math.max(deepest, deepestBefore);
  }

  private void requireBounded(NodeEvent event, int more, int depth) {
    deepest = Math.max(deepest, depth);
    nodes += more;
    if (depth > MAX_DEPTH) {
      throw new TooMuchException(event, MAX_DEPTH + " levels of nesting");
    }
    if (nodes > MAX_NODES) {
      throw new TooMuchException(event, MAX_NODES + " values");
    }
  }

  private Node anchored(AliasEvent alias, int depth) {
    int line = line(alias.getStartMark());
    int column = column(alias.getStartMark());
    String name = alias.getAlias().getValue();
    Anchored known = anchors.get(name);
    if (hasAliases && known != null) {
      requireBounded(alias, known.nodes - 1, depth + known.levels - 1);
      return known.node;
    }
    String expected = hasAliases ? "an anchor &%1$s before it" : "the value written out";
    problems.mistake(
        line,
        column,
        ("found the alias *%1$s, expected " + expected).formatted(shown(name)),
        "found an alias, expected " + (hasAliases ? "an anchor before it" : expected));
    return new Node.Broken(line, column);
  }

  private void value(NodeEvent event, int depth, Consumer<Node> taker) {
    int line = line(event.getStartMark());
    int column = column(event.getStartMark());
    refuseProperties(event, line, column);
    if (event instanceof ScalarEvent scalar) {
      taker.accept(value(scalar, depth, line, column));
    } else if (event instanceof MappingStartEvent) {
      List<Node.Entry> entries = new ArrayList<>();
      Node map = new Node.Mapping(line, column, entries);
      if (depth == 1) {
        taker.accept(map);
      }
      readEntries(depth, entries);
      if (hasAliases) {
        merge(entries);
      }
      if (depth > 1) {
        taker.accept(map);
      }
    } else {
      List<Node> items = new ArrayList<>();
      taker.accept(new Node.Sequence(line, column, items));
      readItems(depth, items);
    }
  }

  /** Adds the entries under the key {@code <<}, except for keys that the map has itself. */
  private void merge(List<Node.Entry> entries) {
    List<Node> merged = new ArrayList<>();
    for (Node.Entry entry : List.copyOf(entries)) {
      if (entry.key().plain() && entry.key().text().equals("<<")) {
        merged.addAll(
            entry.value() instanceof Node.Sequence list ? list.items() : List.of(entry.value()));
        entries.remove(entry);
      }
    }
    if (merged.isEmpty()) {
      return;
    }
    Set<String> keys = new HashSet<>();
    entries.forEach(entry -> keys.add(entry.key().text()));
    for (Node node : merged) {
      if (node instanceof Node.Mapping map) {
        for (Node.Entry entry : map.entries()) {
          if (keys.add(entry.key().text())) {
            entries.add(entry);
          }
        }
      } else if (!(node instanceof Node.Broken)) {
        problems.wrong(node, "a map, because the key << merges the entries of a map");
      }
    }
  }

  /** Returns a value, after checking its length. */
  private Node value(ScalarEvent scalar, int depth, int line, int column) {
    String text = scalar.getValue();
    int most = hasAliases && depth == EMBEDDED_DEPTH ? MAX_EMBEDDED : MAX_SCALAR;
    if (text.length() <= most) {
      return new Node.Scalar(line, column, text, scalar.isPlain());
    }
    problems.mistake(
        line,
        column,
        "found a value of %s characters, expected at most %s".formatted(text.length(), most));
    return new Node.Broken(line, column);
  }

  /**
   * Hides a long word in a message, so that the message discloses little of a file that is not a
   * limit file.
   */
  private static String shown(String word) {
    return word.length() <= 40 ? word : "…";
  }

  private @Nullable String anchor(NodeEvent event) {
    String name = event.getAnchor().map(Anchor::getValue).orElse(null);
    return hasAliases ? name : null;
  }

  private void refuseProperties(NodeEvent event, int line, int column) {
    if (!hasAliases) {
      event
          .getAnchor()
          .ifPresent(
              anchor ->
                  problems.mistake(
                      line,
                      column,
                      "found the anchor &%s, expected none: limit files have no aliases"
                          .formatted(shown(anchor.getValue())),
                      "found an anchor, expected none: limit files have no aliases"));
    }
    Optional<String> tag =
        event instanceof ScalarEvent scalar
            ? scalar.getTag()
            : ((CollectionStartEvent) event).getTag();
    tag.ifPresent(
        t ->
            problems.mistake(
                line,
                column,
                "found the tag %s, expected a value without a tag".formatted(shown(t)),
                "found a tag, expected a value without a tag"));
  }

  private void readItems(int depth, List<Node> items) {
    open.push(items);
    while (events.peekEvent().getEventId() != Event.ID.SequenceEnd) {
      node(depth + 1, items::add);
    }
    skip();
    open.pop();
  }

  private void readEntries(int depth, List<Node.Entry> entries) {
    open.push(entries);
    while (events.peekEvent().getEventId() != Event.ID.MappingEnd) {
      Node key = key(depth + 1);
      node(
          depth + 1,
          value -> {
            if (key instanceof Node.Scalar scalar) {
              entries.add(new Node.Entry(scalar, value));
            }
          });
      if (!(key instanceof Node.Scalar) && !(key instanceof Node.Broken)) {
        problems.wrong(key, "a single word as key");
      }
    }
    skip();
    open.pop();
  }

  private Node key(int depth) {
    List<Node> one = new ArrayList<>(1);
    node(depth, one::add);
    return one.get(0);
  }

  private static String reason(MarkedYamlEngineException e) {
    String problem = String.valueOf(e.getProblem());
    return e.getContext() == null ? problem : e.getContext() + ", " + problem;
  }

  private static int line(Optional<Mark> mark) {
    return mark.map(Mark::getLine).orElse(0) + 1;
  }

  private static int column(Optional<Mark> mark) {
    return mark.map(Mark::getColumn).orElse(0) + 1;
  }

  /** Thrown if a file exceeds a bound. Stops the reading, as a syntax error does. */
  private static final class TooMuchException extends RuntimeException {

    private static final long serialVersionUID = 1;

    private final transient Optional<Mark> mark;

    TooMuchException(Event where, String what) {
      super("more than " + what + " are not allowed");
      this.mark = where.getStartMark();
    }
  }
}

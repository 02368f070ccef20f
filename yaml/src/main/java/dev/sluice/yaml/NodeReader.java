package dev.sluice.yaml;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.api.LoadSettings;
import org.snakeyaml.engine.v2.events.AliasEvent;
import org.snakeyaml.engine.v2.events.CollectionStartEvent;
import org.snakeyaml.engine.v2.events.Event;
import org.snakeyaml.engine.v2.events.MappingStartEvent;
import org.snakeyaml.engine.v2.events.NodeEvent;
import org.snakeyaml.engine.v2.events.ScalarEvent;
import org.snakeyaml.engine.v2.exceptions.Mark;
import org.snakeyaml.engine.v2.exceptions.MarkedYamlEngineException;
import org.snakeyaml.engine.v2.exceptions.ParserException;
import org.snakeyaml.engine.v2.exceptions.YamlEngineException;
import org.snakeyaml.engine.v2.exceptions.YamlVersionException;
import org.snakeyaml.engine.v2.parser.Parser;
import org.snakeyaml.engine.v2.parser.ParserImpl;
import org.snakeyaml.engine.v2.scanner.StreamReader;

/*
 * Text to nodes, from the parser's events and not through its composer. The composer recurses as
 * deep as the file asks, expands aliases, merges maps and drops duplicate keys; here each of these
 * is either bounded or reported at its place:
 *
 * - nesting is bounded (limit files need seven levels), and so is the number of nodes;
 * - anchors, aliases and tags are refused. Nothing can then grow beyond the file's size, and every
 *   mistake has one place;
 * - a key that is not a single value is refused.
 *
 * What is refused becomes a Broken node or none, and reading goes on, so that all mistakes are found in one run. Only
 * what the parser itself refuses, and the bounds, end the reading.
 */
/** Reads YAML 1.2 into nodes. Not thread-safe; for one text. */
final class NodeReader {

  static final int MAX_DEPTH = 16;
  static final int MAX_NODES = 2_000_000;

  private final Parser events;
  private final Problems problems;
  private int nodes;

  private NodeReader(Parser events, Problems problems) {
    this.events = events;
    this.problems = problems;
  }

  /** The document, null for an empty one or after a mistake that ended the reading. */
  static @Nullable Node read(String text, Problems problems) {
    LoadSettings settings = LoadSettings.builder().setCodePointLimit(FileContent.MAX_BYTES).build();
    try {
      ParserImpl events = new ParserImpl(settings, new StreamReader(settings, text));
      return new NodeReader(events, problems).document();
    } catch (MarkedYamlEngineException e) {
      Optional<Mark> mark = e.getProblemMark().or(e::getContextMark);
      problems.mistake(line(mark), column(mark), "this is not YAML: " + reason(e));
    } catch (YamlVersionException e) {
      problems.mistake("found YAML " + e.getSpecVersion().getRepresentation() + ", expected 1.2");
    } catch (YamlEngineException e) {
      problems.mistake("this is not YAML: " + e.getMessage());
    }
    return null;
  }

  private @Nullable Node document() {
    Event unused = events.next(); // The stream's start.
    if (events.peekEvent().getEventId() == Event.ID.StreamEnd) {
      return null;
    }
    unused = events.next(); // The document's start.
    Node root = node(1);
    unused = events.next(); // The document's end.
    Event after = events.next();
    if (after.getEventId() != Event.ID.StreamEnd) {
      problems.mistake(
          line(after.getStartMark()),
          column(after.getStartMark()),
          "found a second document, expected one document in a file");
    }
    return root instanceof Node.Scalar scalar && scalar.isNull() ? null : root;
  }

  private Node node(int depth) {
    NodeEvent event = (NodeEvent) events.next();
    int line = line(event.getStartMark());
    int column = column(event.getStartMark());
    if (depth > MAX_DEPTH) {
      throw new ParserException(
          "found more than " + MAX_DEPTH + " levels of nesting", event.getStartMark());
    }
    if (++nodes > MAX_NODES) {
      throw new ParserException(
          "found more than " + MAX_NODES + " values, expected at most that many",
          event.getStartMark());
    }
    if (event instanceof AliasEvent alias) {
      problems.mistake(
          line,
          column,
          "found the alias *" + alias.getAlias() + ", expected the value written out");
      return new Node.Broken(line, column);
    }
    refuseProperties(event, line, column);
    if (event instanceof ScalarEvent scalar) {
      return new Node.Scalar(line, column, scalar.getValue(), scalar.isPlain());
    }
    return event instanceof MappingStartEvent
        ? new Node.Mapping(line, column, entries(depth))
        : new Node.Sequence(line, column, items(depth));
  }

  private void refuseProperties(NodeEvent event, int line, int column) {
    event
        .getAnchor()
        .ifPresent(
            anchor ->
                problems.mistake(
                    line,
                    column,
                    "found the anchor &"
                        + anchor
                        + ", expected none: limit files have no aliases"));
    Optional<String> tag =
        event instanceof ScalarEvent scalar
            ? scalar.getTag()
            : ((CollectionStartEvent) event).getTag();
    tag.ifPresent(
        t ->
            problems.mistake(
                line, column, "found the tag " + t + ", expected a value without a tag"));
  }

  private List<Node> items(int depth) {
    List<Node> items = new ArrayList<>();
    while (events.peekEvent().getEventId() != Event.ID.SequenceEnd) {
      items.add(node(depth + 1));
    }
    Event unused = events.next();
    return items;
  }

  private List<Node.Entry> entries(int depth) {
    List<Node.Entry> entries = new ArrayList<>();
    while (events.peekEvent().getEventId() != Event.ID.MappingEnd) {
      Node key = node(depth + 1);
      Node value = node(depth + 1);
      if (key instanceof Node.Scalar scalar) {
        entries.add(new Node.Entry(scalar, value));
      } else if (!(key instanceof Node.Broken)) {
        problems.wrong(key, "a single word as key");
      }
    }
    Event unused = events.next();
    return entries;
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
}

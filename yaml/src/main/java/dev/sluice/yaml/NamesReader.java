// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml;

import dev.sluice.limit.Catalogue;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.yaml.internal.Fields;
import dev.sluice.yaml.internal.Node;
import dev.sluice.yaml.internal.Problems;
import dev.sluice.yaml.internal.Values;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Reads declarations of names from three places: a names file, the section {@code names:} of
 * another file, and defaults with the field {@code id}. Not thread-safe.
 */
final class NamesReader {

  private static final Node START = new Node.Broken(1, 1);

  /** The fields with which an entry declares a new limit, whose name is the entry's key. */
  static final List<String> IN_PLACE =
      List.of(
          "id",
          "number",
          "overrideId",
          "overridesOnly",
          "message",
          "help",
          "jitter",
          "longestWait");

  private static final List<String> FIELDS =
      Stream.concat(Stream.of("name"), IN_PLACE.stream()).toList();

  private final Catalogue base;
  private final Catalogue samples;
  private final IdFormat.Registry idFormats;
  private final Map<String, Declared> declared = new LinkedHashMap<>();
  private final Map<Integer, LimitName> byNumber = new HashMap<>();
  // For each limit's name, the YAML key of its default.
  private final Map<String, Node> keys = new HashMap<>();
  private final Set<String> broken = new HashSet<>();

  /** A name with the place of its declaration. */
  private record Declared(LimitName name, Node at, Problems problems) {}

  /**
   * Makes a reader.
   *
   * @param base names that need no declaration; a file must not declare them again
   * @param samples names that are known unless a file declares the same name or number
   */
  NamesReader(Catalogue base, Catalogue samples, IdFormat.Registry idFormats) {
    this.base = base;
    this.samples = samples;
    this.idFormats = idFormats;
  }

  KnownNames known(boolean complete) {
    LimitName[] own =
        Stream.concat(
                samples.names().stream().filter(one -> !isReplaced(one)),
                declared.values().stream().map(Declared::name))
            .toArray(LimitName[]::new);
    return new KnownNames(base.plus(Catalogue.of(own)), Set.copyOf(broken), complete);
  }

  private boolean isReplaced(LimitName sample) {
    return declared.containsKey(sample.name()) || byNumber.containsKey(sample.number());
  }

  /**
   * Warns about each name whose bucket keys begin with a different text after the reload, and about
   * each number that a limit with another id format had before. (A new name with the same number
   * and id format is a renamed limit.) The warning is reported at the name's declaration. If the
   * files no longer declare the name, but the name is one of Sluice's sample names, the warning is
   * reported at the name's default.
   *
   * @param names all names that are known now
   * @param ofDefaults receives the warnings about names without a declaration
   */
  void compareWith(Limits before, Catalogue names, Problems ofDefaults) {
    for (LimitName name : names.names()) {
      String warning = change(name, before);
      Declared there = declared.get(name.name());
      if (warning != null && there != null) {
        there.problems.warning(there.at, warning);
      } else if (warning != null) {
        ofDefaults.warning(keys.getOrDefault(name.name(), START), warning);
      }
    }
  }

  private static @Nullable String change(LimitName name, Limits before) {
    LimitName old = before.catalogue().find(name.name());
    if (old != null && !old.equals(name)) {
      return "the bucket keys of %s change from \"%s\" to \"%s\": all its buckets become full once, and its overrides and penalties in a PostgreSQL table do not apply until they are set again"
          .formatted(name, old.bucketKey("…"), name.bucketKey("…"));
    }
    LimitName other = name.number() == null ? null : before.catalogue().find(name.number());
    return old == null
            && other != null
            && (before.isConfigured(other) || Catalogue.samples().find(other.name()) == null)
            && !other.id().name().equals(name.id().name())
        ? "the number %s was the number of %s, whose ids have another form (%s): %s takes over its buckets, and its overrides and penalties in a PostgreSQL table; choose a new number"
            .formatted(name.number(), other, other.id().name(), name)
        : null;
  }

  /**
   * Reads a names file.
   *
   * @param whole false if a mistake stopped the read before the end of the file
   */
  void file(Node root, boolean whole, Problems problems) {
    if (!(root instanceof Node.Mapping map)) {
      problems.wrongKind(root, "a map with the single field names: a list of names");
      return;
    }
    Fields fields = Fields.of(map, root, List.of(Sections.NAMES), problems);
    Node list = whole ? fields.require(Sections.NAMES) : fields.find(Sections.NAMES);
    if (list != null) {
      section(list, problems);
    }
  }

  void section(Node node, Problems problems) {
    Node.Sequence list =
        Values.list(node, "a list of names, each {name, id, message, help}", problems);
    if (list != null) {
      list.items().forEach(item -> name(item, problems));
    }
  }

  private void name(Node item, Problems problems) {
    if (item instanceof Node.Broken) {
      return;
    }
    if (!(item instanceof Node.Mapping map)) {
      problems.wrongKind(item, "a name as {name, id, message, help}");
      return;
    }
    Fields fields = Fields.of(map, item, FIELDS, problems);
    Node at = fields.require("name");
    var unused = fields.require("id");
    declare(Values.text(at, "a name", problems), at == null ? item : at, fields, problems);
  }

  /** Reads the declarations in the defaults. */
  void defaults(Node root, Problems problems) {
    if (!(root instanceof Node.Mapping map)) {
      return;
    }
    for (Node.Entry entry : map.entries()) {
      Node.Scalar key = entry.key();
      if (keys.putIfAbsent(key.text(), key) == null
          && entry.value() instanceof Node.Mapping value) {
        // The reader of defaults reports fields that are unknown or repeated.
        Fields fields = Fields.of(value, key, IN_PLACE, new Problems(""));
        if (fields.find("id") != null) {
          declare(key.text(), key, fields, problems);
        }
      }
    }
  }

  private void declare(@Nullable String name, Node at, Fields fields, Problems problems) {
    LimitName built = build(fields, at, name, problems);
    if (name != null && (built == null || !add(built, at, fields, problems))) {
      broken.add(name);
    }
  }

  private @Nullable LimitName build(
      Fields fields, Node at, @Nullable String name, Problems problems) {
    IdFormat id = format(fields.find("id"), problems);
    Node numberNode = fields.find("number");
    Long number = Values.wholeNumber(numberNode, problems);
    Node overrideIdNode = fields.find("overrideId");
    IdFormat overrideId = format(overrideIdNode, problems);
    if (id != null && overrideIdNode != null && overrideId != null) {
      compare(id, overrideId, overrideIdNode, problems);
    }
    Boolean overridesOnly = Values.bool(fields.find("overridesOnly"), problems);
    String message = Values.text(fields.find("message"), "a text", problems);
    String help = help(fields.find("help"), problems);
    Double jitter = Values.share(fields.find("jitter"), problems);
    Duration longestWait = Values.duration(fields.find("longestWait"), problems);
    boolean usable = numberNode == null || isUsable(number, numberNode, problems);
    if (name != null && Sections.ALL.contains(name)) {
      problems.wrong(at, "another name: %1$s is the name of a section".formatted(name));
      return null;
    }
    if (name == null || id == null || (overrideIdNode != null && overrideId == null)) {
      return null;
    }
    try {
      // A wrong number was already reported; the name's other fields are checked without a number.
      LimitName.Builder builder =
          number != null && usable
              ? LimitName.builder(number.intValue(), name)
              : LimitName.builder(name);
      builder.id(id);
      if (overrideId != null) {
        builder.overrideId(overrideId);
      }
      if (overridesOnly != null && overridesOnly) {
        builder.overridesOnly();
      }
      if (message != null) {
        builder.message(message);
      }
      if (help != null) {
        builder.helpLink(help);
      }
      if (jitter != null) {
        builder.jitter(jitter);
      }
      if (longestWait != null) {
        builder.longestWait(longestWait);
      }
      LimitName built = builder.build();
      return usable ? built : null;
    } catch (IllegalArgumentException e) {
      report(String.valueOf(e.getMessage()), fields, problems);
      return null;
    }
  }

  /**
   * Warns about overrides whose ids have another form than the first parts of the limit's ids. A
   * form that is not built in can convert an id to the form of the limit's ids.
   */
  private static void compare(IdFormat id, IdFormat overrideId, Node at, Problems problems) {
    List<IdFormat> parts = overrideId.parts();
    if (parts.size() <= id.parts().size()
        && !id.parts().subList(0, parts.size()).equals(parts)
        && isBuiltIn(overrideId)) {
      problems.warning(
          at,
          "the ids of overrides have the form %s, but the ids of requests have the form %s: an override applies only if its id has the same text as the first parts of a request's id"
              .formatted(overrideId.name(), id.name()));
    }
  }

  private static boolean isBuiltIn(IdFormat format) {
    try {
      return IdFormat.Registry.builtIn().parse(format.name()).equals(format);
    } catch (IllegalArgumentException e) {
      return false;
    }
  }

  private static boolean isUsable(@Nullable Long number, Node at, Problems problems) {
    if (number == null) {
      return false;
    }
    if (number < 1 || number > Integer.MAX_VALUE) {
      problems.wrong(at, "a number from 1 to " + Integer.MAX_VALUE + " that never changes");
      return false;
    }
    try {
      var unused = LimitName.builder(number.intValue(), "Any");
      return true;
    } catch (IllegalArgumentException e) {
      problems.mistake(at, String.valueOf(e.getMessage()).substring("number: ".length()));
      return false;
    }
  }

  /**
   * Reports a message of the name's builder, at the field whose name is the message's first word,
   * such as {@code id}.
   */
  private static void report(String message, Fields fields, Problems problems) {
    int colon = message.indexOf(": ");
    Node value = colon < 0 ? null : fields.find(message.substring(0, colon));
    if (value == null) {
      problems.mistake(fields.owner(), message);
    } else {
      problems.mistake(value, message.substring(colon + 2));
    }
  }

  private boolean add(LimitName name, Node at, Fields fields, Problems problems) {
    Declared other = declared.get(name.name());
    if (base.find(name.name()) != null) {
      problems.wrong(at, "a new name: this name is known without a declaration");
    } else if (other != null) {
      problems.wrong(
          at,
          "a name that is declared once: "
              + other.problems.place(other.at, problems)
              + " declares it");
    }
    Integer number = name.number();
    LimitName sameNumber = number == null ? null : base.find(number);
    sameNumber = sameNumber == null ? byNumber.get(number) : sameNumber;
    if (sameNumber != null) {
      Declared there = declared.get(sameNumber.name());
      problems.wrong(
          fields.at("number"),
          "a number that is not in use: %s%s has this number"
              .formatted(
                  sameNumber,
                  there == null ? "" : " (" + there.problems.place(there.at, problems) + ")"));
    }
    if (base.find(name.name()) != null || other != null || sameNumber != null) {
      return false;
    }
    declared.put(name.name(), new Declared(name, at, problems));
    if (number != null) {
      byNumber.put(number, name);
    }
    return true;
  }

  private @Nullable IdFormat format(@Nullable Node node, Problems problems) {
    String text = Values.text(node, "the form of the ids, such as ipAddress", problems);
    if (node == null || text == null) {
      return null;
    }
    try {
      IdFormat format = idFormats.parse(text);
      problems.recognized(); // only limit files name an id format, so messages can quote the file
      return format;
    } catch (IllegalArgumentException e) {
      problems.mistake(node, String.valueOf(e.getMessage()));
      return null;
    }
  }

  private static @Nullable String help(@Nullable Node node, Problems problems) {
    String expected = "a link such as https://example.com/limits";
    String text = Values.text(node, expected, problems);
    if (node == null || text == null) {
      return null;
    }
    try {
      var unused = LimitName.builder("Any").helpLink(text);
      return text;
    } catch (IllegalArgumentException e) {
      problems.wrong(node, expected);
      return null;
    }
  }
}

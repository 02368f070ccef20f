// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml;

import dev.sluice.limit.Catalogue;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.LimitName;
import java.net.URI;
import java.net.URISyntaxException;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Declarations of names, from a names file and from the section {@code names:} of any other. Not
 * thread-safe.
 */
final class NamesReader {

  /** Doors of the server have limits of their own, whose numbers stand in bucket keys too. */
  private static final int FIRST_OF_DOORS = 2_000_000_000;

  private static final int LAST_OF_DOORS = FIRST_OF_DOORS + 99;

  private static final List<String> FIELDS =
      List.of(
          "number",
          "name",
          "id",
          "overrideId",
          "overridesOnly",
          "message",
          "help",
          "jitter",
          "longestWait");

  private final Catalogue base;
  private final IdFormat.Registry idFormats;
  private final Map<String, LimitName> declared = new LinkedHashMap<>();
  private final Map<Integer, LimitName> byNumber = new HashMap<>();
  private final Set<String> broken = new HashSet<>();

  NamesReader(Catalogue base, IdFormat.Registry idFormats) {
    this.base = base;
    this.idFormats = idFormats;
  }

  KnownNames known(boolean complete) {
    Catalogue own = Catalogue.of(declared.values().toArray(LimitName[]::new));
    return new KnownNames(base.plus(own), Set.copyOf(broken), complete);
  }

  /**
   * Reads a names file.
   *
   * @param whole whether the root is all of the file
   */
  void file(Node root, boolean whole, Problems problems) {
    if (!(root instanceof Node.Mapping map)) {
      problems.wrongKind(root, "a map with the one field names: a list of names");
      return;
    }
    Fields fields = Fields.of(map, root, List.of(Sections.NAMES), problems);
    Node list = whole ? fields.require(Sections.NAMES) : fields.find(Sections.NAMES);
    if (list != null) {
      section(list, problems);
    }
  }

  /** Reads the list of names. */
  void section(Node node, Problems problems) {
    Node.Sequence list =
        Values.list(node, "a list of names, each {number, name, id, message, help}", problems);
    if (list != null) {
      list.items().forEach(item -> name(item, problems));
    }
  }

  private void name(Node item, Problems problems) {
    if (item instanceof Node.Broken) {
      return;
    }
    if (!(item instanceof Node.Mapping map)) {
      problems.wrongKind(item, "a name as {number, name, id, message, help}");
      return;
    }
    Fields fields = Fields.of(map, item, FIELDS, problems);
    Long number = Values.wholeNumber(fields.require("number"), problems);
    String name = Values.text(fields.require("name"), "a name", problems);
    LimitName built = build(fields, number, name, problems);
    if (name != null && (built == null || !add(built, fields, problems))) {
      broken.add(name);
    }
  }

  private @Nullable LimitName build(
      Fields fields, @Nullable Long number, @Nullable String name, Problems problems) {
    IdFormat id = format(fields.require("id"), problems);
    Node overrideIdNode = fields.find("overrideId");
    IdFormat overrideId = format(overrideIdNode, problems);
    Boolean overridesOnly = Values.bool(fields.find("overridesOnly"), problems);
    String message = Values.text(fields.find("message"), "a text", problems);
    String help = help(fields.find("help"), problems);
    Double jitter = Values.share(fields.find("jitter"), problems);
    Duration longestWait = Values.duration(fields.find("longestWait"), problems);
    boolean usable = isUsable(number, fields, problems);
    if (name != null && Sections.ALL.contains(name)) {
      problems.wrong(
          fields.at("name"), "another name: %1$s begins the section of %1$s".formatted(name));
      return null;
    }
    if (name == null || id == null || (overrideIdNode != null && overrideId == null)) {
      return null;
    }
    try {
      // A number that is wrong has been reported; any other lets the rest be checked.
      LimitName.Builder builder =
          LimitName.builder(number != null && usable ? number.intValue() : 1, name).id(id);
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

  private static boolean isUsable(@Nullable Long number, Fields fields, Problems problems) {
    if (number == null) {
      return false;
    }
    if (number < 1 || number > Integer.MAX_VALUE) {
      problems.wrong(
          fields.at("number"), "a number from 1 to " + Integer.MAX_VALUE + " that never changes");
      return false;
    }
    if (number >= FIRST_OF_DOORS && number <= LAST_OF_DOORS) {
      problems.wrong(
          fields.at("number"),
          "another number: those from %s to %s are for limits of Sluice's own doors"
              .formatted(FIRST_OF_DOORS, LAST_OF_DOORS));
      return false;
    }
    return true;
  }

  /** The builder's messages begin with the field that they are about. */
  private static void report(String message, Fields fields, Problems problems) {
    int colon = message.indexOf(": ");
    Node value = colon < 0 ? null : fields.find(message.substring(0, colon));
    if (value == null) {
      problems.mistake(fields.owner(), message);
    } else {
      problems.mistake(value, message.substring(colon + 2));
    }
  }

  private boolean add(LimitName name, Fields fields, Problems problems) {
    LimitName sameName = base.find(name.name());
    sameName = sameName == null ? declared.get(name.name()) : sameName;
    if (sameName != null) {
      problems.wrong(
          fields.at("name"), "a name that is not in use: number " + sameName.number() + " has it");
    }
    LimitName sameNumber = base.find(name.number());
    sameNumber = sameNumber == null ? byNumber.get(name.number()) : sameNumber;
    if (sameNumber != null) {
      problems.wrong(fields.at("number"), "a number that is not in use: " + sameNumber + " has it");
    }
    if (sameName != null || sameNumber != null) {
      return false;
    }
    declared.put(name.name(), name);
    byNumber.put(name.number(), name);
    return true;
  }

  private @Nullable IdFormat format(@Nullable Node node, Problems problems) {
    String text = Values.text(node, "the form of the ids, such as ipAddress", problems);
    if (node == null || text == null) {
      return null;
    }
    try {
      return idFormats.parse(text);
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
      if (new URI(text).isAbsolute()) {
        return text;
      }
    } catch (URISyntaxException e) {
      // Falls through to the message.
    }
    problems.wrong(node, expected);
    return null;
  }
}

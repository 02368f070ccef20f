// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.admin;

import dev.sluice.internal.text.EndTime;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.InvalidRequestException.InvalidIdException;
import dev.sluice.limit.InvalidRequestException.UnknownLimitException;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Penalty;
import dev.sluice.yaml.CompanionFile;
import dev.sluice.yaml.Fields;
import dev.sluice.yaml.LimitsYaml;
import dev.sluice.yaml.Node;
import dev.sluice.yaml.Problems;
import dev.sluice.yaml.Values;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Reads and writes a file of penalties: a map with the one field {@code penalties}. Stateless. */
final class PenaltiesFile implements CompanionFile<PenaltiesFile.Content> {

  private static final String PENALTIES = "penalties";
  private static final List<String> FIELDS =
      List.of("limit", "id", "until", "owed", "comment", "author");

  record Content(List<Penalty> penalties) {}

  @Override
  public Class<Content> type() {
    return Content.class;
  }

  @Override
  public String expected() {
    return "a map with the one field penalties; write penalties: [] for none";
  }

  @Override
  public @Nullable Content read(
      Node root, String file, Limits limits, boolean known, Problems problems) {
    Node.Mapping map = Values.map(root, expected(), problems);
    if (map == null) {
      return null;
    }
    Node list = Fields.of(map, root, List.of(PENALTIES), problems).require(PENALTIES);
    List<Penalty> penalties = new ArrayList<>();
    Set<String> keys = new HashSet<>();
    Node.Sequence sequence = Values.list(list, "a list of penalties", problems);
    if (sequence != null) {
      for (Node item : sequence.items()) {
        Penalty penalty = penalty(item, limits, problems);
        if (penalty != null) {
          penalties.add(penalty);
          if (!keys.add(penalty.name().bucketKey(penalty.id()))) {
            problems.mistake(item, "found a second penalty of this id, expected one");
          }
        }
      }
    }
    return problems.mistaken() ? null : new Content(penalties);
  }

  private static @Nullable Penalty penalty(Node item, Limits limits, Problems problems) {
    Node.Mapping map = Values.map(item, "{limit, id, until}", problems);
    if (map == null) {
      return null;
    }
    Fields fields = Fields.of(map, item, FIELDS, problems);
    String limit = Values.text(fields.require("limit"), "a limit's name", problems);
    String id = Values.text(fields.require("id"), "an id", problems);
    String until = Values.text(fields.require("until"), "an instant", problems);
    Node owedNode = fields.find("owed");
    Long owed = owedNode == null ? Long.valueOf(0) : Values.wholeNumber(owedNode, problems);
    String comment = note(fields.find("comment"), problems);
    String author = note(fields.find("author"), problems);
    if (limit == null
        || id == null
        || until == null
        || owed == null
        || comment == null
        || author == null) {
      return null;
    }
    Instant end;
    try {
      end = EndTime.parse(until);
    } catch (IllegalArgumentException e) {
      problems.mistake(fields.at("until"), String.valueOf(e.getMessage()));
      return null;
    }
    try {
      LimitName name = limits.catalogue().get(limit);
      String canonical = name.id().canonical(id, Strictness.LENIENT);
      return new Penalty(name, canonical, end, owed, comment, author);
    } catch (UnknownLimitException | InvalidIdException e) {
      problems.mistake(item, String.valueOf(e.getMessage()));
    } catch (IllegalArgumentException e) {
      problems.mistake(item, String.valueOf(e.getMessage()));
    }
    return null;
  }

  private static @Nullable String note(@Nullable Node node, Problems problems) {
    return node == null ? "" : Values.text(node, "a text", problems);
  }

  static String text(List<Penalty> penalties) {
    StringBuilder text = new StringBuilder("penalties:");
    if (penalties.isEmpty()) {
      return text.append(" []\n").toString();
    }
    text.append('\n');
    for (Penalty penalty : penalties) {
      text.append("  - limit: ").append(penalty.name().name()).append('\n');
      text.append("    id: ").append(LimitsYaml.quoted(penalty.id())).append('\n');
      text.append("    until: ").append(penalty.until()).append('\n');
      if (penalty.owed() > 0) {
        text.append("    owed: ").append(penalty.owed()).append('\n');
      }
      if (!penalty.comment().isEmpty()) {
        text.append("    comment: ").append(LimitsYaml.quoted(penalty.comment())).append('\n');
      }
      if (!penalty.author().isEmpty()) {
        text.append("    author: ").append(LimitsYaml.quoted(penalty.author())).append('\n');
      }
    }
    return text.toString();
  }
}

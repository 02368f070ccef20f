// SPDX-License-Identifier: Apache-2.0
package dev.sluice.rules;

import dev.sluice.internal.text.SafeText;
import dev.sluice.internal.text.Suggestion;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.LimitName;
import dev.sluice.rules.DescriptorRule.EntrySource;
import dev.sluice.rules.DescriptorRule.Wanted;
import dev.sluice.rules.RequestRule.RequestSource;
import dev.sluice.rules.RuleBook.DescriptorEntry;
import dev.sluice.rules.RuleMatch.Excess;
import dev.sluice.rules.RuleMatch.RuleCharging.Charged;
import dev.sluice.rules.RuleMatch.RuleCharging.Cost;
import dev.sluice.rules.Template.Source;
import dev.sluice.web.PathPattern;
import dev.sluice.web.VaryBy;
import dev.sluice.yaml.internal.Fields;
import dev.sluice.yaml.internal.Node;
import dev.sluice.yaml.internal.Problems;
import dev.sluice.yaml.internal.Values;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Reads the limits of one rule. Not thread-safe.
 *
 * @param <C> the type from which ids and costs are read: a descriptor's entries or a request
 */
final class ChargeReader<C> {

  static final List<String> FIELDS =
      List.of("limit", "settles", "id", "by", "cost", "shadow", "excess");

  private static final String HITS = "hits_addend";
  private static final List<String> COST_FIELDS = List.of("header", "default");
  private static final List<String> EXCESSES = List.of("reject", "drain", "debt");

  /** A limit, its id template, and whether the limit is in shadow mode, to find duplicates. */
  private record Bucket(String limit, String id, boolean shadow) {}

  private final boolean ofDescriptors;
  private final Function<String, Source<C>> placeholders;
  private final Function<HeaderCost, Cost<C>> headerCosts;
  private final LimitReferences limits;
  private final Problems problems;
  private final Set<Bucket> seen = new HashSet<>();
  private final Set<String> named = new LinkedHashSet<>();
  private final List<Reserving> reserving = new ArrayList<>();

  private ChargeReader(
      boolean ofDescriptors,
      Function<String, Source<C>> placeholders,
      Function<HeaderCost, Cost<C>> headerCosts,
      LimitReferences limits,
      Problems problems) {
    this.ofDescriptors = ofDescriptors;
    this.placeholders = placeholders;
    this.headerCosts = headerCosts;
    this.limits = limits;
    this.problems = problems;
  }

  /**
   * Returns a reader for a rule for descriptors.
   *
   * @param entries the entries of the rule. If the entries have a mistake, the list is empty and
   *     placeholders are not checked
   */
  static ChargeReader<List<DescriptorEntry>> ofDescriptors(
      List<Wanted> entries, LimitReferences limits, Problems problems) {
    return new ChargeReader<>(
        true, word -> EntrySource.parse(word, entries), header -> sent -> null, limits, problems);
  }

  static ChargeReader<RequestRule.Context> ofRequests(
      List<PathPattern> paths, boolean ignoresCase, LimitReferences limits, Problems problems) {
    return new ChargeReader<>(
        false,
        word -> RequestSource.parse(word, paths, ignoresCase),
        HeaderCost::ofRequest,
        limits,
        problems);
  }

  /**
   * A limit from which requests reserve tokens, or whose reserved tokens are settled at the end of
   * a request.
   *
   * @param at the place of the field {@code by} in the file
   */
  record Reserving(String limit, boolean shadow, boolean settles, Node at) {}

  List<Reserving> reserving() {
    return reserving;
  }

  /** Returns the names of the limits that were read, including unknown names. */
  Set<String> limits() {
    return named;
  }

  void read(Node item, List<Charged<C>> target) {
    if (item instanceof Node.Mapping map) {
      read(Fields.of(map, item, FIELDS, problems), target);
    } else if (!(item instanceof Node.Broken)) {
      problems.wrongKind(item, "a limit as {limit, id}");
    }
  }

  void read(Fields fields, List<Charged<C>> target) {
    Node settles = fields.find("settles");
    Node nameNode = settles == null ? fields.require("limit") : settles;
    String text = Values.text(nameNode, "the name of a limit", problems);
    LimitName name = null;
    if (text != null && nameNode != null) {
      named.add(text);
      name = limits.find(nameNode, text);
    }
    Template<C> id = id(fields, name);
    Cost<C> cost = cost(fields.find("cost"), name);
    Boolean written = Values.bool(fields.find("shadow"), problems);
    boolean shadow = written != null && written;
    Template<C> by = by(fields);
    Excess excess = settles == null ? excess(fields, name) : settlement(fields, settles, name);
    if (ofDescriptors) {
      requireUsable(fields, excess);
    }
    requireOnce(nameNode, fields, shadow);
    if (by != null && text != null && nameNode != null) {
      reserving.add(new Reserving(text, shadow, settles != null, fields.at("by")));
    }
    if (name != null && id != null && cost != null) {
      target.add(
          new Charged<>(
              name.name(), id, cost, shadow, excess == null ? Excess.REJECT : excess, by));
    }
  }

  /** Reads {@code by}: the id that links a request's settlement to its reservation. */
  private @Nullable Template<C> by(Fields fields) {
    boolean settles = fields.find("settles") != null;
    Node node = settles && ofDescriptors ? fields.require("by") : fields.find("by");
    if (!ofDescriptors) {
      for (String field : List.of("settles", "by")) {
        if (fields.find(field) != null) {
          problems.mistake(
              fields.at(field),
              "found the field %s in a rule for requests, expected it only in a rule for descriptors: only descriptors report the end of a request"
                  .formatted(field));
        }
      }
      return null;
    }
    String text = Values.text(node, "the id of a request, such as \"{request_id}\"", problems);
    if (node == null || text == null) {
      return null;
    }
    try {
      Template<C> template = Template.parse(text, IdFormat.string(), placeholders);
      if (template.placeholders().isEmpty()) {
        problems.mistake(
            node,
            "found %s, expected a placeholder such as \"{request_id}\": each request needs its own id"
                .formatted(SafeText.quote(text)));
        return null;
      }
      return template;
    } catch (IllegalArgumentException e) {
      problems.mistake(node, String.valueOf(e.getMessage()));
      return null;
    }
  }

  /** Reports a cost or an excess that contradicts the field {@code by}. */
  private void requireUsable(Fields fields, @Nullable Excess excess) {
    if (fields.find("by") == null) {
      return;
    }
    if (fields.find("cost") instanceof Node.Scalar cost && cost.text().matches("0+")) {
      problems.mistake(
          cost,
          "found cost 0 in a rule with the field by, expected 1 or more: a cost of 0 reserves no tokens");
    }
    if (excess == Excess.DRAIN || excess == Excess.DEBT) {
      problems.mistake(
          fields.at("excess"),
          "found the fields excess and by, expected only one of them: a rule with the field by reserves tokens before the response");
    }
  }

  private Excess settlement(Fields fields, Node settles, @Nullable LimitName name) {
    for (String field : List.of("limit", "excess")) {
      if (fields.find(field) != null) {
        problems.mistake(
            fields.at(field),
            "found the field %s beside settles, expected one or the other".formatted(field));
      }
    }
    if (name != null && ofDescriptors) {
      limits.requireDebt(settles, name, "settles", "a charge with excess: drain");
    }
    return Excess.SETTLE;
  }

  private @Nullable Template<C> id(Fields fields, @Nullable LimitName name) {
    Node node = fields.require("id");
    String text = Values.text(node, "an id, such as " + example(), problems);
    if (node == null || text == null) {
      return null;
    }
    try {
      // If the limit is unknown, its format is unknown too; only the placeholders are checked.
      IdFormat format = name == null ? IdFormat.string() : name.id();
      Template<C> template = Template.parse(text, format, placeholders);
      return ofDescriptors ? template.ofEverybody() : template;
    } catch (IllegalArgumentException e) {
      problems.mistake(node, String.valueOf(e.getMessage()));
      return null;
    }
  }

  private String example() {
    return ofDescriptors ? "\"{remote_address}\"" : "\"{ip}\"";
  }

  private @Nullable Cost<C> cost(@Nullable Node node, @Nullable LimitName name) {
    if (node == null) {
      // A null cost means one token per hit. A request is one hit; a log line can report several
      // hits.
      return context -> null;
    }
    if (node instanceof Node.Mapping map) {
      return headerCost(node, Fields.of(map, node, COST_FIELDS, problems), name);
    }
    if (node instanceof Node.Scalar scalar && scalar.text().equals(HITS)) {
      if (!ofDescriptors) {
        problems.wrong(node, "a whole number or {header: NAME}: requests have no " + HITS);
      }
      return context -> null;
    }
    Long tokens = Values.wholeNumber(node, problems);
    if (tokens != null && tokens < 0) {
      problems.wrong(node, "a whole number >= 0");
      return null;
    }
    if (tokens != null && name != null) {
      limits.requireWithinBurst(node, tokens, name);
    }
    return tokens == null ? null : context -> tokens;
  }

  private @Nullable Cost<C> headerCost(Node node, Fields fields, @Nullable LimitName name) {
    if (ofDescriptors) {
      problems.wrong(node, "a whole number or " + HITS + ": descriptors have no headers");
      return null;
    }
    Node headerNode = fields.require("header");
    String header = Values.text(headerNode, "the name of a header", problems);
    if (header != null && headerNode instanceof Node.Scalar scalar) {
      requireHeader(scalar, problems);
    }
    Long otherwise = Values.wholeNumber(fields.find("default"), problems);
    if (otherwise != null && otherwise < 0) {
      problems.wrong(fields.at("default"), "a whole number >= 0");
    } else if (otherwise != null && name != null) {
      limits.requireWithinBurst(fields.at("default"), otherwise, name);
    }
    return header == null
        ? null
        : headerCosts.apply(new HeaderCost(header, otherwise == null ? 1 : otherwise));
  }

  /** Reports a name that no header can have, so that a rule with this name would never match. */
  static void requireHeader(Node.Scalar name, Problems problems) {
    try {
      var unused = VaryBy.header(name.text());
    } catch (IllegalArgumentException e) {
      problems.mistake(name, String.valueOf(e.getMessage()));
    }
  }

  /** Rejects a limit named twice with the same id: one of the two costs would be lost. */
  private void requireOnce(@Nullable Node name, Fields fields, boolean shadow) {
    if (name instanceof Node.Scalar limit
        && fields.find("id") instanceof Node.Scalar id
        && !seen.add(new Bucket(limit.text(), id.text(), shadow))) {
      problems.mistake(
          limit,
          "found %s with the id %s again, expected it once in a rule"
              .formatted(SafeText.quote(limit.text()), SafeText.quote(id.text())));
    }
  }

  private @Nullable Excess excess(Fields fields, @Nullable LimitName name) {
    Node node = fields.find("excess");
    if (node != null && !ofDescriptors) {
      problems.mistake(
          fields.at("excess"),
          "found the field excess in a rule for requests, expected it only in a rule for descriptors: a request is charged before it runs");
      return null;
    }
    String text = Values.text(node, "reject, drain or debt", problems);
    if (node == null || text == null) {
      return null;
    }
    return switch (text) {
      case "reject" -> Excess.REJECT;
      case "drain" -> Excess.DRAIN;
      case "debt" -> {
        if (name != null) {
          limits.requireDebt(node, name, "debt", "reject or drain");
        }
        yield Excess.DEBT;
      }
      default -> {
        problems.mistake(
            node,
            "found %s, expected reject, drain or debt%s"
                .formatted(SafeText.quote(text), Suggestion.didYouMean(text, EXCESSES)));
        yield null;
      }
    };
  }

  /**
   * A cost that the client sends in a header.
   *
   * @param header the header's name
   * @param otherwise the cost in tokens of a request without the header
   */
  private record HeaderCost(String header, long otherwise) {

    /** Reads the cost, a whole number, from the rule's request header, where 0 counts as 1. */
    Cost<RequestRule.Context> ofRequest() {
      return new Cost<>() {
        @Override
        public Long of(RequestRule.Context context) {
          return context.facts().cost(header, otherwise);
        }

        @Override
        public String header() {
          return header;
        }
      };
    }
  }
}

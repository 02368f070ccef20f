package dev.sluice.yaml;

import dev.sluice.gcra.Quota;
import dev.sluice.limit.IdTexts;
import dev.sluice.limit.LimitName;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A defaults file: a map name → {burst, count, period}, and perhaps a section of names. */
final class DefaultsReader {

  private static final String EXPECTED = "a map name → {burst, count, period}";

  private DefaultsReader() {}

  /** The section that declares names, null where there is none. */
  static @Nullable Node names(@Nullable Node root) {
    if (root instanceof Node.Mapping map) {
      for (Node.Entry entry : map.entries()) {
        if (entry.key().text().equals(NamesReader.SECTION)) {
          return entry.value();
        }
      }
    }
    return null;
  }

  /** The quotas that have no mistake, by name. */
  static Map<LimitName, Quota> read(Node root, KnownNames names, Problems problems) {
    Map<LimitName, Quota> quotas = new LinkedHashMap<>();
    if (!(root instanceof Node.Mapping map)) {
      if (!(root instanceof Node.Broken)) {
        problems.wrong(
            root, EXPECTED + (root instanceof Node.Sequence ? "; is it a file of overrides?" : ""));
      }
      return quotas;
    }
    Map<String, Integer> lines = new HashMap<>();
    for (Node.Entry entry : map.entries()) {
      Node.Scalar key = entry.key();
      Integer first = lines.putIfAbsent(key.text(), key.line());
      if (first != null) {
        problems.mistake(
            key,
            "found %s again, expected each name once; it is on line %s too"
                .formatted(IdTexts.quote(key.text()), first));
      }
      if (key.text().equals(NamesReader.SECTION)) {
        continue;
      }
      LimitName name = names.find(key, problems);
      Quota quota = quota(entry, problems);
      if (name != null && name.overridesOnly()) {
        problems.warning(
            key, "found a default for " + name + ", which has overrides only: it is ignored");
      } else if (name != null && quota != null && first == null) {
        quotas.put(name, quota);
      }
    }
    return quotas;
  }

  private static @Nullable Quota quota(Node.Entry entry, Problems problems) {
    if (entry.value() instanceof Node.Mapping map) {
      return Quotas.read(Fields.of(map, entry.key(), Quotas.FIELDS, problems), problems);
    }
    if (!(entry.value() instanceof Node.Broken)) {
      problems.wrong(entry.value(), "{burst, count, period}");
    }
    return null;
  }
}

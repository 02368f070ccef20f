// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import dev.sluice.text.GoDuration;
import dev.sluice.text.SafeText;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** An override or a penalty, as a server's JSON tells it, in a sentence for people. Immutable. */
final class SettingText {

  private static final JsonFactory JSON = new JsonFactory();

  private final Map<String, String> fields = new LinkedHashMap<>();
  private final List<String> warnings = new ArrayList<>();

  private SettingText() {}

  /**
   * Reads one setting.
   *
   * @return null if the answer is not such an object
   */
  static @Nullable SettingText parse(String json) {
    SettingText read = new SettingText();
    try (JsonParser parser = JSON.createParser(json)) {
      if (parser.nextToken() != JsonToken.START_OBJECT) {
        return null;
      }
      while (parser.nextToken() == JsonToken.FIELD_NAME) {
        String field = parser.currentName();
        JsonToken value = parser.nextToken();
        if (value.isScalarValue()) {
          read.fields.put(field, parser.getText());
        } else if (field.equals("warnings") && value == JsonToken.START_ARRAY) {
          while (parser.nextToken() != JsonToken.END_ARRAY) {
            read.warnings.add(parser.getText());
          }
        } else {
          parser.skipChildren();
        }
      }
    } catch (IOException e) {
      return null;
    }
    return read.fields.containsKey("limit") && read.fields.containsKey("id") ? read : null;
  }

  /** What the server warns of. */
  List<String> warnings() {
    return warnings;
  }

  /**
   * Says it on one line: {@code ApiCallsPerKey k1: burst 500, then 500 per 7d (from the limit
   * files)}.
   */
  String text() {
    StringBuilder text = new StringBuilder(subject(field("limit"), field("id"))).append(": ");
    if (fields.containsKey("until")) {
      text.append("nothing until ").append(field("until"));
      if (fields.containsKey("owed")) {
        text.append(", owes ").append(field("owed"));
      }
    } else {
      text.append("burst %s, then %s per %s".formatted(field("burst"), field("count"), period()));
    }
    text.append(" (").append(place(field("keptIn"))).append(')');
    return fields.containsKey("comment")
        ? text.append(": ").append(SafeText.printable(field("comment"))).toString()
        : text.toString();
  }

  static String subject(String limit, String id) {
    return SafeText.printable(limit) + " " + SafeText.printable(id);
  }

  private String field(String name) {
    return fields.getOrDefault(name, "?");
  }

  private String period() {
    try {
      return Periods.brief(GoDuration.parse(field("period")));
    } catch (IllegalArgumentException e) {
      return SafeText.printable(field("period")); // of a newer server
    }
  }

  private static String place(String keptIn) {
    return switch (keptIn) {
      case "memory" -> "kept in memory until the server ends";
      case "file" -> "kept in the file of --override-store";
      case "table" -> "kept in the table";
      case "files" -> "from the limit files";
      default -> "kept in " + SafeText.printable(keptIn);
    };
  }
}

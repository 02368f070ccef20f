package dev.sluice.server.http;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;

/**
 * Holds a value against a JSON schema, as far as our OpenAPI document uses the language; a keyword
 * that it does not know fails, so that none is passed over silently.
 */
final class SchemaCheck {

  /** Words about the value, or about values that requests alone have. */
  private static final List<String> UNCHECKED =
      List.of("description", "default", "format", "minLength", "maxLength", "maxItems", "minItems");

  private final JsonNode document;

  SchemaCheck(JsonNode document) {
    this.document = document;
  }

  List<String> faults(JsonNode schema, JsonNode value) {
    List<String> faults = new ArrayList<>();
    check(schema, value, "$", faults);
    return faults;
  }

  private void check(JsonNode schema, JsonNode value, String path, List<String> faults) {
    schema
        .properties()
        .forEach(
            rule -> {
              JsonNode want = rule.getValue();
              switch (rule.getKey()) {
                case "$ref" -> check(document.at(want.asText().substring(1)), value, path, faults);
                case "oneOf" -> oneOf(want, value, path, faults);
                case "type" -> require(hasType(want, value), path + ": type", faults);
                case "const" -> require(want.equals(value), path + ": const", faults);
                case "enum" -> {
                  List<JsonNode> values = new ArrayList<>();
                  want.forEach(values::add);
                  require(values.contains(value), path + ": enum", faults);
                }
                case "minimum" ->
                    require(
                        value.isNull() || value.longValue() >= want.longValue(),
                        path + ": minimum",
                        faults);
                case "maximum" ->
                    require(
                        value.isNull() || value.longValue() <= want.longValue(),
                        path + ": maximum",
                        faults);
                case "required" ->
                    want.forEach(
                        field ->
                            require(
                                value.has(field.asText()), path + ": required " + field, faults));
                case "additionalProperties" ->
                    value
                        .fieldNames()
                        .forEachRemaining(
                            field ->
                                require(
                                    schema.get("properties").has(field),
                                    path + ": additional " + field,
                                    faults));
                case "properties" ->
                    want.properties()
                        .forEach(
                            field -> {
                              if (value.has(field.getKey())) {
                                check(
                                    field.getValue(),
                                    value.get(field.getKey()),
                                    path + "." + field.getKey(),
                                    faults);
                              }
                            });
                case "items" -> value.forEach(item -> check(want, item, path + "[]", faults));
                default ->
                    require(
                        UNCHECKED.contains(rule.getKey()),
                        path + ": unknown keyword " + rule.getKey(),
                        faults);
              }
            });
  }

  private void oneOf(JsonNode schemas, JsonNode value, String path, List<String> faults) {
    int fitting = 0;
    for (JsonNode schema : schemas) {
      fitting += faults(schema, value).isEmpty() ? 1 : 0;
    }
    require(fitting == 1, path + ": fits " + fitting + " of oneOf", faults);
  }

  private static boolean hasType(JsonNode types, JsonNode value) {
    if (types.isArray()) {
      for (JsonNode type : types) {
        if (hasType(type, value)) {
          return true;
        }
      }
      return false;
    }
    return switch (types.asText()) {
      case "object" -> value.isObject();
      case "array" -> value.isArray();
      case "string" -> value.isTextual();
      case "integer" -> value.isIntegralNumber();
      case "boolean" -> value.isBoolean();
      case "null" -> value.isNull();
      default -> false;
    };
  }

  private static void require(boolean holds, String fault, List<String> faults) {
    if (!holds) {
      faults.add(fault);
    }
  }
}

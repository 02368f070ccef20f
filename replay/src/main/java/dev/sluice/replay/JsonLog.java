// SPDX-License-Identifier: Apache-2.0
package dev.sluice.replay;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.time.ZoneId;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A log of JSON objects, one for each line. A value within another object is named by both keys,
 * such as {@code request.method}; of a list, the first value counts.
 */
final class JsonLog extends LogFormat {

  /** The shared name of each key that the servers write, in lower case. */
  private static final Map<String, String> KNOWN =
      Map.ofEntries(
          // nginx, by the names of its variables
          Map.entry("time_iso8601", "time"),
          Map.entry("time_local", "time"),
          Map.entry("msec", "time"),
          Map.entry("remote_addr", "client"),
          Map.entry("request_method", "method"),
          Map.entry("request_uri", "target"),
          Map.entry("http_host", "host"),
          Map.entry("remote_user", "user"),
          Map.entry("http_user_agent", "header:user-agent"),
          Map.entry("http_referer", "header:referer"),
          Map.entry("http_x_forwarded_for", "header:x-forwarded-for"),
          // Caddy
          Map.entry("ts", "time"),
          Map.entry("request.remote_ip", "client"),
          Map.entry("request.method", "method"),
          Map.entry("request.uri", "target"),
          Map.entry("request.host", "host"),
          Map.entry("user_id", "user"),
          // Envoy, by the names of its examples
          Map.entry("start_time", "time"),
          Map.entry("downstream_remote_address_without_port", "client"),
          Map.entry("downstream_remote_address", "client"),
          Map.entry("path", "target"),
          Map.entry("authority", "host"),
          Map.entry("response_code", "status"),
          Map.entry("x_forwarded_for", "header:x-forwarded-for"),
          // AWS WAF
          Map.entry("timestamp", "time"),
          Map.entry("httprequest.clientip", "client"),
          Map.entry("httprequest.httpmethod", "method"),
          Map.entry("httprequest.uri", "target"),
          Map.entry("httprequest.args", "query"),
          Map.entry("responsecodesent", "status"),
          // what many others write
          Map.entry("time", "time"),
          Map.entry("client", "client"),
          Map.entry("method", "method"),
          Map.entry("request", "request"),
          Map.entry("host", "host"),
          Map.entry("status", "status"),
          Map.entry("user_agent", "header:user-agent"),
          Map.entry("referer", "header:referer"));

  private static final List<String> HEADERS = List.of("request.headers.", "httprequest.headers.");
  private static final String HEADER = "header:";
  private static final int DEEPEST = 8;

  private final JsonFactory json = new JsonFactory();
  private final Map<String, String> shared = new HashMap<>();
  private final Map<String, Integer> columns = new HashMap<>();

  JsonLog(String name, Map<String, String> given, ZoneId zone) {
    super(name, zone);
    if (given.isEmpty()) {
      shared.putAll(KNOWN);
    }
    given.forEach((key, field) -> shared.put(key, field));
    Map<String, Integer> byField = new HashMap<>();
    shared.forEach(
        (key, field) -> {
          int column = byField.computeIfAbsent(field, f -> add(key, f));
          alias(key, column);
          columns.put(key, column);
        });
    byField.forEach(this::inHeaders);
    declare("header:host");
  }

  @Override
  int column(String wanted) {
    int column = super.column(wanted);
    boolean open = wanted.startsWith("field:") || wanted.startsWith(HEADER);
    if (column >= 0 || !open) {
      return column;
    }
    // A column that nothing declared may be in any line.
    String key = wanted.substring(wanted.indexOf(':') + 1).toLowerCase(Locale.ROOT);
    int added = add(key, wanted.toLowerCase(Locale.ROOT));
    columns.put(key, added);
    inHeaders(wanted, added);
    return added;
  }

  /** Reads a header also where a server writes all headers of the request. */
  private void inHeaders(String field, int column) {
    if (field.startsWith(HEADER)) {
      String name = field.substring(HEADER.length()).toLowerCase(Locale.ROOT);
      HEADERS.forEach(before -> columns.putIfAbsent(before + name, column));
    }
  }

  @Override
  boolean read(LogEntry entry) {
    int length = entry.length();
    try (JsonParser parser = json.createParser(entry.bytes(), 0, length)) {
      return parser.nextToken() == JsonToken.START_OBJECT
          && readObject(parser, "", 0, entry)
          && parser.nextToken() == null;
    } catch (IOException e) {
      return false;
    }
  }

  private boolean readObject(JsonParser parser, String before, int depth, LogEntry entry)
      throws IOException {
    String header = null;
    for (JsonToken token = parser.nextToken();
        token != JsonToken.END_OBJECT;
        token = parser.nextToken()) {
      if (token != JsonToken.FIELD_NAME) {
        return false;
      }
      String key = before + parser.currentName().toLowerCase(Locale.ROOT);
      token = parser.nextToken();
      if (token == JsonToken.START_OBJECT && depth < DEEPEST) {
        if (!readObject(parser, key + ".", depth + 1, entry)) {
          return false;
        }
      } else if (token == JsonToken.START_ARRAY) {
        if (!readArray(parser, key, depth, entry)) {
          return false;
        }
      } else if (key.equals("httprequest.headers.name")) { // WAF lists names and values
        header = parser.getText();
      } else if (key.equals("httprequest.headers.value") && header != null) {
        set("httprequest.headers." + header.toLowerCase(Locale.ROOT), parser, entry);
      } else {
        set(key, parser, entry);
      }
    }
    return true;
  }

  private boolean readArray(JsonParser parser, String key, int depth, LogEntry entry)
      throws IOException {
    for (JsonToken token = parser.nextToken();
        token != JsonToken.END_ARRAY;
        token = parser.nextToken()) {
      if (token == null) {
        return false;
      }
      if (token == JsonToken.START_OBJECT && depth < DEEPEST) {
        if (!readObject(parser, key + ".", depth + 1, entry)) {
          return false;
        }
      } else if (token.isStructStart()) {
        parser.skipChildren();
      } else {
        set(key, parser, entry);
      }
    }
    return true;
  }

  /** The first value of a key counts, and an empty one does not. */
  private void set(String key, JsonParser parser, LogEntry entry) throws IOException {
    Integer column = columns.get(key);
    @Nullable String value =
        column == null || !parser.currentToken().isScalarValue() ? null : parser.getText();
    if (column != null
        && value != null
        && !value.isEmpty()
        && !entry.has(column)
        && parser.currentToken() != JsonToken.VALUE_NULL) {
      entry.set(column, value);
    }
  }
}

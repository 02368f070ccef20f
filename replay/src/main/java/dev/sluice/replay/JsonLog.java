// SPDX-License-Identifier: Apache-2.0
package dev.sluice.replay;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/**
 * A log with one JSON object per line. A value in a nested object has a name that joins the keys
 * with dots, such as {@code request.method}. Only the first value of a list is read, except that
 * all values of a header are read.
 */
final class JsonLog extends LogFormat {

  /** Maps the keys that known servers write, in lower case, to the shared names of columns. */
  private static final Map<String, String> KNOWN =
      Map.ofEntries(
          // keys of nginx: the names of its variables
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
          // keys in the examples of Envoy's documentation
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
          // keys that are common in the logs of many programs
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
  private static final String FIELD = "field:";
  // Caddy and AWS WAF log this text instead of a header's value.
  private static final String REDACTED = "REDACTED";
  private static final int DEEPEST = 8;
  private static final int MOST_BYTES = 1 << 23; // the maximum for a line and its copied values

  private final JsonFactory json = new JsonFactory();
  private final Map<String, Integer> columns = new HashMap<>();
  // The column of a header by its key in the JSON object.
  private final Map<String, Integer> ofHeaders = new HashMap<>();
  private final List<Plain> plain = new ArrayList<>();
  private boolean isSealed;

  /**
   * A header's two columns: one for its key in the object with the headers, one for a key outside
   * of this object.
   */
  private record Plain(int header, int column) {}

  JsonLog(String name, Map<String, String> given, ZoneId zone) {
    super(name, zone);
    Map<String, Integer> byField = new HashMap<>();
    new TreeMap<>(given.isEmpty() ? KNOWN : given)
        .forEach(
            (key, field) -> {
              if (field.startsWith(HEADER)) {
                columns.put(key, add(key, null));
                plain.add(new Plain(column(field), column(FIELD + key)));
              } else {
                int column = byField.computeIfAbsent(field, f -> add(key, f));
                alias(key, column);
                columns.put(key, column);
              }
            });
    declare("header:host");
  }

  @Override
  int column(String wanted) {
    int column = super.column(wanted);
    boolean isHeader = wanted.startsWith(HEADER);
    if (column >= 0 || isSealed || !(isHeader || wanted.startsWith(FIELD))) {
      return column;
    }
    // A JSON log does not list its columns, so a later line can contain a column that is not known
    // yet.
    String key = wanted.substring(wanted.indexOf(':') + 1).toLowerCase(Locale.ROOT);
    if (!isHeader) {
      int added = add(key, null);
      columns.put(key, added);
      return added;
    }
    // The header user-id is also declared as user_id. A field user_id of the log is another value.
    boolean isOtherName = super.column(HEADER + key.replace('_', '-')) >= 0;
    int added = add(HEADER + key, HEADER + key);
    HEADERS.forEach(before -> ofHeaders.put(before + key, added));
    if (!isOtherName) {
      plain.add(new Plain(added, column(FIELD + key)));
    }
    return added;
  }

  @Override
  void seal() {
    isSealed = true;
  }

  @Override
  boolean read(LogEntry entry) {
    int length = entry.length();
    try (JsonParser parser = json.createParser(entry.bytes(), 0, length)) {
      boolean isRead =
          parser.nextToken() == JsonToken.START_OBJECT
              && readObject(parser, "", 0, entry)
              && parser.nextToken() == null;
      for (Plain one : plain) {
        if (!entry.has(one.header()) && entry.has(one.column())) {
          entry.set(one.header(), entry.start(one.column()), entry.end(one.column()));
        }
      }
      return isRead;
    } catch (IOException e) {
      return false;
    }
  }

  @Override
  String fault(LogEntry entry) {
    return "expected one JSON object";
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
      if (token == JsonToken.START_OBJECT && depth >= DEEPEST) {
        parser.skipChildren();
      } else if (token == JsonToken.START_OBJECT) {
        if (!readObject(parser, key + ".", depth + 1, entry)) {
          return false;
        }
      } else if (token == JsonToken.START_ARRAY) {
        if (!readArray(parser, key, depth, entry)) {
          return false;
        }
      } else if (key.equals("httprequest.headers.name")) { // AWS WAF lists header names and values
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

  /**
   * Copies the value of a key to the key's column. The column gets the first non-empty value of the
   * key, but the column of a header gets all values.
   */
  private void set(String key, JsonParser parser, LogEntry entry) throws IOException {
    Integer column = columns.get(key);
    Integer header = ofHeaders.get(key);
    if ((column == null && header == null)
        || !parser.currentToken().isScalarValue()
        || parser.currentToken() == JsonToken.VALUE_NULL) {
      return;
    }
    String value = parser.getText();
    if (value.isEmpty()
        && (column == null || (column != column("request") && column != column("method")))) {
      return; // an empty request or method says that the line has no request
    }
    if (column != null && (!entry.has(column) || entry.start(column) == entry.end(column))) {
      entry.set(column, value);
    }
    if (entry.length() > MOST_BYTES) {
      throw new IOException("the values of the headers are too long");
    }
    if (header != null && !value.equals(REDACTED)) {
      if (entry.hasValue(header)) {
        entry.append(header, LogRequest.NEXT_VALUE + value);
      } else {
        entry.set(header, value);
      }
    }
  }
}

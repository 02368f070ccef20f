// SPDX-License-Identifier: Apache-2.0
package dev.sluice.replay;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.internal.text.SafeText;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * A format of log lines. Each column has a native name, such as {@code body_bytes_sent}. Some
 * columns also have a shared name, which is the same in all formats: {@code time}, {@code client},
 * {@code method}, {@code target}, {@code request} (the method and the target), {@code host}, {@code
 * user}, {@code status} or {@code header:NAME}. Not thread-safe.
 */
abstract class LogFormat {

  /**
   * The formats that {@link #recognise} tries. If two formats read equally many lines, the format
   * that is earlier in {@code RECOGNISED} is chosen.
   */
  private static final List<String> RECOGNISED =
      List.of("combined", "alb", "envoy", "haproxy", "cloudfront", "json");

  private static final int RECOGNISED_BY = 1 << 14;

  /**
   * The start of the year 1990. In a format without field names, a number that would be a time
   * before 1990 is taken for another field, such as a status.
   */
  private static final long EARLIEST = 631_152_000_000_000_000L;

  /** The columns that the headings of one file define. */
  static final class Headings {

    private int[] columns = new int[0]; // the column of each value in a line
    private boolean found;
  }

  private final String name;
  private final List<String> natives = new ArrayList<>();
  private final Map<String, Integer> byName = new HashMap<>();
  final TimeText times;
  private int timesOf = -1;
  private int time = -1;
  private int date = -1;
  private int status = -1;
  private int method = -1;
  private int request = -1;
  private volatile int[] hashed = {}; // the columns that identify lines with the same charges
  private Headings headings = new Headings();

  LogFormat(String name, ZoneId zone) {
    this.name = name;
    this.times = new TimeText(zone);
  }

  /**
   * Parses the name of a format as the option {@code --format} accepts it, such as {@code combined}
   * or {@code json:time=ts,client=ip}.
   *
   * @param zone the zone in which times that have no zone are read
   * @throws IllegalArgumentException if no format has this name
   */
  static LogFormat parse(String text, ZoneId zone) {
    int colon = text.indexOf(':');
    String kind = colon < 0 ? text : text.substring(0, colon);
    String rest = colon < 0 ? "" : text.substring(colon + 1);
    String known = TextLog.LAYOUTS.get(text);
    if (known != null) {
      return new TextLog(text, known, zone);
    }
    return switch (kind) {
      case "cloudfront" -> new DelimitedLog(text, '\t', Map.of(), zone);
      case "csv" -> new DelimitedLog(text, ',', assignments(rest), zone);
      case "json" -> new JsonLog(text, assignments(rest), zone);
      case "nginx-json", "caddy", "envoy-json", "waf" -> new JsonLog(text, Map.of(), zone);
      case "regex" -> new RegexLog(text, rest, zone);
      default ->
          throw new IllegalArgumentException(
              "found %s, expected one of %s, cloudfront, nginx-json, caddy, envoy-json, waf, json:FIELD=NAME,..., csv:FIELD=COLUMN,..., regex:PATTERN"
                  .formatted(
                      SafeText.quote(text),
                      TextLog.LAYOUTS.keySet().stream()
                          .sorted()
                          .collect(Collectors.joining(", "))));
    };
  }

  /**
   * Returns the name of the format that can read most of the first lines of a log; null if no
   * format can read a line.
   */
  static @Nullable String recognise(byte[] head, int length, ZoneId zone) {
    String best = null;
    int most = 0;
    for (String candidate : RECOGNISED) {
      LogFormat format = parse(candidate, zone);
      LogEntry entry = new LogEntry(format);
      int understood = 0;
      int start = afterByteOrderMark(head, 0, length);
      for (int i = start; i < length && start < RECOGNISED_BY; i++) {
        if (head[i] == '\n') {
          int size = i > start && head[i - 1] == '\r' ? i - 1 - start : i - start;
          // A text format can read JSON with spaces, but the values are in the wrong columns.
          boolean isOfKind = (head[start] == '{') == candidate.equals("json");
          boolean isRequest = size > 0 && isOfKind && !format.isHeading(head, start, start + size);
          boolean isRead = isRequest && format.read(head, start, size, entry);
          understood += isRead && entry.atNanos() >= EARLIEST ? 1 : 0;
          start = i + 1;
        }
      }
      if (understood > most) {
        most = understood;
        best = candidate;
      }
    }
    return best;
  }

  /**
   * Returns the position after the UTF-8 byte order mark of a text; {@code from} if the text has no
   * byte order mark.
   */
  static int afterByteOrderMark(byte[] text, int from, int to) {
    boolean marked =
        to - from >= 3
            && text[from] == (byte) 0xef
            && text[from + 1] == (byte) 0xbb
            && text[from + 2] == (byte) 0xbf;
    return marked ? from + 3 : from;
  }

  private static Map<String, String> assignments(String text) {
    Map<String, String> columns = new HashMap<>();
    for (String one : text.isEmpty() ? List.<String>of() : List.of(text.split(",", -1))) {
      int equals = one.indexOf('=');
      if (equals < 1 || equals == one.length() - 1) {
        throw new IllegalArgumentException(
            "found %s in the format, expected FIELD=NAME such as time=ts"
                .formatted(SafeText.quote(one)));
      }
      columns.put(
          one.substring(equals + 1).toLowerCase(Locale.ROOT),
          one.substring(0, equals).toLowerCase(Locale.ROOT));
    }
    return columns;
  }

  /** Adds a column. Returns the number of the new column. */
  @CanIgnoreReturnValue
  final int add(String nativeName, @Nullable String shared) {
    int column = natives.size();
    natives.add(nativeName);
    byName.putIfAbsent("field:" + nativeName, column);
    if (shared != null) {
      byName.putIfAbsent(shared, column);
    }
    return column;
  }

  /** Adds a second name under which {@code field:NAME} finds a column. */
  final void alias(String nativeName, int column) {
    byName.putIfAbsent("field:" + nativeName, column);
  }

  /** Returns the name of the format in the option {@code --format}. */
  final String name() {
    return name;
  }

  final int columns() {
    return natives.size();
  }

  /**
   * Returns the number of the column with a shared name or {@code field:NATIVE_NAME}; -1 if there
   * is no column with this name.
   */
  int column(String wanted) {
    return byName.getOrDefault(wanted.toLowerCase(Locale.ROOT), byName.getOrDefault(wanted, -1));
  }

  /** Returns the names of the headers that have a column, in lower case. */
  final List<String> headers() {
    return byName.keySet().stream()
        .filter(name -> name.startsWith("header:"))
        .map(name -> name.substring("header:".length()))
        .toList();
  }

  /**
   * Declares that a column will be read. The format of JSON logs reads only the declared columns.
   */
  final void declare(String wanted) {
    int unused = column(wanted);
  }

  /** Sets the columns whose values are hashed in each line that is read from now on. */
  final void hashBy(int[] columns) {
    this.hashed = columns;
  }

  /** Ends the declaration of columns: no further column can be declared. */
  void seal() {}

  /**
   * Returns whether a log line can declare further columns. If a line can declare columns, one
   * thread must both read lines and decide requests.
   */
  boolean addsColumns() {
    return false;
  }

  /** Switches to the headings of the file from which the next lines are read. */
  final void enter(Headings ofFile) {
    this.headings = ofFile;
  }

  final Headings headings() {
    return headings;
  }

  /** Returns the native names of the columns, for messages. */
  final List<String> natives() {
    return List.copyOf(natives);
  }

  /**
   * Returns whether a line is a heading or a comment, so not a request. A heading names the
   * columns.
   */
  boolean isHeading(byte[] line, int from, int to) {
    return false;
  }

  /**
   * Finds the columns in the line of an entry. Returns false if the line does not have this format.
   */
  abstract boolean read(LogEntry entry);

  /** Describes the mistake in the line of an entry, after {@link #read} returned false. */
  abstract String fault(LogEntry entry);

  /** Returns why a line cannot be parsed, as text for an error message. */
  final String fault(byte[] line, int from, int length, LogEntry entry) {
    entry.take(line, from, length);
    if (!read(entry)) {
      return fault(entry);
    }
    String found = time < 0 ? null : entry.text(time);
    return found == null
        ? "the line has no " + (time < 0 ? "time" : natives.get(time))
        : "the time is %s, expected a time such as 26/Nov/2026:10:00:00 +0100 or 2026-11-26T10:00:00Z"
            .formatted(SafeText.quote(found));
  }

  /** Returns the value of a column after replacing the escapes of this format. */
  String unescaped(String text) {
    return text;
  }

  /** Parses a line and its time into an entry. Returns false if the line cannot be parsed. */
  final boolean read(byte[] line, int from, int length, LogEntry entry) {
    entry.take(line, from, length);
    if (!read(entry)) {
      return false;
    }
    long at = time(entry);
    entry.at(at);
    boolean lacksRequest = isAbsent(entry, request);
    boolean lacksMethod = isAbsent(entry, method);
    if ((lacksRequest && (lacksMethod || !entry.has(method)))
        || (lacksMethod && !entry.has(request))) {
      entry.isRequest(false);
    }
    entry.hashBy(hashed);
    entry.status(entry.number(status));
    return at != TimeText.NONE && at >= earliestNanos();
  }

  /**
   * Returns whether a line says that a column has no value. Servers write an empty value or {@code
   * -} for the request of a connection without one, and Envoy {@code - - HTTP/1.1}.
   */
  private static boolean isAbsent(LogEntry entry, int column) {
    if (!entry.has(column)) {
      return false;
    }
    int start = entry.start(column);
    int size = entry.end(column) - start;
    return size == 0
        || (entry.bytes()[start] == '-' && (size == 1 || entry.bytes()[start + 1] == ' '));
  }

  /** Returns the earliest valid time of a request. The times of a trace can start at 0. */
  long earliestNanos() {
    return 0;
  }

  /** Returns the offset of times whose date has its own column; empty to use the given zone. */
  String offset() {
    return "";
  }

  private long time(LogEntry entry) {
    if (timesOf != columns()) { // a heading in the log added columns
      timesOf = columns();
      time = column("time");
      date = column("date");
      status = column("status");
      method = column("method");
      request = column("request");
    }
    if (date >= 0 && entry.has(date) && entry.has(time)) {
      String both = entry.text(date) + "T" + entry.text(time) + offset();
      byte[] text = both.getBytes(StandardCharsets.US_ASCII);
      return times.nanos(text, 0, text.length);
    }
    return entry.has(time)
        ? times.nanos(entry.bytes(), entry.start(time), entry.end(time))
        : TimeText.NONE;
  }

  /*
   * The quotes or brackets around a value are not a part of the value.
   */
  /** A log whose values are separated by spaces, and can be in quotes or brackets. */
  static final class TextLog extends LogFormat {

    private static final String COMMON =
        "remote_addr=client ident remote_user=user time_local=time request=request status=status body_bytes_sent";

    /**
     * The columns of each log layout. Each column is written as its native name, optionally
     * followed by "=" and its shared name.
     */
    static final Map<String, String> LAYOUTS =
        Map.of(
            "combined",
            COMMON + " http_referer=header:referer http_user_agent=header:user-agent",
            "common",
            COMMON,
            "envoy",
            "start_time=time request=request response_code=status response_flags bytes_received bytes_sent"
                + " duration upstream_service_time x-forwarded-for=header:x-forwarded-for"
                + " user-agent=header:user-agent x-request-id=header:x-request-id authority=host upstream_host",
            "haproxy",
            "client=client accept_date=time frontend backend timers status=status bytes_read"
                + " request_cookie response_cookie state connections queues …request=request",
            "alb",
            "type end_time=time elb client=client target request_processing_time"
                + " target_processing_time response_processing_time status=status target_status"
                + " received_bytes sent_bytes request=request user_agent=header:user-agent ssl_cipher"
                + " ssl_protocol target_group trace_id domain=host");

    private static final Pattern ESCAPE = Pattern.compile("((?:\\\\x[0-9A-Fa-f]{2})+)|\\\\(.)");
    private static final byte[] SYSLOG = "]: ".getBytes(StandardCharsets.US_ASCII);

    private final boolean behindSyslog;
    private final boolean isUnescaped;
    private final boolean addressHasPort;
    private final boolean hasBrackets;
    private final int client;
    private final int user;
    private final int request;
    private final int last;

    TextLog(String name, String layout, ZoneId zone) {
      super(name, zone);
      for (String column : layout.split(" ", -1)) {
        int equals = column.indexOf('=');
        String nativeName = equals < 0 ? column : column.substring(0, equals);
        add(
            nativeName.startsWith("…") ? nativeName.substring(1) : nativeName,
            equals < 0 ? null : column.substring(equals + 1));
      }
      this.last = layout.contains("…") ? columns() - 1 : -1;
      this.behindSyslog = name.equals("haproxy");
      this.isUnescaped = name.equals("envoy");
      this.addressHasPort = behindSyslog || name.equals("alb");
      this.hasBrackets =
          !name.equals("alb"); // HAProxy's lines without a syslog header have brackets
      this.client = column("client");
      this.user = column("user");
      this.request = column("request");
    }

    @Override
    boolean read(LogEntry entry) {
      byte[] line = entry.bytes();
      int end = entry.length();
      int at = behindSyslog ? behindSyslog(line, end) : 0;
      for (int column = 0; column < columns(); column++) {
        if (column == last) { // HAProxy can write captured headers before this column
          at = Math.max(at, ByteSearch.indexOf(line, at, end, '"'));
        }
        if (at >= end) {
          // Without a request, a line of HAProxy is about a connection, such as a failed handshake.
          return last < 0 && column > column("status") && column("status") > 0;
        }
        if (column == user) {
          at = userAndTime(entry, at);
          if (at < 0) {
            return false;
          }
          column++;
          continue;
        }
        int open = line[at];
        int close = open == '[' && hasBrackets ? ']' : open == '"' ? '"' : ' ';
        int start = close == ' ' ? at : at + 1;
        int stop =
            close == '"' && !isUnescaped
                ? closingQuote(line, start, end)
                : ByteSearch.indexOf(line, start, end, close, isUnescaped ? '"' : close);
        if ((stop == end && close != ' ')
            || (column == request && close != '"')
            || (isUnescaped && !isWhole(line, stop, end, close))) {
          return false;
        }
        entry.set(
            column, start, column == client && addressHasPort ? port(line, start, stop) : stop);
        if (column == request) {
          entry.isRequest(isRequest(line, start, stop));
        }
        at = close == ' ' ? stop + 1 : stop + 2;
      }
      return !isUnescaped || at >= end;
    }

    /**
     * Finds the user and the time, and returns the position of the request; -1 if the line has no
     * time before its request. A user name comes from the client, and can contain spaces and
     * brackets, but no quote without an escape. So the time is what stands directly before the
     * first quote. The name {@code ""} is Apache's text for an empty name.
     */
    private int userAndTime(LogEntry entry, int from) {
      byte[] line = entry.bytes();
      int quotes = line[from] == '"' ? 1 : 0;
      int quote = closingQuote(line, from + 2 * quotes, entry.length());
      int open = quote - 1;
      while (open > from && line[open] != '[') {
        open--;
      }
      if (quote == entry.length()
          || open <= from
          || line[open - 1] != ' '
          || line[quote - 2] != ']') {
        entry.set(user, from, from); // so that the fault is the time
        return -1;
      }
      entry.set(user, from + quotes, open - 1 - quotes);
      entry.set(user + 1, open + 1, quote - 2);
      return quote;
    }

    /**
     * Returns whether a value of Envoy ends where it seems to end. Envoy does not escape the quotes
     * in what a client sends, so that a client can end a value and begin others. Such a line has
     * more values than the format, or a quote beside other text.
     */
    private static boolean isWhole(byte[] line, int stop, int end, int close) {
      return close == ' '
          ? stop == end || line[stop] == ' '
          : line[stop] == close && (stop + 1 == end || line[stop + 1] == ' ');
    }

    /**
     * Returns whether a request has a method. After a timeout or a broken handshake, servers write
     * {@code -}, {@code <BADREQ>} or escaped bytes in place of the request.
     */
    private static boolean isRequest(byte[] line, int start, int stop) {
      int at = ByteSearch.indexOf(line, start, stop, ' ', '\\');
      return at > start && at < stop && line[at] == ' ';
    }

    /**
     * If a value is missing, all later values move to the left, and a status can stand in the place
     * of the time.
     */
    @Override
    long earliestNanos() {
      return EARLIEST;
    }

    @Override
    String fault(LogEntry entry) {
      int missing = 0;
      while (missing < columns() - 1 && entry.has(missing)) {
        missing++;
      }
      return entry.has(missing)
          ? "the line has more values than the format, which has " + columns()
          : "the line has no complete %s, which is value %s of %s"
              .formatted(natives().get(missing), missing + 1, columns());
    }

    /**
     * Returns the position after the syslog header; 0 if the line has no such header. The search
     * ends at the time of the request, since the captured headers after the time come from the
     * client.
     */
    private static int behindSyslog(byte[] line, int end) {
      for (int i = 0; i + SYSLOG.length < end && !(line[i] == ' ' && line[i + 1] == '['); i++) {
        if (Arrays.equals(line, i, i + SYSLOG.length, SYSLOG, 0, SYSLOG.length)) {
          return i + SYSLOG.length;
        }
      }
      return 0;
    }

    /**
     * Returns the position of the colon before the port of an address; {@code end} if the address
     * has no port.
     */
    private static int port(byte[] line, int start, int end) {
      for (int i = end - 1; i > start; i--) {
        if (line[i] == ':') {
          return i;
        }
      }
      return end;
    }

    private static int closingQuote(byte[] line, int from, int end) {
      int at = ByteSearch.indexOf(line, from, end, '"', '\\');
      while (at < end && line[at] == '\\') {
        at = ByteSearch.indexOf(line, at + 2, end, '"', '\\');
      }
      return Math.min(at, end);
    }

    @Override
    String unescaped(String text) {
      if (isUnescaped || text.indexOf('\\') < 0) {
        return text;
      }
      StringBuilder plain = new StringBuilder();
      Matcher escape = ESCAPE.matcher(text);
      while (escape.find()) {
        String codes = escape.group(1); // the bytes of a text in UTF-8
        String meant =
            codes == null
                ? escape.group(2)
                : new String(
                    HexFormat.of().parseHex(codes.replace("\\x", "")), StandardCharsets.UTF_8);
        escape.appendReplacement(plain, Matcher.quoteReplacement(meant));
      }
      return escape.appendTail(plain).toString();
    }
  }

  /** A log with one separator between values. A heading names the columns. */
  static final class DelimitedLog extends LogFormat {

    private static final Map<String, String> CLOUDFRONT =
        Map.ofEntries(
            Map.entry("date", "date"),
            Map.entry("time", "time"),
            Map.entry("c-ip", "client"),
            Map.entry("cs-method", "method"),
            Map.entry("x-host-header", "host"), // the host that the client asked for
            Map.entry("cs(host)", "header:host"), // the name of the CloudFront distribution
            Map.entry("cs-uri-stem", "target"),
            Map.entry("cs-uri-query", "query"),
            Map.entry("sc-status", "status"),
            Map.entry("cs(referer)", "header:referer"),
            Map.entry("cs(user-agent)", "header:user-agent"),
            Map.entry("cs(cookie)", "header:cookie"),
            Map.entry("x-forwarded-for", "header:x-forwarded-for"));
    private static final String FIELDS = "#Fields:";

    private final char separator;
    private final Map<String, String> shared;

    DelimitedLog(String name, char separator, Map<String, String> columns, ZoneId zone) {
      super(name, zone);
      this.separator = separator;
      this.shared = separator == '\t' ? CLOUDFRONT : columns;
    }

    /** CloudFront logs times in UTC. */
    @Override
    String offset() {
      return separator == '\t' ? "Z" : "";
    }

    @Override
    boolean addsColumns() {
      return true;
    }

    @Override
    boolean isHeading(byte[] line, int from, int to) {
      Headings ofFile = headings();
      if (separator == '\t' ? to > from && line[from] == '#' : !ofFile.found) {
        String text = new String(line, from, to - from, StandardCharsets.UTF_8).strip();
        boolean names = separator != '\t' || text.startsWith(FIELDS);
        if (names) {
          ofFile.found = true;
          String[] titles =
              separator == '\t'
                  ? text.substring(FIELDS.length()).strip().split("[ \t]+", -1)
                  : text.split(",", -1);
          ofFile.columns = Arrays.stream(titles).mapToInt(this::columnOf).toArray();
        }
        return true;
      }
      return false;
    }

    /**
     * Returns the number of the column with a title. Adds a column if no earlier file has a column
     * with this title.
     */
    private int columnOf(String title) {
      String key = title.replace("\"", "").strip().toLowerCase(Locale.ROOT);
      int known = column("field:" + key);
      return known >= 0
          ? known
          : add(key, shared.getOrDefault(key, separator == '\t' || !shared.isEmpty() ? null : key));
    }

    @Override
    boolean read(LogEntry entry) {
      byte[] line = entry.bytes();
      int end = entry.length();
      int at = 0;
      for (int column : headings().columns) {
        if (at > end) {
          return false;
        }
        boolean quoted = separator == ',' && at < end && line[at] == '"';
        int start = quoted ? at + 1 : at;
        int stop = start;
        while (stop < end && (quoted ? !isClosing(line, stop, end) : line[stop] != separator)) {
          stop += quoted && line[stop] == '"' ? 2 : 1;
        }
        // If several columns have the same title, the first column is read.
        if (!entry.has(column)) {
          entry.set(column, start, Math.min(stop, end));
        }
        at = quoted ? stop + 2 : stop + 1;
      }
      return at >= end;
    }

    @Override
    String fault(LogEntry entry) {
      int[] columns = headings().columns;
      long found = Arrays.stream(columns).filter(entry::has).count();
      return columns.length == 0
          ? "no heading precedes the line"
          : found == columns.length
              ? "the line has more values than the heading, which has " + columns.length
              : "the line has %s, expected the values of the heading: %s"
                  .formatted(
                      Words.counted(found, "value"),
                      Arrays.stream(columns)
                          .mapToObj(natives()::get)
                          .collect(Collectors.joining(", ")));
    }

    private static boolean isClosing(byte[] line, int at, int end) {
      return line[at] == '"' && (at + 1 >= end || line[at + 1] != '"');
    }

    @Override
    String unescaped(String text) {
      return separator == ',' ? text.replace("\"\"", "\"") : decoded(text);
    }

    /** Decodes each {@code %XX}; a percent sign without two hexadecimal digits is kept. */
    private static String decoded(String text) {
      if (text.indexOf('%') < 0) {
        return text;
      }
      byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
      ByteArrayOutputStream plain = new ByteArrayOutputStream(bytes.length);
      for (int i = 0; i < bytes.length; i++) {
        int high = i + 2 < bytes.length ? Character.digit(bytes[i + 1], 16) : -1;
        int low = high < 0 ? -1 : Character.digit(bytes[i + 2], 16);
        if (bytes[i] == '%' && low >= 0) {
          plain.write(16 * high + low);
          i += 2;
        } else {
          plain.write(bytes[i]);
        }
      }
      return plain.toString(StandardCharsets.UTF_8);
    }
  }

  /**
   * A log whose lines are parsed with a regular expression. Each named group of the regular
   * expression is a column.
   */
  static final class RegexLog extends LogFormat {

    private static final Pattern GROUP = Pattern.compile("\\(\\?<([a-zA-Z][a-zA-Z0-9]*)>");

    private final Pattern pattern;
    private final List<String> groups = new ArrayList<>();

    RegexLog(String name, String expression, ZoneId zone) {
      super(name, zone);
      try {
        this.pattern = Pattern.compile(expression);
      } catch (PatternSyntaxException e) {
        throw new IllegalArgumentException(
            "regex: %s at %s".formatted(e.getDescription(), e.getIndex()), e);
      }
      Matcher names = GROUP.matcher(expression);
      while (names.find()) {
        groups.add(names.group(1));
        add(names.group(1), names.group(1));
      }
    }

    @Override
    boolean read(LogEntry entry) {
      // ISO 8859-1 makes one char of each byte, so each position in the text is a position in the
      // line.
      String line = new String(entry.bytes(), 0, entry.length(), StandardCharsets.ISO_8859_1);
      Matcher matcher = pattern.matcher(line);
      try {
        if (!matcher.find()) {
          return false;
        }
      } catch (StackOverflowError e) { // a repeated group takes stack for each repetition
        return false;
      }
      for (int i = 0; i < groups.size(); i++) {
        int start = matcher.start(groups.get(i));
        if (start >= 0) {
          entry.set(i, start, matcher.end(groups.get(i)));
        }
      }
      return true;
    }

    @Override
    String fault(LogEntry entry) {
      return "the pattern matches no part of the line, or the line is too long for the pattern";
    }
  }
}

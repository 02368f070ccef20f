// SPDX-License-Identifier: Apache-2.0
package dev.sluice.replay;

import dev.sluice.limit.IpAddress;
import dev.sluice.web.PlainRequest;
import dev.sluice.web.UnusableRequestException;
import dev.sluice.web.WebRequest;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/*
 * If two lines have the same values in all columns that the rules read, they have the same charges.
 * So the view records which columns were read, and ReplayRun looks up the rules only once for each
 * combination of values.
 */
/**
 * One log line as a web request, which the rules read. The same {@code LogRequest} object is used
 * for all lines, one after the other. Not thread-safe.
 */
final class LogRequest implements WebRequest {

  /** Separates several values of one header. No header value can contain a line break. */
  static final String NEXT_VALUE = "\n";

  private static final String NO_REQUEST = "this line of the log has no request line";
  private static final String COOKIE = "Cookie";

  private final LogFormat format;
  private final @Nullable String missingPeer;
  private final BitSet used = new BitSet();
  private final BitSet present = new BitSet();
  private final List<String> headerNames;
  private LogEntry entry;
  private @Nullable PlainRequest line;
  private @Nullable String lastHeader;
  private boolean hasHost; // whether any line so far had a host

  /**
   * Creates a view. If the log has no column for the peer, {@code missingPeer} is the peer of every
   * request; null means no peer.
   */
  LogRequest(LogFormat format, @Nullable String missingPeer) {
    this.format = format;
    this.missingPeer = missingPeer;
    this.headerNames = new ArrayList<>(format.headers());
    headerNames.add("Host");
    this.entry = new LogEntry(format);
  }

  void show(LogEntry newEntry) {
    this.entry = newEntry;
    this.line = null;
    this.lastHeader = null;
  }

  /** Returns the name of the header that was read last from this line; null if none was read. */
  @Nullable String lastHeader() {
    return lastHeader;
  }

  /** Throws if the line is not about a request. */
  void requireRequest() {
    if (!entry.isRequest()) {
      throw new UnusableRequestException(NO_REQUEST);
    }
  }

  BitSet used() {
    return used;
  }

  /** Returns the value of a column by its name; null if the line has no value. */
  @Nullable String field(String name) {
    return text(format.column(name));
  }

  private @Nullable String text(int column) {
    if (column < 0) {
      return null;
    }
    used.set(column);
    String text = entry.text(column);
    if (text != null) {
      present.set(column);
    }
    return text;
  }

  /** Returns whether a column is missing, or was read but had no value in any line so far. */
  boolean lacks(String name) {
    int column = format.column(name);
    return column < 0 || (used.get(column) && !present.get(column));
  }

  /**
   * Returns whether the log lacks the host: in its own column, among the headers and in targets.
   */
  boolean lacksHost() {
    return !hasHost && lacks("host") && lacks("header:host");
  }

  private PlainRequest line() {
    PlainRequest known = line;
    if (known == null) {
      String method = field("method");
      String target = field("target");
      String request = method == null || target == null ? field("request") : null;
      if (request != null) {
        int space = request.indexOf(' ');
        int end = request.lastIndexOf(" HTTP/");
        if (space > 0) {
          method = request.substring(0, space);
          target = request.substring(space + 1, end > space ? end : request.length());
        }
      }
      String query = field("query");
      if (method == null || target == null) {
        throw new UnusableRequestException(NO_REQUEST);
      }
      boolean whole = query == null || query.isEmpty() || target.indexOf('?') >= 0;
      known = WebRequest.builder(method, whole ? target : target + "?" + query).build();
      line = known;
    }
    return known;
  }

  /** Returns the method and the target as a text for people; empty if the line has no request. */
  String requestLine() {
    try {
      String query = line().query();
      return line().method() + " " + line().path() + (query == null ? "" : "?" + query);
    } catch (UnusableRequestException e) {
      return "";
    }
  }

  @Override
  public String method() {
    return line().method();
  }

  @Override
  public String path() {
    return line().path();
  }

  @Override
  public List<String> paths() {
    return line().paths();
  }

  @Override
  public @Nullable String query() {
    return line().query();
  }

  @Override
  public List<String> headers(String name) {
    String key = name.toLowerCase(Locale.ROOT);
    lastHeader = key;
    String value = key.equals("host") ? host() : field("header:" + key);
    return value == null ? List.of() : List.of(value.split(NEXT_VALUE, -1));
  }

  private @Nullable String host() {
    String host = field("host");
    if (host == null) {
      host = field("header:host");
    }
    String target = host == null ? field("target") : null;
    if (host == null && target == null) {
      String request = field("request");
      int space = request == null ? -1 : request.indexOf(' ');
      target = request == null || space < 0 ? null : request.substring(space + 1);
    }
    int scheme = target == null || target.startsWith("/") ? -1 : target.indexOf("://");
    String found =
        target == null || scheme < 0 ? host : target.substring(scheme + 3).split("[/? ]", 2)[0];
    hasHost |= found != null;
    return found;
  }

  @Override
  public List<String> headerNames() {
    return headerNames;
  }

  @Override
  public List<String> cookies(String name) {
    PlainRequest.Builder cookies = WebRequest.builder("GET", "/");
    headers(COOKIE).forEach(value -> cookies.header(COOKIE, value));
    return cookies.build().cookies(name);
  }

  @Override
  public @Nullable String peer() {
    String peer = field("client");
    if (peer == null) {
      return missingPeer;
    }
    int colon = peer.lastIndexOf(':');
    if (colon > 0 && IpAddress.parse(peer) == null) { // an address with a port
      return peer.substring(0, colon).replace("[", "").replace("]", "");
    }
    return peer;
  }

  @Override
  public @Nullable String user() {
    return field("user");
  }

  @Override
  public <T> T unwrap(Class<T> type) {
    return type.cast(this);
  }

  /** The values of some columns of a line as bytes, for comparing them with other lines. */
  static final class Key {

    private static final VarHandle SIZE =
        MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);

    // The key of a line whose only used column has no value.
    private static final byte[] ABSENT = {-1};

    private Key() {}

    static long hash(LogEntry entry, int[] columns) {
      byte[] line = entry.bytes();
      long hash = 0;
      for (int column : columns) {
        int start = entry.has(column) ? entry.start(column) : 0;
        int end = entry.has(column) ? entry.end(column) : -1;
        hash = mixed(hash, end - start);
        // Reads eight bytes of the value at a time. The last read can go beyond the end of the
        // column, so the array is eight bytes longer than the line.
        for (int at = start; at < end; at += Long.BYTES) {
          int unwanted = Math.max(0, Long.BYTES - (end - at));
          hash = mixed(hash, ByteSearch.word(line, at) & (-1L >>> (Byte.SIZE * unwanted)));
        }
      }
      return mixed(hash, hash >>> 29);
    }

    private static long mixed(long hash, long word) {
      long product = (hash ^ word) * 0x9e3779b97f4a7c15L;
      return product ^ (product >>> 32);
    }

    /**
     * Returns the key of a line: a copy of the values, with the size of each value before it. If
     * only one column is used, the key is the column's value alone, without its size. A key that
     * consists of one column often equals the id of the bucket, so that both can be the same array.
     */
    static byte[] of(LogEntry entry, int[] columns) {
      if (columns.length == 1) {
        int column = columns[0];
        return entry.has(column)
            ? Arrays.copyOfRange(entry.bytes(), entry.start(column), entry.end(column))
            : ABSENT;
      }
      int length = 0;
      for (int column : columns) {
        length += Integer.BYTES + Math.max(0, size(entry, column));
      }
      byte[] key = new byte[length];
      int at = 0;
      for (int column : columns) {
        int size = size(entry, column);
        SIZE.set(key, at, size);
        at += Integer.BYTES;
        if (size > 0) {
          System.arraycopy(entry.bytes(), entry.start(column), key, at, size);
          at += size;
        }
      }
      return key;
    }

    /** Returns whether a line has the same values as a key. */
    static boolean is(byte[] key, LogEntry entry, int[] columns) {
      if (columns.length == 1) {
        int column = columns[0];
        return entry.has(column)
            ? key != ABSENT
                && Arrays.equals(
                    key, 0, key.length, entry.bytes(), entry.start(column), entry.end(column))
            : key == ABSENT;
      }
      int at = 0;
      for (int column : columns) {
        int size = size(entry, column);
        if ((int) SIZE.get(key, at) != size) {
          return false;
        }
        at += Integer.BYTES;
        if (size > 0) {
          int start = entry.start(column);
          if (!Arrays.equals(key, at, at + size, entry.bytes(), start, start + size)) {
            return false;
          }
          at += size;
        }
      }
      return true;
    }

    private static int size(LogEntry entry, int column) {
      return entry.has(column) ? entry.end(column) - entry.start(column) : -1;
    }
  }
}

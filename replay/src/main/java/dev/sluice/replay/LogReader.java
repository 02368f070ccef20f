// SPDX-License-Identifier: Apache-2.0
package dev.sluice.replay;

import dev.sluice.internal.text.SafeText;
import dev.sluice.replay.ReplayResult.Lines;
import io.airlift.compress.MalformedInputException;
import io.airlift.compress.zstd.ZstdInputStream;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.PushbackInputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.PriorityQueue;
import java.util.zip.GZIPInputStream;
import org.jspecify.annotations.Nullable;

/*
 * A server writes a line when a request ends, and several processes can write into one file. Lines
 * are therefore out of order by some seconds. The reader holds lines back for the length of a
 * window, and sorts them. It searches the place of a new line from the end, since most lines are
 * later than the line before them. The window ends at the time that all files have reached. A file
 * has reached a time if two of its lines are at least as late, so that one line with a time in the
 * future does not count.
 */
/**
 * The requests of several logs, in the order of time. Holds in memory only lines whose times lie
 * within one window, such as 5 seconds. Not thread-safe; blocks if the streams block.
 */
final class LogReader implements AutoCloseable {

  private static final int LONGEST_LINE = 1 << 20;
  // Hundreds of files can be open, so a file has a large buffer only after its first lines.
  private static final int FIRST_BUFFER = 1 << 13;
  private static final int BUFFER = 1 << 18;
  private static final int HEAD = 1 << 16; // enough bytes to recognise the format
  private static final int MOST_HELD = 200_000;
  private static final long MOST_HELD_BYTES = 1 << 26;
  private static final long MOST_SPARE_BYTES = 1 << 24;
  private static final int SHOWN = 80;

  private final LogFormat format;
  private final List<File> files = new ArrayList<>();
  private final long windowNanos;
  private final boolean strict;
  private LogEntry[] held = new LogEntry[256];
  private int first;
  private int count;
  private long heldBytes; // the size of the buffers of the held lines
  private final List<LogEntry> spare = new ArrayList<>();
  private long spareBytes;
  // The file that has reached the earliest time; null at the end of all files.
  private @Nullable File hindmost;
  private final PriorityQueue<File> others = new PriorityQueue<>();
  private long givenNanos = Long.MIN_VALUE;
  private long lines;
  private long unread;
  private @Nullable String firstUnread;
  private long late;
  private long mostLateNanos;

  /**
   * Opens logs.
   *
   * @param formatName the format of all logs; null to detect the format from the first lines
   * @param zone the zone for times in a log that have no zone
   * @param sources the logs, at least one
   * @param strict whether to throw an exception at the first line that cannot be parsed
   * @throws IllegalArgumentException if no format has this name
   */
  LogReader(
      @Nullable String formatName,
      ZoneId zone,
      List<? extends LogSource> sources,
      Duration window,
      boolean strict)
      throws IOException {
    this.windowNanos = window.toNanos();
    this.strict = strict;
    LogFormat known = formatName == null ? null : LogFormat.parse(formatName, zone);
    for (LogSource source : sources) {
      files.add(new File(source, files.size()));
    }
    this.format = known == null ? recognised(zone) : known;
    others.addAll(files);
    this.hindmost = others.poll();
  }

  private LogFormat recognised(ZoneId zone) throws IOException {
    for (File file : files) {
      file.fillHead();
      String name = LogFormat.recognise(file.buffer, file.filled, zone);
      if (name != null) {
        return LogFormat.parse(name, zone);
      }
      if (file.failure != null) {
        throw file.unreadable(file.failure);
      }
    }
    boolean isEmpty = files.stream().allMatch(file -> file.filled == 0);
    throw new LogException(
        "%s: the %s"
            .formatted(
                files.get(0).source.name(),
                isEmpty
                    ? "log is empty"
                    : "format is not recognised from the first lines; give it with --format"));
  }

  LogFormat format() {
    return format;
  }

  /**
   * Returns the next request in the order of time, or null at the end. The request is valid until
   * it is {@linkplain #release released}.
   *
   * @throws LogException if no line of a file could be parsed; thrown at the end of this file
   */
  @Nullable LogEntry next() throws IOException {
    while (!isReady() && readOne()) {
      // Reads until the oldest request in memory is earlier, by at least the window, than the time
      // that all files have reached, or until the memory for requests is full.
    }
    if (count == 0) {
      return null;
    }
    LogEntry oldest = held[first];
    first = (first + 1) & (held.length - 1);
    count--;
    heldBytes -= oldest.bytes().length;
    if (oldest.atNanos() < givenNanos) {
      late++;
      oldest.at(givenNanos);
    }
    givenNanos = oldest.atNanos();
    return oldest;
  }

  /** Takes back the object of a request, to use it for another line. */
  void release(LogEntry entry) {
    if (spareBytes < MOST_SPARE_BYTES) {
      spare.add(entry);
      spareBytes += entry.bytes().length;
    }
  }

  private boolean isReady() {
    if (count == 0 || hindmost == null) {
      return false;
    }
    long reachedNanos = hindmost.reachedNanos;
    return count >= MOST_HELD
        || heldBytes >= MOST_HELD_BYTES
        || (reachedNanos != TimeText.NONE && reachedNanos - held[first].atNanos() >= windowNanos);
  }

  /**
   * Reads a request from the file that has reached the earliest time. Returns false at the end of
   * all files.
   */
  private boolean readOne() throws IOException {
    File file = hindmost;
    if (file == null) {
      return false;
    }
    LogEntry entry = spare();
    if (file.read(entry)) {
      hold(entry);
      File other = others.peek();
      if (other != null && other.compareTo(file) < 0) {
        others.add(file);
        hindmost = others.poll();
      }
    } else {
      release(entry);
      hindmost = others.poll();
    }
    return true;
  }

  private LogEntry spare() {
    if (spare.isEmpty()) {
      return new LogEntry(format);
    }
    LogEntry entry = spare.remove(spare.size() - 1);
    spareBytes -= entry.bytes().length;
    return entry;
  }

  private void hold(LogEntry entry) {
    long at = entry.atNanos();
    heldBytes += entry.bytes().length;
    if (count == held.length) {
      LogEntry[] larger = new LogEntry[2 * held.length];
      for (int i = 0; i < count; i++) {
        larger[i] = held[(first + i) & (held.length - 1)];
      }
      held = larger;
      first = 0;
    }
    int mask = held.length - 1;
    int place = count++;
    while (place > 0 && held[(first + place - 1) & mask].atNanos() > at) {
      held[(first + place) & mask] = held[(first + place - 1) & mask];
      place--;
    }
    held[(first + place) & mask] = entry;
  }

  private String notOfTheFormat(String where, String line, String fault) {
    return "%s: found %s, which is not a line of the format %s: %s"
        .formatted(where, SafeText.quote(line), format.name(), fault);
  }

  /** Returns how many lines were read so far, and how many of them could not be parsed. */
  Lines found() {
    return new Lines(lines, unread, firstUnread, late, mostLateNanos);
  }

  @Override
  public void close() throws IOException {
    for (File file : files) {
      file.in.close();
    }
  }

  /** Returns a stream of the uncompressed bytes. Detects gzip and zstd by the first bytes. */
  static InputStream unpacked(InputStream in) throws IOException {
    PushbackInputStream whole = new PushbackInputStream(in, 4);
    byte[] magic = whole.readNBytes(4);
    whole.unread(magic);
    if (isGzip(magic)) {
      return new GZIPInputStream(new NeverEmpty(whole), FIRST_BUFFER);
    }
    return isZstd(magic) ? new ZstdInputStream(whole) : whole;
  }

  static boolean isPacked(byte[] magic) {
    return isGzip(magic) || isZstd(magic);
  }

  private static boolean isGzip(byte[] magic) {
    return magic.length >= 2 && magic[0] == 0x1f && magic[1] == (byte) 0x8b;
  }

  private static boolean isZstd(byte[] magic) {
    return Arrays.equals(magic, new byte[] {0x28, (byte) 0xb5, 0x2f, (byte) 0xfd});
  }

  /**
   * A stream that always reports available bytes. The JDK looks for a further gzip member only if
   * the stream reports available bytes, and a pipe can be empty for a moment.
   */
  private static final class NeverEmpty extends FilterInputStream {

    NeverEmpty(InputStream in) {
      super(in);
    }

    @Override
    public int available() {
      return 1;
    }
  }

  private final class File implements Comparable<File> {

    private final LogSource source;
    private final int place; // the place among all files
    private final InputStream in;
    private byte[] buffer = new byte[FIRST_BUFFER];
    private int start;
    private int filled;
    private long number;
    private final LogFormat.Headings headings = new LogFormat.Headings();
    private @Nullable String fault; // of the first line that could not be parsed
    private long atNanos = TimeText.NONE; // the latest time of a line
    private long reachedNanos = TimeText.NONE; // the latest time but one
    private @Nullable Exception failure; // thrown after the readable part of the file was read

    File(LogSource source, int place) {
      this.source = source;
      this.place = place;
      try {
        this.in = unpacked(source.open());
      } catch (IOException e) {
        throw unreadable(e);
      }
    }

    @Override
    public int compareTo(File other) {
      int byTime = Long.compare(reachedNanos, other.reachedNanos);
      return byTime != 0 ? byTime : Integer.compare(place, other.place);
    }

    private LogException unreadable(Exception e) {
      return new LogException(
          "%s: cannot be read after line %s: %s; is the file complete?"
              .formatted(source.name(), number, e.getMessage() == null ? e : e.getMessage()));
    }

    /** Reads lines until the next request; returns false at the end of the file. */
    boolean read(LogEntry entry) throws IOException {
      format.enter(headings);
      format.times.after(atNanos);
      int length = line();
      while (length >= 0) {
        int to = start - 1;
        int from = to - length;
        if (number == 1) {
          from = LogFormat.afterByteOrderMark(buffer, from, to);
        }
        boolean cr = to > from && buffer[to - 1] == '\r';
        int size = cr ? to - 1 - from : to - from;
        if (size > 0 && !format.isHeading(buffer, from, from + size)) {
          lines++;
          if (size <= LONGEST_LINE && format.read(buffer, from, size, entry)) {
            long at = entry.atNanos();
            if (at < atNanos) {
              mostLateNanos = Math.max(mostLateNanos, atNanos - at);
            }
            reachedNanos = Math.max(reachedNanos, Math.min(atNanos, at));
            atNanos = Math.max(atNanos, at);
            return true;
          }
          refuse(from, size, entry);
        }
        length = line();
      }
      if (fault != null && atNanos == TimeText.NONE) {
        throw new LogException(
            "%s. No other line of this file has this format either. %s"
                .formatted(
                    fault,
                    format.column("time") >= 0
                        ? "Name the file's format with --format; logs of different formats"
                            + " need separate runs"
                        : "The format has no column for the time; it has the columns "
                            + String.join(", ", format.natives())));
      }
      buffer = new byte[0];
      in.close();
      return false;
    }

    private void refuse(int from, int size, LogEntry entry) {
      String where = source.name() + ":" + number;
      unread++;
      firstUnread = firstUnread == null ? where : firstUnread;
      if (strict || fault == null) {
        fault = notOfTheFormat(where, shown(from, size), fault(from, size, entry));
      }
      if (strict) {
        throw new LogException(fault);
      }
    }

    private String fault(int from, int size, LogEntry entry) {
      return size > LONGEST_LINE
          ? "the line is longer than %s bytes".formatted(Words.whole(LONGEST_LINE))
          : format.fault(buffer, from, size, entry);
    }

    private String shown(int from, int size) {
      return new String(buffer, from, Math.min(size, SHOWN), StandardCharsets.UTF_8);
    }

    /**
     * Moves to the end of the next line. Returns the length of the line without its line break; -1
     * at the end of the file.
     */
    private int line() throws IOException {
      int scanned = start;
      while (true) {
        scanned = ByteSearch.indexOf(buffer, scanned, filled, '\n');
        if (scanned < filled) {
          int length = scanned - start;
          start = scanned + 1;
          number++;
          return length;
        }
        if (start > 0) {
          System.arraycopy(buffer, start, buffer, 0, filled - start);
          scanned -= start;
          filled -= start;
          start = 0;
        }
        // The line is so long that it will be rejected, so drop the rest of the line.
        if (filled > 2 * LONGEST_LINE) {
          scanned = filled = LONGEST_LINE + 1;
        }
        if (filled == buffer.length || (number > 0 && buffer.length < BUFFER)) {
          buffer = Arrays.copyOf(buffer, Math.max(BUFFER, 2 * buffer.length));
        }
        int read = fill();
        if (read < 0 && failure != null) {
          throw unreadable(failure);
        }
        if (read < 0) {
          if (filled == 0) {
            return -1;
          }
          buffer[filled++] = '\n';
        } else {
          filled += read;
        }
      }
    }

    /** Fills the buffer with the first bytes of the file, without consuming these bytes. */
    void fillHead() throws IOException {
      buffer = new byte[BUFFER];
      int read = 0;
      while (read >= 0 && filled < HEAD) {
        filled += read;
        read = fill();
      }
      if (read > 0) {
        filled += read;
      } else if (failure == null
          && filled > 0
          && filled < buffer.length
          && buffer[filled - 1] != '\n') {
        buffer[filled++] = '\n'; // the last line of a file can lack its line break
      }
    }

    /**
     * Reads more bytes. Returns the number of bytes; -1 at the end of the file and after a failure.
     */
    private int fill() {
      try {
        return failure != null
            ? -1
            : filled == buffer.length ? 0 : in.read(buffer, filled, buffer.length - filled);
      } catch (IOException | MalformedInputException e) {
        failure = e;
        return -1;
      }
    }
  }
}

// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml;

import dev.sluice.yaml.internal.NodeReader;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import org.jspecify.annotations.Nullable;

/** The content of a file, or the reason why the file could not be read. */
final class FileContent {

  private static final String NO_SUCH_FILE = "there is no such file";

  private final String file;
  private final byte[] bytes;
  private final @Nullable String fault;

  private FileContent(String file, byte[] bytes, @Nullable String fault) {
    this.file = file;
    this.bytes = bytes;
    this.fault = fault;
  }

  /** Reads a regular file. Blocks. Returns file system errors as faults and never throws them. */
  static FileContent read(Path path) {
    String file = path.toString();
    try {
      BasicFileAttributes attributes = Files.readAttributes(path, BasicFileAttributes.class);
      if (attributes.isDirectory()) {
        return failed(path, "found a directory, expected a file");
      }
      if (!attributes.isRegularFile()) { // opening a pipe would wait for a writer
        return failed(path, "found a pipe, a socket or a device, expected a regular file");
      }
    } catch (IOException | SecurityException e) {
      return failed(path, isBelowAFile(path) ? NO_SUCH_FILE : explain(e));
    }
    // Reads one byte more than allowed instead of checking the size, since the file can grow during
    // the read.
    try (InputStream in = Files.newInputStream(path)) {
      byte[] bytes = in.readNBytes(NodeReader.MAX_BYTES + 1);
      if (bytes.length > NodeReader.MAX_BYTES) {
        return failed(path, tooLarge(NodeReader.MAX_BYTES));
      }
      return new FileContent(file, bytes, null);
    } catch (IOException | SecurityException e) {
      return failed(path, explain(e));
    }
  }

  static String tooLarge(int maxBytes) {
    return maxBytes < NodeReader.MOST_BYTES
        ? "the file has more than %s KiB; a larger heap of the JVM allows up to %s"
            .formatted(maxBytes >> 10, NodeReader.MOST_BYTES >> 10)
        : "the file has more than %1$s MiB, the maximum".formatted(maxBytes >> 20);
  }

  /** Whether the parent of a path is a file, for which Java versions throw different exceptions. */
  private static boolean isBelowAFile(Path path) {
    Path parent = path.toAbsolutePath().getParent();
    return parent != null && Files.exists(parent) && !Files.isDirectory(parent);
  }

  /** Returns a file's content that another class has read. */
  static FileContent of(String file, byte[] bytes) {
    return new FileContent(file, bytes, null);
  }

  /** Returns the content of an unreadable file, with the reason. */
  static FileContent failed(Path path, String fault) {
    boolean isRelative = fault.equals(NO_SUCH_FILE) && !path.isAbsolute();
    String where = isRelative ? " in " + Path.of("").toAbsolutePath() : "";
    return new FileContent(path.toString(), new byte[0], fault + where);
  }

  static String explain(Exception e) {
    if (e instanceof NoSuchFileException) {
      return NO_SUCH_FILE;
    }
    if (e instanceof AccessDeniedException) {
      return "cannot read the file: permission denied";
    }
    String reason = e instanceof FileSystemException f ? f.getReason() : e.getMessage();
    return "cannot read the file: " + reason;
  }

  String file() {
    return file;
  }

  byte[] bytes() {
    return bytes;
  }

  @Nullable String fault() {
    return fault;
  }

  /** Returns a hash of the content, or the fault if the file could not be read. */
  String fingerprint() {
    if (fault != null) {
      return fault;
    }
    return sha256(bytes);
  }

  static String sha256(byte[] bytes) {
    try {
      return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes));
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every JVM has SHA-256", e);
    }
  }
}

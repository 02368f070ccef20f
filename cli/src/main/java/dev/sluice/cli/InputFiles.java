// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.internal.async.Stages.DaemonThread;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/** Opens the files of a command, with clear messages for unreadable files. */
final class InputFiles {

  private static final int PATIENCE_SECONDS = 2;
  private static final int LONGEST_SECRET = 4096;
  private static final String BYTE_ORDER_MARK = "\ufeff";

  private InputFiles() {}

  /** Requires that the file of an option exists, unless the option was not given (null). */
  @CanIgnoreReturnValue
  static boolean require(String option, @Nullable Path file) {
    String fault = file == null ? null : fault(file);
    if (fault != null) {
      throw new InputException("%s: %s".formatted(option, fault));
    }
    return true;
  }

  static void require(Path file) {
    String fault = fault(file);
    if (fault != null) {
      throw new InputException(fault);
    }
  }

  private static @Nullable String fault(Path file) {
    if (Files.isDirectory(file)) {
      return file + ": found a directory, expected a file";
    }
    if (!Files.exists(file)) {
      return file + ": there is no such file";
    }
    return Files.isReadable(file)
        ? null
        : file + ": the file is not readable; check its permissions";
  }

  /**
   * Returns the folder into which a command will write a file. Throws an exception if the folder
   * does not exist.
   *
   * @param place the beginning of the message
   */
  @CanIgnoreReturnValue
  static Path folder(String place, Path file) {
    Path folder = file.toAbsolutePath().getParent();
    if (folder == null || !Files.isDirectory(folder)) {
      throw new InputException("%s: there is no folder %s".formatted(place, folder));
    }
    return folder;
  }

  static InputStream open(String option, Path file) {
    require(option, file);
    return opened(file);
  }

  /** Opens a file or a pipe; fails after a time-out if no program writes to the pipe. */
  static InputStream open(Path file) {
    require(file);
    return opened(file);
  }

  /** Opens a file. A pipe's {@code available()} returns 0, since the JDK's method would fail. */
  private static InputStream stream(Path file) throws IOException {
    InputStream in = Files.newInputStream(file);
    if (Files.isRegularFile(file)) {
      return in;
    }
    return new FilterInputStream(in) {
      @Override
      public int available() {
        return 0;
      }
    };
  }

  private static InputStream opened(Path file) {
    FutureTask<InputStream> opening = new FutureTask<>(() -> stream(file));
    // An interrupt does not end a call that hangs.
    new DaemonThread(opening, "sluice-open").start();
    try {
      return opening.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
    } catch (TimeoutException e) {
      throw new InputException(
          "%s: could not be opened within %s s; if it is a pipe, does a program write to it?"
              .formatted(file, PATIENCE_SECONDS));
    } catch (ExecutionException e) {
      throw new InputException(
          "%s: can't be opened: %s"
              .formatted(file, Objects.requireNonNull(e.getCause(), "it failed").getMessage()));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InputException(file + ": interrupted while the file was opened");
    }
  }

  /**
   * Returns a secret from a file, or else from an environment variable; null if there is neither.
   * Secrets are never arguments, since every user of the machine can see arguments, and the JVM's
   * crash reports contain them.
   */
  static @Nullable String secret(String option, @Nullable Path file, String variable) {
    return file == null ? secretOfEnvironment(variable) : secretOfFile(option, file);
  }

  private static @Nullable String secretOfEnvironment(String variable) {
    String value = System.getenv(variable);
    return value == null || value.isEmpty() ? null : onlyLine(variable, value);
  }

  private static String secretOfFile(String option, Path file) {
    byte[] bytes;
    try (InputStream in = InputFiles.open(option, file)) {
      bytes = in.readNBytes(LONGEST_SECRET + 1);
    } catch (IOException e) {
      throw new InputException("%s: %s: can't be read: %s".formatted(option, file, e.getMessage()));
    }
    String place = "%s: %s".formatted(option, file);
    if (bytes.length > LONGEST_SECRET) {
      throw notOneLine(place);
    }
    try {
      return onlyLine(
          place, StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString());
    } catch (CharacterCodingException e) {
      String example =
          option.equals(StorageOptions.TOKEN_KEY) ? ", such as from openssl rand -base64 32" : "";
      throw new InputException("%s: expected text in UTF-8%s".formatted(place, example));
    }
  }

  /** Returns the only line of a secret, without the byte order mark that some editors write. */
  private static String onlyLine(String place, String secret) {
    String text = secret.startsWith(BYTE_ORDER_MARK) ? secret.substring(1) : secret;
    String line = text.lines().findFirst().orElse("");
    if (line.isEmpty()
        || line.length() > LONGEST_SECRET
        || text.lines().skip(1).anyMatch(more -> !more.isBlank())) {
      throw notOneLine(place);
    }
    return line;
  }

  private static InputException notOneLine(String place) {
    return new InputException(
        "%s: expected one line of at most %s bytes: the secret, and nothing else"
            .formatted(place, LONGEST_SECRET));
  }
}

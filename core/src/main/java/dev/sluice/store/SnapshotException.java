package dev.sluice.store;

import java.io.IOException;

/** A snapshot that cannot be used: torn, changed, of another version, or no snapshot at all. */
public final class SnapshotException extends IOException {

  private static final long serialVersionUID = 1;

  /**
   * Makes an exception.
   *
   * @param message the file, what was found and expected, and what to do
   */
  public SnapshotException(String message) {
    super(message);
  }
}

package dev.sluice.yaml;

/**
 * Watches limit files, and applies a good change.
 *
 * <p>Thread-safe. One daemon thread looks at the files; {@link #reloadNow} reads them in the
 * caller's thread.
 */
public final class LimitFilesWatcher implements AutoCloseable {

  LimitFilesWatcher() {}

  /**
   * Reads the files at once, changed or not, and applies them if they are good. The listener is
   * told either way.
   *
   * @return whether they were applied
   */
  public boolean reloadNow() {
    return false;
  }

  /** Stops watching; the limits stay. Waits for a load that is under way. */
  @Override
  public void close() {}
}

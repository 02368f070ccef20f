// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

import dev.sluice.limit.Limits;
import dev.sluice.server.base.Generations.Kind;
import dev.sluice.server.base.OutOfMemory;
import dev.sluice.yaml.Problem;
import dev.sluice.yaml.ReloadListener;
import java.time.Instant;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

/** Writes one line for each reload of the tokens or the certificates. */
final class CredentialsLog implements ReloadListener {

  private static final Logger log = LoggerFactory.getLogger(CredentialsLog.class);

  private final Kind kind;
  private final Runnable broken;

  /**
   * Makes a listener.
   *
   * @param broken counts a failure that no file should cause
   */
  CredentialsLog(Kind kind, Runnable broken) {
    this.kind = kind;
    this.broken = broken;
  }

  @Override
  public void loaded(Instant at, Limits limits, List<Problem> warnings) {
    log.atLevel(warnings.isEmpty() ? Level.INFO : Level.WARN)
        .log("{} loaded{}", kind.word(), ReloadLog.list(warnings));
  }

  @Override
  public void failed(Instant at, List<Problem> problems) {
    log.error(
        "{} not loaded; the previous ones stay in force{}{}",
        kind.word(),
        kind == Kind.TOKENS ? " (a token that a readable file no longer names is refused)" : "",
        ReloadLog.list(problems));
  }

  /** The watcher has logged it. */
  @Override
  public void broke(Instant at, Throwable failure) {
    OutOfMemory.report(failure);
    broken.run();
  }
}

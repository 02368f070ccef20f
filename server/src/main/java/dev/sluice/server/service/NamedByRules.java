// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Requirement;
import dev.sluice.rules.RuleBook;
import dev.sluice.yaml.Problem;
import dev.sluice.yaml.ReloadListener;
import java.time.Instant;
import java.util.List;

/**
 * Declares the limits that the rules in force name, so that the metric of missing defaults counts
 * them, and tells another listener after that. For one thread.
 */
final class NamedByRules implements ReloadListener {

  private final CurrentLimits limits;
  private final ReloadListener next;
  private List<Requirement> declared = List.of();

  /**
   * Makes a listener.
   *
   * @param limits the limits that are loaded
   */
  NamedByRules(CurrentLimits limits, ReloadListener next) {
    this.limits = limits;
    this.next = next;
  }

  @Override
  public void offered(Instant at, String hash) {
    next.offered(at, hash);
  }

  @Override
  public void loaded(Instant at, Limits loaded, List<Problem> warnings) {
    List<Requirement> before = declared;
    declared = RuleBook.of(loaded).requirements();
    limits.require(declared);
    limits.release(before);
    next.loaded(at, loaded, warnings);
  }

  @Override
  public void failed(Instant at, List<Problem> problems) {
    next.failed(at, problems);
  }

  @Override
  public void broke(Instant at, Throwable failure) {
    next.broke(at, failure);
  }
}

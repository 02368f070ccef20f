// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

import dev.sluice.limit.Limits;
import dev.sluice.server.Generations;
import dev.sluice.yaml.Problem;
import dev.sluice.yaml.ReloadListener;
import java.time.Instant;
import java.util.List;

/** Remembers each generation of the files, and tells another listener after it. For one thread. */
final class GenerationLog implements ReloadListener {

  private final Generations generations;
  private final ReloadListener next;
  private String hash = Generations.NONE;

  GenerationLog(Generations generations, ReloadListener next) {
    this.generations = generations;
    this.next = next;
  }

  @Override
  public void offered(Instant at, String newHash) {
    hash = newHash;
    next.offered(at, newHash);
  }

  @Override
  public void loaded(Instant at, Limits limits, List<Problem> warnings) {
    generations.applied(hash, at);
    next.loaded(at, limits, warnings);
  }

  @Override
  public void failed(Instant at, List<Problem> problems) {
    generations.refused(hash, at, problems.stream().map(Problem::toString).toList());
    next.failed(at, problems);
  }

  @Override
  public void broke(Instant at, Throwable failure) {
    next.broke(at, failure);
  }
}

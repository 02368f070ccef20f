// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

import dev.sluice.limit.Limits;
import dev.sluice.server.access.AuditLog;
import dev.sluice.server.base.Generations;
import dev.sluice.server.base.Generations.Kind;
import dev.sluice.server.base.Generations.Watched;
import dev.sluice.yaml.Problem;
import dev.sluice.yaml.ReloadListener;
import java.time.Instant;
import java.util.List;

/**
 * Remembers each generation of the files of one kind, notes in the audit log what became of it, and
 * tells another listener after that. For one thread.
 */
final class GenerationLog implements ReloadListener {

  private static final String RELOAD = "reload of the files";

  private final Kind kind;
  private final Watched generations;
  private final AuditLog audit;
  private final ReloadListener next;
  private String hash = Generations.NONE;

  GenerationLog(Generations generations, Kind kind, AuditLog audit, ReloadListener next) {
    this.kind = kind;
    this.generations = generations.of(kind);
    this.audit = audit;
    this.next = next;
  }

  @Override
  public void offered(Instant at, String newHash) {
    hash = newHash;
    next.offered(at, newHash);
  }

  @Override
  public void loaded(Instant at, Limits limits, List<Problem> warnings) {
    boolean first = generations.state().active().hash().equals(Generations.NONE); // the start
    boolean changed = !generations.state().active().hash().equals(hash);
    generations.applied(hash, at, warnings.stream().map(Problem::toString).toList());
    if (changed && !first) {
      audit.noteServer(RELOAD, "done", "generation %s of the %s".formatted(hash, kind.word()));
    }
    next.loaded(at, limits, warnings);
  }

  @Override
  public void failed(Instant at, List<Problem> problems) {
    List<String> mistakes = problems.stream().map(Problem::toString).toList();
    generations.refused(hash, at, mistakes);
    audit.noteServer(RELOAD, "refused", String.join("; ", mistakes));
    next.failed(at, problems);
  }

  @Override
  public void broke(Instant at, Throwable failure) {
    next.broke(at, failure);
  }
}

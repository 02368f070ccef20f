// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.InvalidRequestException.UnknownLimitException;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Limits.Requirement;
import dev.sluice.rules.RuleBook;
import dev.sluice.server.access.AuditLog;
import dev.sluice.server.access.Tokens;
import dev.sluice.server.base.Generations;
import dev.sluice.server.base.Generations.Kind;
import dev.sluice.server.service.ReloadLog.CredentialsLog;
import dev.sluice.server.service.ReloadLog.GenerationLog;
import dev.sluice.server.service.ServerConfig.BundledNames;
import dev.sluice.server.service.ServerConfig.Copy;
import dev.sluice.server.service.ServerConfig.Files;
import dev.sluice.server.service.ServerConfig.SampleLimits;
import dev.sluice.server.service.ServerConfig.Sources;
import dev.sluice.server.service.Service.ShutdownStack;
import dev.sluice.server.tls.TlsFiles;
import dev.sluice.yaml.CompanionFile;
import dev.sluice.yaml.LimitFiles;
import dev.sluice.yaml.LimitFiles.LastGood;
import dev.sluice.yaml.LimitFilesException;
import dev.sluice.yaml.LimitFilesWatcher;
import dev.sluice.yaml.Problem;
import dev.sluice.yaml.ReloadListener;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The watched files, loaded separately by {@linkplain Kind kind}. Not thread-safe. */
final class LoadedFiles {

  private static final Logger log = LoggerFactory.getLogger(LoadedFiles.class);
  private static final Duration LOOK_EVERY = Duration.ofSeconds(1);
  private static final Duration NEVER = Duration.ofDays(100_000);

  private final Map<Kind, LimitFiles> files = new EnumMap<>(Kind.class);
  private final Map<Kind, CurrentLimits> contents = new EnumMap<>(Kind.class);
  private final boolean onRequest;
  private @Nullable LastGood lastGood;

  private LoadedFiles(boolean onRequest) {
    this.onRequest = onRequest;
  }

  /**
   * Loads all files.
   *
   * @throws LimitFilesException if files have mistakes; the message lists all mistakes
   * @throws UnknownLimitException if the settings require limits with unknown names; the message
   *     has a line for each name
   * @throws dev.sluice.limit.InvalidRequestException.MissingDefaultException if a required limit
   *     has no default quota
   */
  static LoadedFiles load(ServerConfig config) {
    LoadedFiles loaded = new LoadedFiles(config.sources().files().onRequest());
    List<Problem> mistakes = new ArrayList<>();
    CurrentLimits limits = loaded.limits(config.sources(), mistakes);
    loaded.contents.put(Kind.LIMITS, limits);
    TlsFiles tls = config.doors().tls();
    Path tokens = config.control().tokens();
    if (tokens != null) {
      boolean asks = tls != null && tls.asksForClientCertificates();
      loaded.add(
          Kind.TOKENS,
          LimitFiles.builder().companion(tokens, Tokens.reader(asks, limits)).build(),
          mistakes);
    }
    if (tls != null) {
      loaded.add(Kind.CERTIFICATES, LimitFiles.builder().companion(tls).build(), mistakes);
    }
    if (!mistakes.isEmpty()) {
      throw new LimitFilesException(mistakes);
    }
    return loaded;
  }

  private void add(Kind kind, LimitFiles of, List<Problem> mistakes) {
    files.put(kind, of);
    try {
      contents.put(kind, new CurrentLimits(of.load()));
    } catch (LimitFilesException e) {
      mistakes.addAll(e.problems());
    }
  }

  /** Returns the limits of the files, or the last good limits if startup may use them instead. */
  private CurrentLimits limits(Sources sources, List<Problem> mistakes) {
    LimitFiles all = files(sources);
    if (all == null) {
      return required(sources, SampleLimits.make());
    }
    files.put(Kind.LIMITS, all);
    Copy copy = sources.copy();
    try {
      return required(sources, all.load());
    } catch (LimitFilesException | UnknownLimitException e) {
      if (copy != null && copy.startsWithLastGood()) {
        return lastGood(all, copy, sources, e, mistakes);
      }
      if (e instanceof LimitFilesException refused) {
        mistakes.addAll(refused.problems());
        return new CurrentLimits(Limits.builder(BundledNames.catalogue()).build());
      }
      throw e;
    }
  }

  private CurrentLimits lastGood(
      LimitFiles all, Copy copy, Sources sources, RuntimeException why, List<Problem> mistakes) {
    try {
      LastGood last = all.lastGood();
      CurrentLimits limits = required(sources, last.limits());
      lastGood = last;
      log.error(
          "the limit files have mistakes; started with the limits of {} (generation {}) from {}: {}",
          last.at(),
          last.hash(),
          copy.file(),
          String.join("; ", String.valueOf(why.getMessage()).lines().toList()));
      return limits;
    } catch (LimitFilesException e) {
      if (why instanceof LimitFilesException refused) {
        mistakes.addAll(refused.problems());
      }
      mistakes.addAll(e.problems());
      return new CurrentLimits(Limits.builder(BundledNames.catalogue()).build());
    }
  }

  private static @Nullable LimitFiles files(Sources sources) {
    Files files = sources.files();
    if (files.isEmpty()) {
      return null;
    }
    LimitFiles.Builder builder = BundledNames.files().strictness(Strictness.LENIENT).places();
    if (files.limits() != null) {
      builder.defaults(files.limits());
    }
    if (files.overrides() != null) {
      builder.overrides(files.overrides());
    }
    if (files.names() != null) {
      builder.names(files.names());
    }
    CompanionFile<RuleBook> rules = RuleBook.reader(sources.onMissing());
    if (files.rules() == null) {
      builder.companion(rules);
    } else {
      builder.companion(files.rules(), rules);
    }
    Copy copy = sources.copy();
    if (copy != null) {
      builder.copy(copy.file());
    }
    return builder.build();
  }

  /** Makes limits of which each load must contain the required limits; throws for unknown names. */
  private static CurrentLimits required(Sources sources, Limits read) {
    List<String> unknown = new ArrayList<>();
    for (Requirement one : sources.required()) {
      try {
        var unused = read.catalogue().get(one.limit());
      } catch (UnknownLimitException e) {
        unknown.add(one.by() + ": " + e.getMessage());
      }
    }
    if (!unknown.isEmpty()) {
      throw new UnknownLimitException(String.join("\n", unknown));
    }
    CurrentLimits limits = new CurrentLimits(read);
    limits.require(sources.required());
    return limits;
  }

  /** Returns the content of one kind of files; the sample limits if there are no limit files. */
  CurrentLimits of(Kind kind) {
    return Objects.requireNonNull(contents.get(kind), "no files of " + kind.word());
  }

  Instant limitsLoadedAt(Instant now) {
    return lastGood == null ? now : lastGood.at();
  }

  /**
   * Watches all files.
   *
   * @param ofLimits receives each load of the limit files, after the load was logged
   * @param broken called after an unexpected failure to load files that are not limit files
   */
  void watch(
      Generations generations,
      AuditLog audit,
      ReloadListener ofLimits,
      Runnable broken,
      ShutdownStack started) {
    if (lastGood != null) {
      generations
          .of(Kind.LIMITS)
          .applied(lastGood.hash(), lastGood.at(), List.of(), lastGood.limits(), List.of());
    }
    files.forEach(
        (kind, all) -> {
          ReloadListener next = kind == Kind.LIMITS ? ofLimits : new CredentialsLog(kind, broken);
          LimitFilesWatcher watcher =
              all.watch(
                  of(kind),
                  onRequest && kind == Kind.LIMITS ? NEVER : LOOK_EVERY,
                  new GenerationLog(generations, kind, of(kind).get(), audit, next));
          started.add(watcher::close);
          generations.of(kind).readBy(watcher);
        });
  }
}

// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import dev.sluice.gcra.Quota;
import dev.sluice.internal.text.GoDuration;
import dev.sluice.internal.text.Utf8;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/*
 * The recording has its own clock, exact to the nanosecond, but a running limiter uses real time.
 * If a bucket is full at first and all spends happen at one moment, decisions depend only on the
 * burst and the costs, and waits are whole numbers of emission intervals. So a sequence of spends
 * at one moment can be replayed with any limit of the same burst.
 */
/**
 * The sequences of spends in the recorded test vectors that can be replayed on a running limiter:
 * the bucket is full at first, and all spends happen at one moment.
 */
final class RecordedSteps {

  private static final JsonFactory JSON = new JsonFactory();
  private static final Pattern OVERRIDE =
      Pattern.compile(
          "burst: (\\d+)\\s+count: (\\d+)\\s+period: (\\w+)\\s+ids:\\s+- id: \"(\\d+)\"");

  private RecordedSteps() {}

  /**
   * A spend and the decision that was recorded for it.
   *
   * @param retry the wait until a spend of this cost is allowed, in emission intervals; 0 if no
   *     wait helps
   * @param reset the time until the bucket is full, in emission intervals
   */
  record Step(int line, long cost, boolean allowed, long remaining, long retry, long reset) {}

  /** Spends of one bucket at one moment; the bucket is full at first. */
  record Run(long burst, List<Step> steps) {}

  /** The recording: the number of operations, and the sequences of spends that can be replayed. */
  record Recording(int acts, List<Run> runs) {}

  /** The state of a bucket while the recording is read. */
  private static final class Bucket {
    final Quota quota;
    long fullAt; // Long.MAX_VALUE if unknown
    long runAt;
    @Nullable Run run;

    Bucket(Quota quota) {
      this.quota = quota;
    }
  }

  static Recording read() {
    Map<String, Bucket> buckets =
        OVERRIDE
            .matcher(text("overrides.yml"))
            .results()
            .collect(Collectors.toMap(found -> found.group(4), found -> new Bucket(quota(found))));
    List<String> acts = text("trace.jsonl").lines().toList();
    List<String> decisions = text("decisions.jsonl").lines().toList();
    List<Run> runs = new ArrayList<>();
    for (int i = 0; i < acts.size(); i++) {
      Map<String, String> act = new HashMap<>();
      List<String> ids = read(acts.get(i), act);
      for (String id : ids) {
        Bucket bucket = buckets.get(id);
        if (bucket != null) {
          add(i + 1, act, bucket, decisions.get(i), runs);
        }
      }
    }
    return new Recording(acts.size(), runs);
  }

  private static void add(
      int line, Map<String, String> act, Bucket bucket, String recorded, List<Run> runs) {
    long at = number(act, "at");
    String op = String.valueOf(act.get("op"));
    if (op.equals("reset") || op.equals("batchSpend")) {
      // A batch's decision shows only the strictest bucket, so the state of each bucket is unknown.
      bucket.fullAt = op.equals("reset") ? at : Long.MAX_VALUE;
      bucket.run = null;
      return;
    }
    if (op.equals("check")) {
      return; // a check changes no bucket, and decides like a spend
    }
    ActAnswer decision = ActAnswer.parse(recorded);
    if (op.equals("refund") || at != bucket.runAt) {
      bucket.run = null;
    }
    if (op.equals("spend")) {
      if (bucket.run == null && bucket.fullAt <= at) {
        bucket.run = new Run(bucket.quota.burst(), new ArrayList<>());
        bucket.runAt = at;
        runs.add(bucket.run);
      }
      if (bucket.run != null) {
        long interval = bucket.quota.intervalNanos();
        bucket.run.steps.add(
            new Step(
                line,
                number(act, "cost"),
                decision.allowed(),
                decision.remaining(),
                decision.retryInNanos() / interval,
                decision.resetInNanos() / interval));
      }
    }
    bucket.fullAt = at + decision.resetInNanos();
  }

  private static long number(Map<String, String> act, String field) {
    return Long.parseLong(String.valueOf(act.get(field)));
  }

  private static Quota quota(MatchResult found) {
    return Quota.burst(Long.parseLong(found.group(1)))
        .refill(Long.parseLong(found.group(2)), GoDuration.parse(found.group(3)));
  }

  private static List<String> read(String line, Map<String, String> fields) {
    List<String> ids = new ArrayList<>();
    try (JsonParser parser = JSON.createParser(line)) {
      for (JsonToken token = parser.nextToken(); token != null; token = parser.nextToken()) {
        if (token.isScalarValue()) {
          fields.put(parser.currentName(), parser.getText());
          if (parser.currentName().equals("id")) {
            ids.add(parser.getText());
          }
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return ids;
  }

  private static String text(String name) {
    return Utf8.ofResource(RecordedSteps.class.getResourceAsStream("vectors/" + name), name);
  }
}

// SPDX-License-Identifier: Apache-2.0
package dev.sluice.replay;

import dev.sluice.gcra.Quota;
import dev.sluice.replay.Replay.Step;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/**
 * The tokens in one bucket over time, for the chart of a report. Stores at most 2,000 spans of
 * time, however many requests there are. Not thread-safe.
 */
public final class LevelOverTime implements Consumer<Step> {

  private static final int MOST = 2_000;

  /**
   * The tokens in the bucket during one request or several consecutive requests.
   *
   * @param before the tokens before the first request
   * @param least the fewest tokens after any of the requests
   * @param after the tokens after the last request
   */
  record Span(long fromNanos, long toNanos, long before, long least, long after, long denied) {}

  final String name;
  final Quota quota;
  private List<Span> spans = new ArrayList<>();
  private long requests;
  private long denied;

  public LevelOverTime(String name, Quota quota) {
    this.name = name;
    this.quota = quota;
  }

  @Override
  public void accept(Step step) {
    requests++;
    denied += step.denied() ? 1 : 0;
    spans.add(
        new Span(
            step.atNanos(),
            step.atNanos(),
            step.before(),
            step.after(),
            step.after(),
            step.denied() ? 1 : 0));
    if (spans.size() == MOST) {
      join();
    }
  }

  private void join() {
    List<Span> joined = new ArrayList<>(MOST);
    for (int i = 0; i < spans.size(); i += 2) {
      Span one = spans.get(i);
      Span two = spans.get(i + 1);
      joined.add(
          new Span(
              one.fromNanos(),
              two.toNanos(),
              one.before(),
              Math.min(one.least(), two.least()),
              two.after(),
              one.denied() + two.denied()));
    }
    spans = joined;
  }

  List<Span> spans() {
    return spans;
  }

  String summary() {
    return "%s charged to the bucket, %s of them denied; the bucket holds at most %s."
        .formatted(
            Words.counted(requests, "request"),
            Words.whole(denied),
            Words.counted(quota.burst(), "token"));
  }
}

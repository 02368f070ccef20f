// SPDX-License-Identifier: Apache-2.0
package dev.sluice.lab;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/**
 * The conclusion of a comparison, in a sentence or two: where its worst subject does three times
 * worse than the product's limiter, or than the best one where that does not take part. Pure and
 * thread-safe.
 */
public final class Conclusion {

  private static final int NOTABLE = 3;
  private static final int SPIKE = 10;

  private final List<RunResult> outcomes;
  private final List<String> labels;

  private Conclusion(List<RunResult> outcomes) {
    this.outcomes = outcomes;
    this.labels = Labels.of(outcomes.stream().map(RunResult::subject).toList());
  }

  /**
   * Returns the conclusion.
   *
   * @param outcomes what is compared, at least one
   * @return a sentence or two
   */
  public static String of(List<RunResult> outcomes) {
    return new Conclusion(outcomes).text();
  }

  private String text() {
    List<String> sentences = new ArrayList<>();
    wronglyDenied().ifPresent(sentences::add);
    Contrast lockout = contrast(RunResult::longestLockoutNanos);
    if (lockout != null) {
      sentences.add(
          "With %s a client is locked out for up to %s, with %s %s."
              .formatted(
                  lockout.worst(),
                  Spans.words(lockout.worstValue()),
                  lockout.other(),
                  lockout.otherValue() == 0
                      ? "never"
                      : "for " + Spans.words(lockout.otherValue())));
    }
    String step = Spans.exact(outcomes.get(0).binNanos());
    Contrast peak = contrast(RunResult::peak);
    Contrast later = contrast(RunResult::peakAfterTheFirstPeriod);
    if (peak != null) {
      sentences.add(
          "%s lets up to %s requests through in %s, %s %s."
              .formatted(
                  peak.worst(),
                  Numbers.whole(peak.worstValue()),
                  step,
                  peak.other(),
                  Numbers.whole(peak.otherValue())));
    } else if (later != null && later.worstValue() >= SPIKE && later.otherValue() > 0) {
      sentences.add(
          "After the first %s, %s lets up to %s requests through in %s, %s %s."
              .formatted(
                  firstPeriod(),
                  later.worst(),
                  Numbers.whole(later.worstValue()),
                  step,
                  later.other(),
                  Numbers.whole(later.otherValue())));
    }
    if (sentences.isEmpty()) {
      return outcomes.size() == 1
          ? "Nothing to compare with."
          : "This traffic does not tell them apart.";
    }
    return String.join(" ", sentences);
  }

  private String firstPeriod() {
    List<Long> periods =
        outcomes.stream().map(o -> o.subject().quota().period().toNanos()).distinct().toList();
    return periods.size() == 1 ? Spans.words(periods.get(0)) : "period";
  }

  private Optional<String> wronglyDenied() {
    for (int i = 0; i < outcomes.size(); i++) {
      RunResult outcome = outcomes.get(i);
      if (outcome.wronglyDenied().orElse(0) > 0) {
        return Optional.of(
            "%s turns away %s of %s requests for which there was room."
                .formatted(
                    labels.get(i),
                    Numbers.whole(outcome.wronglyDenied().getAsLong()),
                    Numbers.whole(outcome.requests())));
      }
    }
    return Optional.empty();
  }

  /** The worst beside the one to compare with; null where they differ by little. */
  private @Nullable Contrast contrast(ToLongFunction<RunResult> measure) {
    Comparator<RunResult> byMeasure = Comparator.comparingLong(measure);
    RunResult worst = outcomes.stream().max(byMeasure).orElseThrow();
    RunResult other =
        outcomes.stream()
            .filter(outcome -> outcome.subject().kind() == AlgorithmKind.GCRA)
            .min(byMeasure)
            .orElseGet(() -> outcomes.stream().min(byMeasure).orElseThrow());
    long worstValue = measure.applyAsLong(worst);
    long otherValue = measure.applyAsLong(other);
    return worstValue >= NOTABLE * Math.max(otherValue, 1)
        ? new Contrast(label(worst), worstValue, label(other), otherValue)
        : null;
  }

  private String label(RunResult outcome) {
    return labels.get(outcomes.indexOf(outcome));
  }

  private record Contrast(String worst, long worstValue, String other, long otherValue) {}
}

// SPDX-License-Identifier: Apache-2.0
package dev.sluice.lab;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.ToLongFunction;

/**
 * The conclusion of a comparison, in a few sentences: where a subject does three times worse than
 * the product's limiter, and where that does three times worse than the best. Without the product's
 * limiter, the worst is compared with the best. Clients that are never served are told whenever
 * their numbers differ. Pure and thread-safe.
 */
public final class Conclusion {

  private static final int NOTABLE = 3;
  private static final int SPIKE = 10;

  private final List<RunResult> outcomes;
  private final List<String> labels;

  private Conclusion(List<RunResult> outcomes) {
    this.outcomes = outcomes;
    this.labels = Subject.labels(outcomes.stream().map(RunResult::subject).toList());
  }

  /**
   * Returns the conclusion.
   *
   * @param outcomes what is compared, at least one
   * @return a few sentences
   */
  public static String of(List<RunResult> outcomes) {
    return new Conclusion(outcomes).text();
  }

  private String text() {
    List<String> sentences = new ArrayList<>();
    neverServed().ifPresent(sentences::add);
    wronglyDenied().ifPresent(sentences::add);
    lockout().ifPresent(sentences::add);
    peak().ifPresent(sentences::add);
    requests().ifPresent(sentences::add);
    return sentences.isEmpty() ? nothingNotable() : String.join(" ", sentences);
  }

  private String nothingNotable() {
    if (outcomes.size() == 1) {
      return "Nothing to compare with.";
    }
    // The leaky bucket's mistakes, which the others can't make, would have been told.
    boolean allTheSame =
        Arrays.stream(Measure.values())
            .filter(measure -> measure != Measure.WRONGLY_DENIED)
            .allMatch(measure -> outcomes.stream().map(measure::of).distinct().count() == 1);
    return allTheSame
        ? "This traffic gives all of them the same figures."
        : "No lockout, peak or number of requests differs threefold; see the table.";
  }

  private Optional<String> neverServed() {
    List<Entry> entries = contrast(RunResult::clientsNeverServed, 1);
    return sentence(
        entries,
        first ->
            "With %s %s of %s clients %s never served"
                .formatted(
                    first.label(),
                    Numbers.whole(first.value()),
                    Numbers.whole(first.outcome().clients()),
                    first.value() == 1 ? "is" : "are"),
        other ->
            "with %s %s"
                .formatted(
                    other.label(), other.value() == 0 ? "none" : Numbers.whole(other.value())));
  }

  /**
   * The longest lockouts; empty where the shorter one belongs to a subject that leaves more clients
   * unserved. A client that gives up is locked out until its last try only.
   */
  private Optional<String> lockout() {
    List<Entry> entries = contrast(RunResult::longestLockoutNanos, NOTABLE);
    for (int i = 1; i < entries.size(); i++) {
      if (entries.get(i).outcome().clientsNeverServed()
          > entries.get(i - 1).outcome().clientsNeverServed()) {
        return Optional.empty();
      }
    }
    return sentence(
        entries,
        first ->
            "With %s a client is locked out for up to %s"
                .formatted(first.label(), Spans.words(first.value())),
        other ->
            "with %s %s"
                .formatted(
                    other.label(),
                    other.value() == 0 ? "never" : "for " + Spans.words(other.value())));
  }

  private Optional<String> peak() {
    List<Entry> entries = contrast(RunResult::peak, NOTABLE);
    if (!entries.isEmpty()) {
      return peak("", entries);
    }
    // None at all is a run that is too short, or clients that gave up.
    List<Entry> later =
        contrast(RunResult::peakAfterTheFirstPeriod, NOTABLE).stream()
            .filter(entry -> entry.value() > 0)
            .toList();
    return later.size() < 2 || later.get(0).value() < SPIKE
        ? Optional.empty()
        : peak("After the first %s, ".formatted(firstPeriod()), later);
  }

  private Optional<String> peak(String when, List<Entry> entries) {
    return sentence(
        entries,
        first ->
            "%s%s lets up to %s requests through in %s"
                .formatted(
                    when,
                    first.label(),
                    Numbers.whole(first.value()),
                    Spans.exact(first.outcome().binNanos())),
        other -> "%s %s".formatted(other.label(), Numbers.whole(other.value())));
  }

  private Optional<String> requests() {
    return sentence(
        contrast(RunResult::requests, NOTABLE),
        first ->
            "With %s the clients send %s requests"
                .formatted(first.label(), Numbers.whole(first.value())),
        other -> "with %s %s".formatted(other.label(), Numbers.whole(other.value())));
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

  /**
   * The worst, the product's limiter and the best, in this order: each is so many times worse than
   * the next. Empty where they differ by less.
   */
  private List<Entry> contrast(ToLongFunction<RunResult> measure, int times) {
    Comparator<Entry> byValue = Comparator.comparingLong(Entry::value);
    List<Entry> all =
        outcomes.stream()
            .map(outcome -> new Entry(label(outcome), outcome, measure.applyAsLong(outcome)))
            .toList();
    Entry worst = Collections.max(all, byValue);
    Entry best = Collections.min(all, byValue);
    Entry product =
        all.stream()
            .filter(entry -> entry.outcome().subject().algorithm() == Algorithm.GCRA)
            .min(byValue)
            .orElse(best);
    List<Entry> entries = new ArrayList<>();
    if (worst.isWorse(product, times)) {
      entries.add(worst);
    }
    entries.add(product);
    if (product.isWorse(best, times)) {
      entries.add(best);
    }
    return entries.size() > 1 ? entries : List.of();
  }

  private static Optional<String> sentence(
      List<Entry> entries, Function<Entry, String> first, Function<Entry, String> other) {
    if (entries.isEmpty()) {
      return Optional.empty();
    }
    List<String> parts = new ArrayList<>(List.of(first.apply(entries.get(0))));
    entries.stream().skip(1).map(other).forEach(parts::add);
    return Optional.of(String.join(", ", parts) + ".");
  }

  private String label(RunResult outcome) {
    return labels.get(outcomes.indexOf(outcome));
  }

  private record Entry(String label, RunResult outcome, long value) {

    boolean isWorse(Entry other, int times) {
      return value > other.value && value >= times * other.value;
    }
  }
}

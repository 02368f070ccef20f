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

/*
 * Each sentence compares one figure of Sluice's own limiter (GCRA) with the same figure of other
 * subjects. If GCRA is at least NOTABLE times better than the worst subject, the sentence names the
 * worst subject. If the best subject is at least NOTABLE times better than GCRA, the sentence names
 * the best subject. Without GCRA, the sentence compares the worst subject with the best. For the
 * number of clients that were never served, any difference is reported.
 */

/** The conclusion of a comparison, in a few sentences. */
final class Conclusion {

  private static final int NOTABLE = 3;

  /** The smallest number of requests for which a peak after the first period is reported. */
  private static final int SPIKE = 10;

  private final List<RunResult> results;
  private final List<String> labels;

  private Conclusion(List<RunResult> results) {
    this.results = results;
    this.labels = Subject.labels(results.stream().map(RunResult::subject).toList());
  }

  static String of(List<RunResult> results) {
    return new Conclusion(results).text();
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
    if (results.size() == 1) {
      return "There is only one result, so there is nothing to compare.";
    }
    // WRONGLY_DENIED is left out, since a separate sentence reports it.
    boolean allTheSame =
        Arrays.stream(Measure.values())
            .filter(measure -> measure != Measure.WRONGLY_DENIED)
            .allMatch(measure -> results.stream().map(measure::of).distinct().count() == 1);
    return allTheSame
        ? "With this traffic, all results have the same figures."
        : "The lockouts, peaks and numbers of requests do not differ by a factor of 3; see the table.";
  }

  private Optional<String> neverServed() {
    return sentence(
        contrast(RunResult::clientsNeverServed, 1),
        first ->
            "With %s, %s of %s clients %s never served"
                .formatted(
                    first.label(),
                    Format.whole(first.value()),
                    Format.whole(first.result().clients()),
                    first.value() == 1 ? "is" : "are"),
        other ->
            "with %s %s"
                .formatted(
                    other.label(), other.value() == 0 ? "none" : Format.whole(other.value())));
  }

  private Optional<String> wronglyDenied() {
    for (int i = 0; i < results.size(); i++) {
      RunResult result = results.get(i);
      if (result.wronglyDenied().orElse(0) > 0) {
        return Optional.of(
            "%s turns away %s of %s requests for which there was room."
                .formatted(
                    labels.get(i),
                    Format.whole(result.wronglyDenied().getAsLong()),
                    Format.whole(result.requests())));
      }
    }
    return Optional.empty();
  }

  /**
   * Compares the longest lockouts. Returns nothing if a subject with a shorter lockout left more
   * clients unserved. When a client gives up, its lockout ends at its last attempt, and therefore
   * looks too short.
   */
  private Optional<String> lockout() {
    List<Contender> contenders = contrast(RunResult::longestLockoutNanos, NOTABLE);
    for (int i = 1; i < contenders.size(); i++) {
      if (contenders.get(i).result().clientsNeverServed()
          > contenders.get(i - 1).result().clientsNeverServed()) {
        return Optional.empty();
      }
    }
    return sentence(
        contenders,
        first ->
            "With %s a client is locked out for up to %s"
                .formatted(first.label(), Format.durationInWords(first.value())),
        other ->
            "with %s %s"
                .formatted(
                    other.label(),
                    other.value() == 0 ? "never" : "for " + Format.durationInWords(other.value())));
  }

  private Optional<String> peak() {
    List<Contender> contenders = contrast(RunResult::peak, NOTABLE);
    if (!contenders.isEmpty()) {
      return peak("", contenders);
    }
    // A peak of admitted requests is 0 if the run is too short or if the clients gave up.
    List<Contender> later =
        contrast(RunResult::peakAfterTheFirstPeriod, NOTABLE).stream()
            .filter(contender -> contender.value() > 0)
            .toList();
    return later.size() < 2 || later.get(0).value() < SPIKE
        ? Optional.empty()
        : peak("After the first %s, ".formatted(firstPeriod()), later);
  }

  private Optional<String> peak(String when, List<Contender> contenders) {
    return sentence(
        contenders,
        first ->
            "%s%s lets up to %s requests through in %s"
                .formatted(
                    when,
                    first.label(),
                    Format.whole(first.value()),
                    Format.duration(first.result().binNanos())),
        other -> "%s %s".formatted(other.label(), Format.whole(other.value())));
  }

  private String firstPeriod() {
    List<Long> periods =
        results.stream().map(r -> r.subject().quota().period().toNanos()).distinct().toList();
    return periods.size() == 1 ? Format.durationInWords(periods.get(0)) : "period";
  }

  private Optional<String> requests() {
    return sentence(
        contrast(RunResult::requests, NOTABLE),
        first ->
            "With %s the clients send %s requests"
                .formatted(first.label(), Format.whole(first.value())),
        other -> "with %s %s".formatted(other.label(), Format.whole(other.value())));
  }

  /** A subject and its value of one figure. The subject with the highest value is the worst. */
  private record Contender(String label, RunResult result, long value) {

    boolean isWorse(Contender other, int times) {
      return value > other.value && value >= times * other.value;
    }
  }

  /**
   * Returns the worst subject, Sluice's limiter and the best subject, in this order. Each returned
   * subject is at least {@code times} times worse than the subject after it. The worst and the best
   * subject are left out if they differ from Sluice's limiter by less than the factor {@code
   * times}. The result is empty if no subject differs from Sluice's limiter by this factor.
   */
  private List<Contender> contrast(ToLongFunction<RunResult> measure, int times) {
    Comparator<Contender> byValue = Comparator.comparingLong(Contender::value);
    List<Contender> all = new ArrayList<>();
    for (int i = 0; i < results.size(); i++) {
      all.add(new Contender(labels.get(i), results.get(i), measure.applyAsLong(results.get(i))));
    }
    Contender worst = Collections.max(all, byValue);
    Contender best = Collections.min(all, byValue);
    Contender product =
        all.stream()
            .filter(contender -> contender.result().subject().algorithm() == Algorithm.GCRA)
            .min(byValue)
            .orElse(best);
    List<Contender> contenders = new ArrayList<>();
    if (worst.isWorse(product, times)) {
      contenders.add(worst);
    }
    contenders.add(product);
    if (product.isWorse(best, times)) {
      contenders.add(best);
    }
    return contenders.size() > 1 ? contenders : List.of();
  }

  private static Optional<String> sentence(
      List<Contender> contenders,
      Function<Contender, String> first,
      Function<Contender, String> other) {
    if (contenders.isEmpty()) {
      return Optional.empty();
    }
    List<String> parts = new ArrayList<>(List.of(first.apply(contenders.get(0))));
    contenders.stream().skip(1).map(other).forEach(parts::add);
    return Optional.of(String.join(", ", parts) + ".");
  }
}

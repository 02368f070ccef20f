// SPDX-License-Identifier: Apache-2.0
package dev.sluice.lab;

import java.util.List;

/** The differences between the subjects of one comparison, in as few words as will do. */
public final class Labels {

  private Labels() {}

  /**
   * The labels.
   *
   * @param subjects what is compared
   * @return one for each, in their order: the algorithm, the limit, or both
   */
  public static List<String> of(List<Subject> subjects) {
    boolean oneLimit = subjects.stream().map(Subject::quota).distinct().count() == 1;
    boolean oneKind = subjects.stream().map(Subject::kind).distinct().count() == 1;
    return subjects.stream()
        .map(
            subject -> {
              if (oneLimit) {
                return subject.kind().toString();
              }
              return oneKind ? QuotaText.format(subject.quota()) : subject.toString();
            })
        .toList();
  }
}

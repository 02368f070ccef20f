// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** The tree against a plain list. */
class TimeLineTest {

  private static final class Point extends TimeLine.Node {
    private long shift;
    private long slack = TimeLine.FREE;

    void move(long nanos) {
      shift += nanos;
      slack = slack == TimeLine.FREE ? slack : slack + nanos;
    }
  }

  @Test
  void line_randomActs_isAsAList() {
    for (long seed = 0; seed < 10; seed++) {
      new Twins(seed).run();
    }
  }

  /** Spends come in order as a rule: that must not make a list of the tree. */
  @Test
  void line_ofPointsInAnyOrder_isShallow() {
    int points = 10_000;
    for (boolean ascending : new boolean[] {true, false}) {
      TimeLine line = new TimeLine();
      List<Point> all = new ArrayList<>();
      long[] asked = new long[1];
      for (int i = 0; i < points; i++) {
        all.add(new Point());
        line.insert(all.get(i), 0, other -> counted(asked, ascending));
      }
      assertThat(asked[0]).isLessThan(20L * points);
      asked[0] = 0;
      for (int i = 0; i < points; i += 2) { // every other one, from the middle of the tree too
        line.remove(all.get(i));
        line.shiftFrom(other -> counted(asked, ascending), 1);
      }
      assertThat(asked[0]).isLessThan(20L * points / 2);
    }
  }

  private static boolean counted(long[] asked, boolean answer) {
    asked[0]++;
    return answer;
  }

  private static final class Twins {
    private final Random random;
    private final TimeLine line = new TimeLine();
    private final List<Point> list = new ArrayList<>();
    private @Nullable Point removed; // the last one, which may come again

    Twins(long seed) {
      random = new Random(seed);
    }

    void run() {
      for (int i = 0; i < 400; i++) {
        act();
        assertThat(line.first()).isSameAs(list.isEmpty() ? null : list.get(0));
        assertThat(line.last()).isSameAs(list.isEmpty() ? null : list.get(list.size() - 1));
        assertThat(least(line.leastSlack())).isEqualTo(least(0, list.size()));
        TimeLine.Node at = line.first();
        for (int j = 0; j < list.size(); j++) {
          Point point = list.get(j);
          assertThat(at).isSameAs(point);
          assertThat(line.shiftOf(point)).isEqualTo(point.shift);
          assertThat(least(line.leastSlackAfter(point))).isEqualTo(least(j + 1, list.size()));
          at = line.after(point);
        }
        assertThat(at).isNull();
      }
    }

    private long least(int from, int to) {
      return least(
          list.subList(from, to).stream().mapToLong(p -> p.slack).min().orElse(TimeLine.FREE));
    }

    private static long least(long slack) {
      return slack > TimeLine.FREE / 2 ? TimeLine.FREE : slack;
    }

    private void act() {
      int size = list.size();
      long nanos = random.nextInt(100) - 70L;
      if (size == 0 || random.nextInt(3) == 0) {
        int place = random.nextInt(4) == 0 ? random.nextInt(size + 1) : size;
        Point point = removed == null ? new Point() : removed;
        removed = null;
        point.shift = nanos;
        point.slack = TimeLine.FREE;
        line.insert(point, nanos, other -> list.indexOf(other) < place);
        list.add(place, point);
        return;
      }
      int place = random.nextInt(size);
      Point point = list.get(place);
      switch (random.nextInt(5)) {
        case 0 -> {
          line.remove(point);
          list.remove(place);
          removed = random.nextBoolean() ? point : null;
        }
        case 1 -> {
          line.shiftAll(nanos);
          list.forEach(each -> each.move(nanos));
        }
        case 2 -> {
          line.shiftAfter(point, nanos);
          list.subList(place + 1, size).forEach(each -> each.move(nanos));
        }
        case 3 -> {
          line.shiftFrom(other -> list.indexOf(other) >= place, nanos);
          list.subList(place, size).forEach(each -> each.move(nanos));
        }
        default -> {
          point.slack = random.nextInt(1_000);
          line.watch(point, point.slack);
        }
      }
    }
  }
}

package dev.sluice.limit;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;

/** What asks for limits. Reads are lock-free; writes are guarded by this object's monitor. */
final class Requirements {

  private static final Logger LOG = System.getLogger(CurrentLimits.class.getName());

  private final List<Requirement> all = new CopyOnWriteArrayList<>();
  private final Set<Requirement> warned = new HashSet<>();

  List<Requirement> unmet(Limits limits) {
    return all.stream().filter(one -> !one.isMetBy(limits)).toList();
  }

  synchronized void add(Collection<Requirement> more, Limits limits) {
    refuse(more, limits);
    all.addAll(more);
    warn(limits);
  }

  synchronized void remove(Collection<Requirement> some) {
    some.forEach(all::remove);
  }

  synchronized void check(Limits limits) {
    refuse(all, limits);
    warn(limits);
  }

  private static void refuse(Collection<Requirement> some, Limits limits) {
    List<Requirement> missing =
        some.stream()
            .filter(one -> one.onMissing() == MissingDefault.REFUSE && !one.isMetBy(limits))
            .toList();
    if (!missing.isEmpty()) {
      throw new MissingDefaultException(missing);
    }
  }

  /** Once for a requirement, until it has been met again. */
  private void warn(Limits limits) {
    for (Requirement one : all) {
      if (one.onMissing() == MissingDefault.WARN) {
        if (one.isMetBy(limits)) {
          warned.remove(one);
        } else if (warned.add(one)) {
          LOG.log(Level.WARNING, one.message());
        }
      }
    }
  }
}

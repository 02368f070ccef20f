package dev.sluice.yaml;

import dev.sluice.limit.Catalogue;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.UnknownLimitException;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The names that a file may use.
 *
 * @param catalogue the names
 * @param broken names whose declaration is wrong: reported there, so not again where they are used
 * @param complete false where a file that may declare names could not be read
 */
record KnownNames(Catalogue catalogue, Set<String> broken, boolean complete) {

  /** The name, null where there is none, which is reported unless another mistake is the reason. */
  @Nullable LimitName find(Node.Scalar key, Problems problems) {
    try {
      return catalogue.get(key.text());
    } catch (UnknownLimitException e) {
      if (complete && !broken.contains(key.text())) {
        problems.mistake(key, String.valueOf(e.getMessage()) + hint(key.text()));
      }
      return null;
    }
  }

  private static String hint(String name) {
    return Catalogue.samples().find(name) == null
        ? ""
        : "; it is one of the samples, which are known only as long as no file declares a name";
  }
}

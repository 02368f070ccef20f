// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import java.io.File;
import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The archive of classes with which the next start is faster. The launcher names the program that
 * makes it, where there is none and its folder may be written. Making it takes several seconds of a
 * processor, so it is made when the server listens, by a process of low priority.
 */
final class ClassDataArchive {

  static final String MAKER = "sluice.archive.maker";

  private ClassDataArchive() {}

  /**
   * Starts to make it, if it is to be made; does not wait.
   *
   * @param warnings is told on another thread if it cannot be made
   */
  static void make(Consumer<String> warnings) {
    String maker = System.getProperty(MAKER);
    if (maker == null) {
      return;
    }
    try {
      var unused =
          new ProcessBuilder("nice", "-n", "19", maker, "--class-data-archive")
              .redirectInput(Redirect.from(new File("/dev/null")))
              .redirectOutput(Redirect.DISCARD)
              .redirectError(Redirect.DISCARD)
              .start()
              .onExit()
              .thenAccept(
                  made -> {
                    if (made.exitValue() != 0) {
                      warnings.accept(warning(null));
                    }
                  });
    } catch (IOException e) {
      warnings.accept(warning(e));
    }
  }

  private static String warning(@Nullable IOException reason) {
    return "warning: the class-data archive could not be made%s; each start takes longer without"
            .formatted(reason == null ? "" : " (" + reason.getMessage() + ")")
        + " one. To see why, run sluice --class-data-archive";
  }
}

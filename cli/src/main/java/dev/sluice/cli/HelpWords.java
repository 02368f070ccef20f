// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import java.util.ListResourceBundle;

/** Our words for the two options that picocli brings to each command. */
final class HelpWords extends ListResourceBundle {

  @Override
  protected Object[][] getContents() {
    return new Object[][] {
      {"mixinStandardHelpOptions.help", "Prints this help."},
      {"mixinStandardHelpOptions.version", "Prints the version."},
    };
  }
}

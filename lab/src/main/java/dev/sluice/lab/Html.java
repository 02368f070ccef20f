// SPDX-License-Identifier: Apache-2.0
package dev.sluice.lab;

/** Text in markup. Pure. */
final class Html {

  private Html() {}

  static String escaped(String text) {
    return text.replace("&", "&amp;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
        .replace("\"", "&quot;");
  }
}

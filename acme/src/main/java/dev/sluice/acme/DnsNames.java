// SPDX-License-Identifier: Apache-2.0
package dev.sluice.acme;

import com.ibm.icu.text.IDNA;
import dev.sluice.internal.text.SafeText;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.InvalidRequestException.InvalidIdException;
import java.util.Locale;

/**
 * Checks the syntax of DNS names: labels of letters, digits and hyphens, joined with dots. The time
 * of a check grows linearly with the length of the text.
 */
final class DnsNames {

  private static final int LONGEST_NAME = 253;
  private static final int LONGEST_LABEL = 63;
  private static final int MOST_LABELS = 10; // the limit in strict mode, as in Boulder's policy

  /*
   * This converter implements non-transitional UTS #46, in which ß stays ß. The JDK's java.net.IDN
   * implements IDNA2003 with Unicode 3.2. So IDN would reject the valid name xn--fa-hia (faß).
   */
  private static final IDNA UTS46 =
      IDNA.getUTS46Instance(IDNA.NONTRANSITIONAL_TO_UNICODE | IDNA.NONTRANSITIONAL_TO_ASCII);

  private DnsNames() {}

  /** Returns the name in lower case; rejects a name with fewer than two labels. */
  static String canonical(String text, String what, Strictness strictness) {
    if (text.length() > LONGEST_NAME) {
      throw invalid(what, text, "has %s characters, expected at most 253".formatted(text.length()));
    }
    if (text.indexOf('*') >= 0) {
      throw invalid(what, text, "has a wildcard, which is not allowed here");
    }
    if (text.endsWith(".")) {
      throw invalid(what, text, "ends with a dot; remove the dot");
    }
    requireLabels(text, what);
    long labels = 1 + text.chars().filter(c -> c == '.').count();
    if (strictness == Strictness.STRICT && labels > MOST_LABELS) {
      throw invalid(what, text, "has %s labels, expected at most 10".formatted(labels));
    }
    if (labels == 1) {
      throw invalid(what, text, "has no dot, expected at least two labels");
    }
    // No public suffix is a number. A text that ends in a number is an IPv4 address or a mistake.
    if (isNumber(text.substring(text.lastIndexOf('.') + 1))) {
      throw invalid(what, text, "ends in a number, expected a public suffix, or an IP address");
    }
    String lower = text.toLowerCase(Locale.ROOT);
    return strictness.canonical(text, lower, what);
  }

  /** Throws if a text has a label that is not valid in a DNS name. */
  static void requireLabels(String text, String what) {
    for (String label : text.split("\\.", -1)) {
      requireLabel(label, text, what);
    }
  }

  private static boolean isNumber(String label) {
    return label.chars().allMatch(c -> c >= '0' && c <= '9');
  }

  private static void requireLabel(String label, String text, String what) {
    if (label.isEmpty()) {
      throw invalid(what, text, "has an empty label, expected 1 to 63 characters between dots");
    }
    if (label.length() > LONGEST_LABEL) {
      throw invalid(
          what,
          text,
          "has a label of %s characters, expected at most 63".formatted(label.length()));
    }
    for (int i = 0; i < label.length(); i++) {
      char c = label.charAt(i);
      // The text is checked before lower-casing, which would turn the Kelvin sign into a "k".
      boolean letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
      if (!letter && !(c >= '0' && c <= '9') && c != '-') {
        throw invalid(
            what,
            text,
            String.format(
                Locale.ROOT,
                "has the character U+%04X, expected letters, digits, hyphens and dots (other scripts as punycode)",
                (int) c));
      }
    }
    if (label.startsWith("-") || label.endsWith("-")) {
      throw invalid(what, text, "has a label with a hyphen at its start or end");
    }
    if (label.startsWith("--", 2)) {
      requireInternational(label.toLowerCase(Locale.ROOT), text, what);
    }
  }

  /** Throws for a label with "--" in third place, unless it is valid punycode ({@code xn--}). */
  private static void requireInternational(String label, String text, String what) {
    if (!label.startsWith("xn--")) {
      throw invalid(
          what, text, "has a label with \"--\" in third place that is not punycode (xn--)");
    }
    IDNA.Info info = new IDNA.Info();
    UTS46.labelToUnicode(label, new StringBuilder(), info);
    if (info.hasErrors()) {
      throw invalid(
          what,
          text,
          "has the label %s, which is not punycode of normalized (NFC) text"
              .formatted(SafeText.quote(label)));
    }
  }

  /** Converts the labels of a name or of a rule that are in other scripts to punycode. */
  static String punycode(String name) {
    return UTS46.nameToASCII(name, new StringBuilder(), new IDNA.Info()).toString();
  }

  /** Throws for a name without a known public suffix; in strict mode, also for an ICANN suffix. */
  static void requireKnownSuffix(
      String name, String what, PublicSuffixes suffixes, Strictness strictness) {
    if (!suffixes.knows(name)) {
      throw invalid(what, name, "does not end in a known public suffix");
    }
    if (strictness == Strictness.STRICT && suffixes.isIcannSuffix(name)) {
      throw invalid(what, name, "is itself a public suffix, expected a name under a public suffix");
    }
  }

  private static InvalidIdException invalid(String what, String text, String why) {
    return new InvalidIdException("invalid %s, %s %s".formatted(what, SafeText.quote(text), why));
  }
}

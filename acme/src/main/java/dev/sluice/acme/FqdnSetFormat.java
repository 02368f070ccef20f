// SPDX-License-Identifier: Apache-2.0
package dev.sluice.acme;

import dev.sluice.limit.IdFormat;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.InvalidRequestException.InvalidIdException;
import java.util.HashSet;
import java.util.Set;
import java.util.function.Supplier;
import java.util.regex.Pattern;

/**
 * The format of a set of identifiers, comma-separated in any order. The canonical form is the hash
 * of the set. A hash itself is accepted too: it has no dot, so it cannot be a name.
 */
record FqdnSetFormat(Supplier<PublicSuffixes> suffixes) implements IdFormat {

  /** The most identifiers of one order. */
  static final int MOST = 100;

  /** The most characters: twice the longest set, so that sets with repetitions are accepted. */
  private static final int LONGEST = 2 * MOST * 256;

  private static final Pattern HASH = Pattern.compile("[0-9a-f]{64}");

  @Override
  public String name() {
    return "fqdnSet";
  }

  @Override
  public String canonical(String text, Strictness strictness) {
    if (HASH.matcher(text).matches()) {
      return text;
    }
    if (text.isEmpty()) {
      throw new InvalidIdException("the id is empty, expected identifiers joined with \",\"");
    }
    // The set of an order may be longer than other ids, since only its hash is kept.
    if (text.length() > LONGEST) {
      throw tooMany(text.length() + " characters");
    }
    Set<Identifier> identifiers = new HashSet<>();
    for (String one : text.split(",", -1)) {
      identifiers.add(identifier(one, strictness));
    }
    if (identifiers.size() > MOST) {
      throw tooMany(identifiers.size() + " identifiers");
    }
    return FqdnSets.hash(identifiers);
  }

  private Identifier identifier(String text, Strictness strictness) {
    Identifier identifier = Identifier.parse(text, name(), strictness);
    if (identifier.type() == Identifier.Type.DNS) {
      String domain = identifier.authorized().value();
      DnsNames.requireKnownSuffix(domain, name(), suffixes.get(), strictness);
    } else {
      var unused = IdFormat.ipAddress().canonical(text, strictness); // refuses reserved ones
    }
    return identifier;
  }

  private static InvalidIdException tooMany(String found) {
    return new InvalidIdException(
        "invalid fqdnSet, found %s, expected at most %s identifiers".formatted(found, MOST));
  }
}

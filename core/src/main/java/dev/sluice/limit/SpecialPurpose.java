// SPDX-License-Identifier: Apache-2.0
package dev.sluice.limit;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Objects;

/**
 * The address ranges that IANA has set aside for a special purpose: no client on the Internet comes
 * from them. Multicast addresses are not among them, as in Boulder. Data with its date and source
 * in the resource beside this class. (IPv4-mapped IPv6, which is also in the registry, is IPv4 here
 * before it is looked up.)
 */
final class SpecialPurpose {

  private static final List<Range> RANGES = load("special-purpose-addresses.csv");

  private SpecialPurpose() {}

  /** Refuses a range that overlaps one of the registry's. */
  static void refuse(IpAddress lowest, int prefixLength) {
    for (Range range : RANGES) {
      if (range.overlaps(lowest, prefixLength)) {
        throw new InvalidIdException(
            "invalid address, %s is in the reserved address block %s/%s (%s, %s)"
                .formatted(lowest, range.lowest, range.length, range.name, range.reference));
      }
    }
  }

  private static List<Range> load(String resource) {
    try (InputStream in =
        Objects.requireNonNull(SpecialPurpose.class.getResourceAsStream(resource), resource)) {
      return new String(in.readAllBytes(), StandardCharsets.UTF_8)
          .lines()
          .filter(line -> !line.startsWith("#"))
          .map(Range::parse)
          .toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private record Range(IpAddress lowest, int length, String name, String reference) {

    static Range parse(String line) {
      String[] columns = line.split("[,/]", 4);
      IpAddress lowest = Objects.requireNonNull(IpAddress.parse(columns[0]), line);
      return new Range(lowest, Integer.parseInt(columns[1]), columns[2], columns[3]);
    }

    boolean overlaps(IpAddress other, int otherLength) {
      int common = Math.min(length, otherLength);
      return lowest.isIpv4() == other.isIpv4()
          && lowest.prefix(common).equals(other.prefix(common));
    }
  }
}

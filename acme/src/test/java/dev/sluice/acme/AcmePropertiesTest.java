// SPDX-License-Identifier: Apache-2.0
package dev.sluice.acme;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.IpAddress;
import dev.sluice.limit.LimitName;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What must hold for all identifiers; each run on a seed of its own, which a failure shows. */
class AcmePropertiesTest {

  private static final List<String> SUFFIXES =
      List.of("com", "org", "co.uk", "github.io", "kawasaki.jp", "xn--55qx5d.cn", "de", "uk");
  private static final AcmeLimits ACME = AcmeLimits.bundled();

  static LongStream seeds() {
    return LongStream.concat(
        LongStream.rangeClosed(1, 60), LongStream.of(Long.getLong("sluice.seed", 61)));
  }

  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void covering_isIdempotent_andBlindToOrderCaseAndRepetition(long seed) {
    Random random = new Random(seed);
    List<String> texts = new ArrayList<>(randomTexts(random));
    List<String> covering = covering(texts);
    String hash = AcmeFormats.FqdnSet.hash(Identifier.parseAll(texts));

    List<String> names = covering.stream().filter(c -> !c.contains("/")).toList();
    assertThat(covering(names)).isEqualTo(names);
    texts.addAll(texts.subList(0, random.nextInt(texts.size() + 1)));
    Collections.shuffle(texts, random);
    texts.replaceAll(text -> random.nextBoolean() ? text.toUpperCase(Locale.ROOT) : text);
    assertThat(covering(texts)).isEqualTo(covering).isSorted().doesNotHaveDuplicates();
    assertThat(AcmeFormats.FqdnSet.hash(Identifier.parseAll(texts))).isEqualTo(hash);
  }

  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void aKeyFromParts_isTheKeyHydratedFromAFile(long seed) {
    Random random = new Random(seed);
    BucketKeys keys = ACME.keys();
    long regId = random.nextLong() | 1;
    String account = Long.toUnsignedString(regId);
    String domain = randomName(random);
    IpAddress address = randomAddress(random);
    IpAddress lowest = address.isIpv4() ? address : address.prefix(64);
    List<String> texts = randomTexts(random);

    assertThat(keys.newIpAddressBucketKey(AcmeLimit.NEW_REGISTRATIONS_PER_IP_ADDRESS, address))
        .isEqualTo(hydrated(AcmeLimit.NEW_REGISTRATIONS_PER_IP_ADDRESS, address.toString()));
    if (!address.isIpv4()) {
      assertThat(keys.newIpv6RangeBucketKey(address))
          .isEqualTo(
              hydrated(AcmeLimit.NEW_REGISTRATIONS_PER_IPV6_RANGE, address.prefix(48) + "/48"));
    }
    assertThat(keys.newRegIdBucketKey(AcmeLimit.NEW_ORDERS_PER_ACCOUNT, regId))
        .isEqualTo(hydrated(AcmeLimit.NEW_ORDERS_PER_ACCOUNT, account));
    assertThat(keys.newRegIdBucketKey(AcmeLimit.CERTIFICATES_PER_DOMAIN_PER_ACCOUNT, regId))
        .isEqualTo(hydrated(AcmeLimit.CERTIFICATES_PER_DOMAIN_PER_ACCOUNT, account));
    assertThat(
            keys.newRegIdDomainBucketKey(
                AcmeLimit.FAILED_AUTHORIZATIONS_PER_DOMAIN_PER_ACCOUNT, regId, domain))
        .isEqualTo(
            hydrated(
                AcmeLimit.FAILED_AUTHORIZATIONS_PER_DOMAIN_PER_ACCOUNT, account + ":" + domain));
    assertThat(keys.newDomainBucketKey(domain))
        .isEqualTo(hydrated(AcmeLimit.CERTIFICATES_PER_DOMAIN, domain));
    assertThat(keys.newDomainBucketKey(address.toString()))
        .isEqualTo(hydrated(AcmeLimit.CERTIFICATES_PER_DOMAIN, lowest.toString()));
    assertThat(keys.newFqdnSetBucketKey(Identifier.parseAll(texts)))
        .isEqualTo(hydrated(AcmeLimit.CERTIFICATES_PER_FQDN_SET, String.join(",", texts)));
  }

  /**
   * The number and its ":" come first, and no number is the start of another with its ":"; so two
   * names never share a key. Within a name, two ids share a key only if they have the same parts.
   */
  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void noIdOfOneName_forgesAKeyOfAnother(long seed) {
    Random random = new Random(seed);
    Map<String, String> ownerByKey = new HashMap<>();
    for (int i = 0; i < 40; i++) {
      String account = Long.toUnsignedString(random.nextLong(50));
      String value = random.nextBoolean() ? randomName(random) : randomAddress(random).toString();
      for (LimitName name : ACME.catalogue().names()) {
        for (String id :
            List.of(
                value,
                account,
                account + ":" + value,
                account + ":" + account,
                value + "/32",
                value + "/48",
                value + "/64",
                account + ":" + value + "/64",
                name.number() + ":" + value)) {
          remember(name, id, ownerByKey);
        }
      }
    }
    assertThat(ownerByKey).hasSizeGreaterThan(100);
  }

  private static void remember(LimitName name, String id, Map<String, String> ownerByKey) {
    String key;
    String parts;
    try {
      parts = name.id().canonical(id, Strictness.LENIENT);
      key = name.bucketKey(parts);
    } catch (IllegalArgumentException e) {
      return; // not an id of this name
    }
    String owner = name + " " + parts;
    assertThat(ownerByKey.getOrDefault(key, owner)).isEqualTo(owner);
    ownerByKey.put(key, owner);
    assertThat(key).startsWith(name.number() + ":");
    assertThat(name.id().canonical(parts, Strictness.LENIENT)).isEqualTo(parts);
  }

  private static List<String> covering(List<String> texts) {
    return ACME.covering(Identifier.parseAll(texts));
  }

  private static String hydrated(AcmeLimit limit, String id) {
    return ACME.catalogue().get(limit.limitName()).keyOf(id, Strictness.LENIENT);
  }

  private static List<String> randomTexts(Random random) {
    List<String> texts = new ArrayList<>();
    for (int i = random.nextInt(10); i >= 0; i--) {
      texts.add(random.nextInt(4) == 0 ? randomAddress(random).toString() : randomName(random));
    }
    return texts;
  }

  private static String randomName(Random random) {
    StringBuilder name = new StringBuilder();
    for (int labels = 1 + random.nextInt(3); labels > 0; labels--) {
      for (int letters = 1 + random.nextInt(3); letters > 0; letters--) {
        name.append("ab1".charAt(random.nextInt(3)));
      }
      name.append('.');
    }
    return name + SUFFIXES.get(random.nextInt(SUFFIXES.size()));
  }

  private static IpAddress randomAddress(Random random) {
    boolean isIpv4 = random.nextBoolean();
    String text =
        IntStream.range(0, isIpv4 ? 4 : 8)
            .map(i -> random.nextBoolean() ? 0 : random.nextInt(isIpv4 ? 256 : 65_536))
            .mapToObj(part -> isIpv4 ? Integer.toString(part) : Integer.toHexString(part))
            .collect(Collectors.joining(isIpv4 ? "." : ":"));
    return Objects.requireNonNull(IpAddress.parse(text));
  }
}

// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.access;

import dev.sluice.gcra.Quota;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.server.access.Permission.Role;
import dev.sluice.yaml.CompanionFile;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.security.SecureRandom;
import java.util.Base64;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/*
 * A token has 256 random bits, so an attacker cannot try all possible tokens, and the hash needs
 * neither a salt nor many rounds. A token is looked up by the first bytes of its hash; then the
 * whole hash is compared in constant time. The duration of a lookup can reveal bytes of a stored
 * hash, but a hash does not reveal its token.
 */

/** The tokens and certificates that the server knows. Immutable and thread-safe. */
public final class Tokens {

  private static final String PREFIX = "sluice_";
  private static final int RANDOM_BYTES = 32;
  static final int HASH_BYTES = 32;

  private final Map<Long, Entry> byStart;
  private final Map<String, Grant> certificates;

  /** The hash of a token, and what the holder of the token may do. */
  record Entry(String sha256, Grant grant) {}

  Tokens(List<Entry> tokens, List<Grant> certificates) {
    Map<Long, Entry> all = new HashMap<>();
    tokens.forEach(one -> all.put(start(HexFormat.of().parseHex(one.sha256())), one));
    this.byStart = Map.copyOf(all);
    Map<String, Grant> names = new HashMap<>();
    certificates.forEach(one -> names.put(one.name(), one));
    this.certificates = Map.copyOf(names);
  }

  /**
   * Returns a reader of tokens files that are loaded together with the limit files. A certificate
   * in a tokens file gets a warning if the server does not ask clients for certificates.
   */
  public static CompanionFile<Tokens> reader(boolean asksForCertificates) {
    return new TokensFile(asksForCertificates, read -> read);
  }

  /**
   * Returns a reader of tokens files that are loaded apart from the limit files. An entry gets a
   * warning if its scope matches none of the limits in force.
   */
  public static CompanionFile<Tokens> reader(boolean asksForCertificates, CurrentLimits limits) {
    return new TokensFile(asksForCertificates, read -> limits.get());
  }

  /** Whether a text is a token's name: 1 to 100 letters, digits, dots, underscores, dashes. */
  public static boolean isName(String text) {
    return TokensFile.isName(text);
  }

  /** Whether a text is a scope: a limit's name, or a pattern such as {@code Orders*}. */
  public static boolean isScope(String text) {
    return TokensFile.isScope(text);
  }

  public static List<String> roles() {
    return Role.words();
  }

  /** Returns a fresh token: "sluice_" and 43 characters, which hold 256 random bits. */
  public static String fresh() {
    byte[] random = new byte[RANDOM_BYTES];
    new SecureRandom().nextBytes(random);
    return PREFIX + Base64.getUrlEncoder().withoutPadding().encodeToString(random);
  }

  /** Returns the hexadecimal SHA-256 of a token; the tokens file contains only this hash. */
  public static String sha256(String token) {
    return HexFormat.of().formatHex(hash(token));
  }

  static byte[] hash(String token) {
    try {
      return MessageDigest.getInstance("SHA-256").digest(token.getBytes(StandardCharsets.UTF_8));
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every JVM has SHA-256", e);
    }
  }

  private static long start(byte[] hash) {
    return ByteBuffer.wrap(hash).getLong();
  }

  /** Returns the tokens with a hash, and the certificates with a name, that passes its test. */
  Tokens where(Predicate<String> isHash, Predicate<String> isName) {
    return new Tokens(
        byStart.values().stream().filter(one -> isHash.test(one.sha256())).toList(),
        certificates.values().stream().filter(one -> isName.test(one.name())).toList());
  }

  /** Returns what the holder of a token may do; null if the token is unknown. */
  @Nullable Grant ofHash(byte[] hash) {
    Entry entry = byStart.get(start(hash));
    return entry != null && MessageDigest.isEqual(hash, HexFormat.of().parseHex(entry.sha256()))
        ? entry.grant()
        : null;
  }

  /** Returns what the holder of the first known name may do; null if no name is known. */
  @Nullable Grant ofCertificate(List<String> names) {
    for (String name : names) {
      Grant grant = certificates.get(name);
      if (grant != null) {
        return grant;
      }
    }
    return null;
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof Tokens that
        && byStart.equals(that.byStart)
        && certificates.equals(that.certificates);
  }

  @Override
  public int hashCode() {
    return byStart.hashCode() * 31 + certificates.hashCode();
  }

  /**
   * A line of the tokens file: what the holder of a token or a certificate may do. Immutable.
   *
   * @param name the token's name, or the name in the certificate
   * @param requests the limit on the holder's requests, null for no limit
   */
  record Grant(String name, Set<Role> roles, Scopes scopes, @Nullable Quota requests) {}

  /**
   * The limits that a caller may use: names, and patterns in which "*" stands for any characters.
   * An empty list of limits permits every limit. Immutable and thread-safe.
   */
  record Scopes(List<String> patterns, List<Pattern> compiled) {

    static final Scopes ALL = new Scopes(List.of(), List.of());

    static Scopes of(List<String> patterns) {
      return new Scopes(List.copyOf(patterns), patterns.stream().map(Scopes::compile).toList());
    }

    private static Pattern compile(String pattern) {
      return Pattern.compile(
          List.of(pattern.split("\\*", -1)).stream()
              .map(Pattern::quote)
              .collect(Collectors.joining(".*")));
    }

    boolean containAll() {
      return patterns.isEmpty() || patterns.contains("*");
    }

    boolean contain(String limit) {
      return compiled.isEmpty() || compiled.stream().anyMatch(one -> one.matcher(limit).matches());
    }
  }
}

// SPDX-License-Identifier: Apache-2.0
package dev.sluice.acme;

import dev.sluice.limit.InvalidRequestException.InvalidIdException;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeParseException;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The suffixes under which the public can register names. The suffixes come from both parts of the
 * public suffix list: the ICANN part ({@code com}, {@code co.uk}) and the PRIVATE part ({@code
 * github.io}).
 *
 * <p>Immutable and thread-safe. Makes no network requests: the list is a dated file, either the
 * file that is bundled with Sluice or a newer file ({@link #load}).
 */
public final class PublicSuffixes {

  private static final String BUNDLED = "effective_tld_names.dat";
  private static final Pattern VERSION =
      Pattern.compile(
          "^// VERSION: (\\d{4}-\\d\\d-\\d\\d_\\d\\d-\\d\\d-\\d\\d)_UTC$", Pattern.MULTILINE);
  private static final DateTimeFormatter VERSION_TIME =
      DateTimeFormatter.ofPattern("uuuu-MM-dd_HH-mm-ss", Locale.ROOT);
  private static final String BEGIN_ICANN = "// ===BEGIN ICANN DOMAINS===";
  private static final String END_ICANN = "// ===END ICANN DOMAINS===";
  private static final String END = "// ===END PRIVATE DOMAINS===";

  private final SuffixRules all;
  private final SuffixRules icann;
  private final Instant publishedAt;

  private PublicSuffixes(SuffixRules all, SuffixRules icann, Instant publishedAt) {
    this.all = all;
    this.icann = icann;
    this.publishedAt = publishedAt;
  }

  /**
   * Returns the list that is bundled with Sluice. The first call of this method reads the list.
   *
   * @return the bundled list
   */
  public static PublicSuffixes bundled() {
    return Bundled.LIST;
  }

  /**
   * Reads a list in the format of <a href="https://publicsuffix.org/list/">publicsuffix.org</a>.
   * This method blocks on the file system.
   *
   * @param file the file with the list
   * @return the parsed list
   * @throws IOException if the file cannot be read
   * @throws IllegalArgumentException if the file is not a complete list with a date, for example an
   *     error page of a proxy or an incomplete download
   */
  public static PublicSuffixes load(Path file) throws IOException {
    if (Files.exists(file) && !Files.isRegularFile(file)) { // reading a pipe could block for ever
      throw new IllegalArgumentException(
          file + ": found a folder, a pipe or a device, expected a file");
    }
    try {
      return parse(Files.readString(file), file.toString());
    } catch (CharacterCodingException e) {
      throw new IllegalArgumentException(
          file + ": found bytes that are not UTF-8, expected a list from publicsuffix.org");
    }
  }

  private static PublicSuffixes parse(String text, String where) {
    Matcher version = VERSION.matcher(text);
    if (!version.find()) {
      throw new IllegalArgumentException(
          where + ": the line \"// VERSION: …\" is missing, expected a list from publicsuffix.org");
    }
    if (!text.contains(END)) {
      throw new IllegalArgumentException(
          "%s: the list is incomplete: the line \"%s\" is missing".formatted(where, END));
    }
    SuffixRules icann =
        new SuffixRules(
            text.lines()
                .dropWhile(line -> !line.equals(BEGIN_ICANN))
                .takeWhile(line -> !line.equals(END_ICANN)));
    if (icann.isEmpty()) {
      throw new IllegalArgumentException(
          where + ": the list is incomplete: the ICANN part is missing");
    }
    return new PublicSuffixes(new SuffixRules(text.lines()), icann, time(version.group(1), where));
  }

  private static Instant time(String version, String where) {
    try {
      return LocalDateTime.parse(version, VERSION_TIME).toInstant(ZoneOffset.UTC);
    } catch (DateTimeParseException e) {
      throw new IllegalArgumentException(
          "%s: found the version %s, expected a date".formatted(where, version));
    }
  }

  /**
   * Returns the time at which the list was published.
   *
   * @return the publication time that the list contains
   */
  public Instant publishedAt() {
    return publishedAt;
  }

  /**
   * Returns the registered name of a DNS name: the public suffix and one more label (eTLD+1). If
   * the list has no suffix for the name, the name's last label counts as the suffix.
   *
   * @param name a DNS name of one label or more; a leading {@code *.} is ignored
   * @return the registered name in lower case; the name itself if it is a suffix
   * @throws InvalidIdException if the text is not a DNS name
   */
  public String registeredName(String name) {
    String plain = name.startsWith("*.") ? name.substring(2) : name;
    DnsNames.requireLabels(plain, "domain");
    return registeredOf(plain.toLowerCase(Locale.ROOT));
  }

  /** Returns the registered name of a DNS name that is already in canonical form. */
  String registeredOf(String canonical) {
    String suffix = all.suffixOf(canonical);
    if (suffix == null) {
      suffix = canonical.substring(canonical.lastIndexOf('.') + 1);
    }
    int before = canonical.length() - suffix.length() - 1; // the index of the dot before the suffix
    return before < 0 ? canonical : canonical.substring(canonical.lastIndexOf('.', before - 1) + 1);
  }

  /**
   * Returns the registered names of several names.
   *
   * @param names DNS names
   * @return the distinct registered names, sorted
   * @throws InvalidIdException if a text is not a DNS name
   */
  public List<String> fqdnsToEtldsPlusOne(Collection<String> names) {
    TreeSet<String> registered = new TreeSet<>();
    names.forEach(name -> registered.add(registeredName(name)));
    return List.copyOf(registered);
  }

  /** Returns whether a name in canonical form is a suffix of the list, or ends in one. */
  boolean knows(String name) {
    return all.suffixOf(name) != null;
  }

  /** Whether a canonical name is a suffix of the list's ICANN section, such as {@code co.uk}. */
  boolean isIcannSuffix(String name) {
    return name.equals(icann.suffixOf(name));
  }

  @Override
  public String toString() {
    return "public suffix list of " + publishedAt;
  }

  /** The bundled list of about 10,000 rules, read at the first use of this class. */
  private static final class Bundled {
    static final PublicSuffixes LIST = read();

    private static PublicSuffixes read() {
      try (InputStream in = PublicSuffixes.class.getResourceAsStream(BUNDLED)) {
        if (in == null) {
          throw new IllegalStateException(BUNDLED + " is missing on the class path");
        }
        return parse(new String(in.readAllBytes(), StandardCharsets.UTF_8), BUNDLED);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }
}

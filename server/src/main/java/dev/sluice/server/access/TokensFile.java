// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.access;

import dev.sluice.gcra.Quota;
import dev.sluice.internal.text.SafeText;
import dev.sluice.internal.text.Suggestion;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.server.access.Permission.Role;
import dev.sluice.server.access.Tokens.Grant;
import dev.sluice.server.access.Tokens.Scopes;
import dev.sluice.yaml.internal.CompanionReader;
import dev.sluice.yaml.internal.Fields;
import dev.sluice.yaml.internal.Node;
import dev.sluice.yaml.internal.Problems;
import dev.sluice.yaml.internal.Values;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Reads a tokens file, which lists tokens and certificates. Stateless. */
record TokensFile(boolean asksForCertificates, UnaryOperator<Limits> meant)
    implements CompanionReader<Tokens> {

  private static final List<String> LISTS = List.of("tokens", "certificates");
  private static final List<String> TOKEN_FIELDS =
      List.of("name", "sha256", "roles", "limits", "requests");
  private static final List<String> CERTIFICATE_FIELDS =
      List.of("name", "roles", "limits", "requests");
  private static final List<String> QUOTA_FIELDS = List.of("burst", "count", "period");

  /** The hashes of an empty text and an empty line, from scripts whose variable is unset. */
  private static final Set<String> HASHES_OF_NOTHING =
      Set.of(Tokens.sha256(""), Tokens.sha256("\n"), Tokens.sha256("\r\n"));

  private static final Pattern HASH = Pattern.compile("[0-9a-fA-F]{64}");
  private static final Pattern TOKEN_NAME = Pattern.compile("[A-Za-z0-9][A-Za-z0-9._-]{0,99}");
  private static final Pattern SCOPE = Pattern.compile("[A-Za-z0-9._*-]{1,100}");
  private static final int LONGEST_CERTIFICATE_NAME = 255;

  static boolean isName(String text) {
    return TOKEN_NAME.matcher(text).matches();
  }

  static boolean isScope(String text) {
    return SCOPE.matcher(text).matches();
  }

  @Override
  public Class<Tokens> type() {
    return Tokens.class;
  }

  @Override
  public String expected() {
    return "a map with the lists tokens and certificates, of which one may be absent";
  }

  @Override
  public @Nullable Tokens read(
      Node root, String file, Limits limits, boolean known, Problems problems) {
    Node.Mapping map = Values.map(root, expected(), problems);
    if (map == null) {
      return null;
    }
    Fields lists = Fields.of(map, root, LISTS, problems);
    List<String> limitNames = known ? names(meant.apply(limits)) : List.of();
    Map<String, Integer> names = new HashMap<>();
    Map<String, Integer> hashes = new HashMap<>();
    List<Tokens.Entry> tokens =
        each(
            lists.find("tokens"),
            problems,
            item -> token(item, names, hashes, limitNames, problems));
    Node certificateList = lists.find("certificates");
    Map<String, Integer> certificateNames = new HashMap<>();
    List<Grant> certificates =
        each(
            certificateList,
            problems,
            item -> certificate(item, certificateNames, limitNames, problems));
    if (certificateList != null && !certificates.isEmpty() && !asksForCertificates) {
      problems.warning(
          certificateList,
          "found certificates, but the server asks clients for none: give --tls-client-ca FILE");
    }
    if (!problems.mistaken() && tokens.isEmpty() && certificates.isEmpty()) {
      problems.mistake(root, "a token or a certificate is missing: make one with sluice token new");
    }
    return problems.mistaken() ? null : new Tokens(tokens, certificates);
  }

  /**
   * Returns the tokens that stay valid while the file has mistakes: the previous entries, without
   * those whose hash or name was removed from the file. If a list in a tokens file cannot be read,
   * all its previous entries stay valid. If no hash and no name can be found in the file, all
   * entries stay valid, so that a mistake does not lock out every caller.
   */
  @Override
  public Limits reduced(Node root, Limits before) {
    Tokens known = before.companion(Tokens.class);
    if (known == null || !(root instanceof Node.Mapping map)) {
      return before;
    }
    Set<String> hashes = standing(map, "tokens", "sha256");
    Set<String> names = standing(map, "certificates", "name");
    return hashes != null && hashes.isEmpty() && names != null && names.isEmpty()
        ? before
        : before.with(
            type(),
            known.where(
                hash -> hashes == null || hashes.contains(hash),
                name -> names == null || names.contains(name.toLowerCase(Locale.ROOT))));
  }

  /** Returns a field of the items of a YAML list, in lower case; null if the list is unreadable. */
  private static @Nullable Set<String> standing(Node.Mapping root, String list, String field) {
    Set<String> values = new HashSet<>();
    boolean isThere = false;
    for (Node.Entry entry : root.entries()) {
      if (entry.key().text().equals(list) && entry.value() instanceof Node.Sequence items) {
        isThere = true;
        items.items().forEach(item -> addTexts(item, field, values));
      }
    }
    boolean isAbsent = root.entries().stream().allMatch(one -> isOther(one.key().text(), list));
    return isThere || isAbsent ? values : null;
  }

  private static boolean isOther(String key, String list) {
    return LISTS.contains(key) && !key.equals(list);
  }

  private static void addTexts(Node item, String field, Set<String> values) {
    if (item instanceof Node.Mapping map) {
      for (Node.Entry entry : map.entries()) {
        if (entry.key().text().equals(field) && entry.value() instanceof Node.Scalar text) {
          values.add(text.text().toLowerCase(Locale.ROOT));
        }
      }
    }
  }

  /** Returns all limit names; empty if no limit is configured, as when linting. */
  private static List<String> names(Limits limits) {
    return limits.configured().isEmpty()
        ? List.of()
        : limits.catalogue().names().stream().map(LimitName::name).toList();
  }

  private static <T> List<T> each(
      @Nullable Node list, Problems problems, Function<Node.Mapping, @Nullable T> read) {
    List<T> all = new ArrayList<>();
    Node.Sequence sequence = Values.list(list, "a list", problems);
    if (sequence != null) {
      for (Node item : sequence.items()) {
        if (item instanceof Node.Mapping map) {
          T one = read.apply(map);
          if (one != null) {
            all.add(one);
          }
        } else if (!(item instanceof Node.Broken)) {
          problems.wrongKind(item, "{name, roles, …}");
        }
      }
    }
    return all;
  }

  private static Tokens.@Nullable Entry token(
      Node.Mapping map,
      Map<String, Integer> names,
      Map<String, Integer> hashes,
      List<String> limits,
      Problems problems) {
    Fields fields = Fields.of(map, map, TOKEN_FIELDS, problems);
    Node nameNode = fields.require("name");
    String name = Values.text(nameNode, "a name", problems);
    if (name != null && !isName(name)) {
      problems.wrong(fields.at("name"), "1 to 100 letters, digits, \".\", \"_\" and \"-\"");
    }
    once(name, fields.at("name"), names, "name", problems);
    Node hashNode = fields.require("sha256");
    String hash = Values.text(hashNode, "a SHA-256 of 64 hexadecimal digits", problems);
    if (hash != null && !HASH.matcher(hash).matches()) {
      problems.mistake( // without the value, which may be the token itself
          fields.at("sha256"),
          "not a SHA-256 hash (64 hexadecimal digits); copy the line that sluice token new prints");
      return null;
    }
    String lower = hash == null ? null : hash.toLowerCase(Locale.ROOT);
    if (lower != null && HASHES_OF_NOTHING.contains(lower)) {
      problems.mistake(
          fields.at("sha256"),
          "found the hash of an empty text, which everybody knows; copy the line that sluice token new prints");
    }
    once(lower, fields.at("sha256"), hashes, "sha256", problems);
    Grant grant = grant(name, fields, limits, problems);
    return lower == null || grant == null ? null : new Tokens.Entry(lower, grant);
  }

  private static @Nullable Grant certificate(
      Node.Mapping map, Map<String, Integer> names, List<String> limits, Problems problems) {
    Fields fields = Fields.of(map, map, CERTIFICATE_FIELDS, problems);
    String name =
        Values.text(
            fields.require("name"), "a subject alternative name or a common name", problems);
    if (name != null && name.length() > LONGEST_CERTIFICATE_NAME) {
      problems.wrong(
          fields.at("name"), "at most %s characters".formatted(LONGEST_CERTIFICATE_NAME));
    }
    once(name, fields.at("name"), names, "name", problems);
    return grant(name, fields, limits, problems);
  }

  private static void once(
      @Nullable String text, Node at, Map<String, Integer> lines, String what, Problems problems) {
    Integer first = text == null ? null : lines.putIfAbsent(text, at.line());
    if (first != null) {
      problems.mistake(
          at, "found the %s of line %s again, expected each %s once".formatted(what, first, what));
    }
  }

  private static @Nullable Grant grant(
      @Nullable String name, Fields fields, List<String> limits, Problems problems) {
    Set<Role> roles = roles(fields.require("roles"), problems);
    List<String> scopes = scopes(fields.find("limits"), limits, problems);
    Quota requests = requests(fields.find("requests"), problems);
    return name == null ? null : new Grant(name, Set.copyOf(roles), Scopes.of(scopes), requests);
  }

  private static Set<Role> roles(@Nullable Node node, Problems problems) {
    Set<Role> roles = EnumSet.noneOf(Role.class);
    Node.Sequence list = Values.list(node, "a list of roles, such as [decide]", problems);
    if (list != null) {
      for (Node item : list.items()) {
        String word = Values.text(item, "a role", problems);
        Role role = word == null ? null : Role.of(word);
        if (role != null) {
          roles.add(role);
        } else if (word != null) {
          problems.mistake(
              item,
              "found the role %s, expected one of %s%s"
                  .formatted(
                      SafeText.quote(word),
                      String.join(", ", Role.words()),
                      Suggestion.didYouMean(word, Role.words())));
        }
      }
      if (list.items().isEmpty()) {
        problems.mistake(list, "found an empty list, expected at least one of decide, read, admin");
      }
    }
    return roles;
  }

  private static List<String> scopes(@Nullable Node node, List<String> limits, Problems problems) {
    List<String> scopes = new ArrayList<>();
    Node.Sequence list = Values.list(node, "a list of limits, such as [\"Orders*\"]", problems);
    if (list != null) {
      for (Node item : list.items()) {
        String scope = Values.text(item, "a limit's name, or a pattern such as Orders*", problems);
        if (scope != null && !isScope(scope)) {
          problems.wrong(item, "a limit's name, or a pattern such as Orders*");
        } else if (scope != null) {
          scopes.add(scope);
          warnOfNoLimit(scope, item, limits, problems);
        }
      }
      if (list.items().isEmpty()) { // an empty list must not mean all limits
        problems.mistake(
            list,
            "found an empty list, expected at least one limit: leave limits out to allow all of them");
      }
    }
    return scopes;
  }

  /** Warns of a scope that matches no limit; such a limit can be added later. */
  private static void warnOfNoLimit(String scope, Node at, List<String> limits, Problems problems) {
    if (!limits.isEmpty() && limits.stream().noneMatch(Scopes.of(List.of(scope))::contain)) {
      problems.warning(
          at,
          "found %s, which matches no limit%s"
              .formatted(SafeText.quote(scope), Suggestion.didYouMean(scope, limits)));
    }
  }

  private static @Nullable Quota requests(@Nullable Node node, Problems problems) {
    Node.Mapping map = Values.map(node, "{burst, count, period}", problems);
    return map == null ? null : Values.quota(Fields.of(map, map, QUOTA_FIELDS, problems), problems);
  }
}

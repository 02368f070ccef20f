// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.access;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.LimiterObserver.Act;
import dev.sluice.Transaction;
import dev.sluice.internal.text.Suggestion;
import dev.sluice.limit.InvalidRequestException.UnknownLimitException;
import dev.sluice.server.access.AccessPart.Watch;
import dev.sluice.server.access.AuditLog.Noted;
import dev.sluice.server.access.Permission.Role;
import dev.sluice.server.access.Tokens.Grant;
import dev.sluice.server.access.Tokens.Scopes;
import dev.sluice.server.base.RefusedException;
import dev.sluice.wire.WireException;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The sender of a request, and what it may do. Immutable and thread-safe. */
public final class Caller {

  private final Credential credential;
  private final Rights rights;
  private final String address;
  private final Watch watch;
  private final List<Noted> acts;

  /** The way in which a caller is known. */
  enum CallerKind {
    TOKEN,
    CERTIFICATE,
    /** The server has no access control. */
    ANYBODY,
    /** The server has access control, and the caller has shown nothing that it knows. */
    UNKNOWN
  }

  /** What the caller has shown; the certificate's names are empty where nobody asks for them. */
  private record Credential(
      String name, CallerKind kind, Supplier<List<String>> certificateNames) {}

  /** What the caller may do, and on which limits. */
  private record Rights(Set<Role> roles, Scopes scopes) {

    static final Rights ALL = new Rights(Set.copyOf(EnumSet.allOf(Role.class)), Scopes.ALL);
    static final Rights NO_ADMIN =
        new Rights(Set.copyOf(EnumSet.complementOf(EnumSet.of(Role.ADMIN))), Scopes.ALL);
    static final Rights NONE = new Rights(Set.of(), Scopes.ALL);
  }

  private Caller(
      Credential credential, Rights rights, String address, Watch watch, List<Noted> acts) {
    this.credential = credential;
    this.rights = rights;
    this.address = address;
    this.watch = watch;
    this.acts = acts;
  }

  /**
   * Returns the caller of a server without access control, who may do everything.
   *
   * @param address where the connection comes from
   * @return the caller
   */
  public static Caller anybody(String address) {
    return anybody(address, List::of, Watch.NONE, true);
  }

  /**
   * Returns a caller of a server without a file of tokens.
   *
   * @param address where the connection comes from
   * @param certificateNames returns the names in its verified certificate, none without one; asked
   *     only where the name matters, by any thread
   * @param watch takes each further request
   * @param mayAdmin whether it may do everything, or all but what needs the role {@code admin}
   * @return the caller
   */
  static Caller anybody(
      String address, Supplier<List<String>> certificateNames, Watch watch, boolean mayAdmin) {
    Credential credential = new Credential("anybody", CallerKind.ANYBODY, certificateNames);
    Rights rights = mayAdmin ? Rights.ALL : Rights.NO_ADMIN;
    return new Caller(credential, rights, address, watch, List.of());
  }

  static Caller unknown(String address, Watch watch) {
    Credential none = new Credential("unknown", CallerKind.UNKNOWN, List::of);
    return new Caller(none, Rights.NONE, address, watch, List.of());
  }

  static Caller of(Grant grant, CallerKind kind, String address, Watch watch) {
    Credential credential = new Credential(grant.name(), kind, List::of);
    Rights rights = new Rights(grant.roles(), grant.scopes());
    return new Caller(credential, rights, address, watch, List.of());
  }

  /**
   * Returns the name of the token, or that of the certificate.
   *
   * @return the name; "anybody" where the server has no file of tokens and TLS asks for no
   *     certificate
   */
  public String name() {
    List<String> names = credential.certificateNames().get();
    return names.isEmpty() ? credential.name() : names.get(0);
  }

  /** Returns the word for the way in which the caller is known. */
  String by() {
    boolean hasCertificate = !credential.certificateNames().get().isEmpty();
    CallerKind shown = hasCertificate ? CallerKind.CERTIFICATE : credential.kind();
    return shown.name().toLowerCase(Locale.ROOT);
  }

  /**
   * Returns the same caller, whose refusals are noted as those of certain acts.
   *
   * @param newActs the acts that it asks for, a line of the audit log for each; none for a request
   *     that the audit log has no line for
   * @return the caller
   */
  public Caller about(List<Noted> newActs) {
    return newActs.equals(acts)
        ? this
        : new Caller(credential, rights, address, watch, List.copyOf(newActs));
  }

  List<Noted> acts() {
    return acts;
  }

  CallerKind kind() {
    return credential.kind();
  }

  /**
   * Returns where the connection comes from.
   *
   * @return an IP address
   */
  public String address() {
    return address;
  }

  /** Whether its line names the role, or the server has no access control. */
  boolean has(Role role) {
    return rights.roles().contains(role);
  }

  /**
   * Whether the caller may use a limit.
   *
   * @param limit the limit's name
   * @return true if its line names the limit, or no limit at all
   */
  public boolean mayUse(String limit) {
    return rights.scopes().contain(limit);
  }

  /**
   * Whether the caller may use every limit, those to come included.
   *
   * @return false if its line names limits
   */
  public boolean mayUseAll() {
    return rights.scopes().containAll();
  }

  /**
   * Returns what stands for the limits that the caller may use.
   *
   * @return equal for callers of one line of the tokens file, and for those who may use all limits
   */
  public Object usableLimits() {
    return mayUseAll() ? Scopes.ALL : rights.scopes();
  }

  /**
   * Counts a further request of the caller's: a stream carries many in one.
   *
   * @throws RefusedException if its line in the tokens file allows no more now
   */
  public void countRequest() {
    watch.asks();
  }

  /**
   * Looks up limits for the caller. Limits that it may not use do not exist for it: a suggestion
   * for a misspelled name is none of theirs.
   *
   * @param names of the limits
   * @param lookUp looks them up, and throws for those that are unknown
   * @param <T> what is found
   * @return what was found
   * @throws RefusedException if the caller may not use one of the limits
   */
  @CanIgnoreReturnValue
  public <T> T lookUp(List<String> names, Supplier<T> lookUp) {
    names.forEach(this::requireLimit);
    if (mayUseAll()) {
      return lookUp.get();
    }
    try {
      return lookUp.get();
    } catch (WireException e) {
      throw e.withoutSuggestions();
    } catch (UnknownLimitException e) {
      throw new UnknownLimitException(Suggestion.removedFrom(String.valueOf(e.getMessage())));
    }
  }

  /** Notes and counts a refusal that another class makes. */
  void tellRefused(String why) {
    watch.refused(this, why);
  }

  private RefusedException refused(String why, @Nullable String role) {
    tellRefused(why);
    return RefusedException.forbidden(why, role);
  }

  /**
   * Requires what an endpoint or a command needs.
   *
   * @param need the need
   * @throws RefusedException if the caller lacks the role
   */
  public void require(Permission need) {
    Role role = need.role();
    if (role != null && !has(role)) {
      if (kind() == CallerKind.ANYBODY) {
        throw refused(
            "without --tokens, only clients on the server's own machine (loopback) may do this: it needs the role "
                + role.word(),
            role.word());
      }
      String shown = kind() == CallerKind.CERTIFICATE ? "the certificate" : "the token";
      throw refused(
          "%s %s has no role %s".formatted(shown, credential.name(), role.word()), role.word());
    }
  }

  /**
   * Requires what an act on a limit needs.
   *
   * @param act the act
   * @param limit the limit's name
   * @throws RefusedException if the caller lacks the role, or may not use the limit
   */
  public void require(Act act, String limit) {
    require(Permission.ofAct(act));
    requireLimit(limit);
  }

  /**
   * Requires what an act on limits needs.
   *
   * @param act the act
   * @param transactions the limits' transactions
   * @throws RefusedException if the caller lacks the role, or may not use one of the limits
   */
  public void require(Act act, List<Transaction> transactions) {
    require(Permission.ofAct(act));
    for (Transaction transaction : transactions) {
      requireLimit(transaction.name().name());
    }
  }

  /**
   * Requires that the caller may use a limit.
   *
   * @param limit the limit's name
   * @throws RefusedException if it may not
   */
  public void requireLimit(String limit) {
    if (!mayUse(limit)) {
      throw refused(
          "%s may not use the limit %s: its line in the tokens file names others"
              .formatted(credential.name(), limit),
          null);
    }
  }
}

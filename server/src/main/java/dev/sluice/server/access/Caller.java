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

/** The sender of a request, with its rights. */
public final class Caller {

  private final Credential credential;
  private final Rights rights;
  private final String address;
  private final Watch watch;
  private final List<Noted> acts;

  /** How a caller was identified. */
  enum CallerKind {
    TOKEN,
    CERTIFICATE,
    /** The server has no access control. */
    ANYBODY,
    /** The server has access control, and the caller has sent no known token or certificate. */
    UNKNOWN
  }

  /** A caller's name and kind; the caller's certificate is read only if its names are needed. */
  private record Credential(
      String name, CallerKind kind, Supplier<List<String>> certificateNames) {}

  /** The roles of a caller, and the limits that the caller may use. */
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

  /** Returns the caller of a server without access control, who has all permissions. */
  public static Caller anybody(String address) {
    return anybody(address, List::of, Watch.NONE, true);
  }

  /**
   * Returns a caller of a server without a tokens file.
   *
   * @param certificateNames returns the names in the caller's verified certificate, empty without a
   *     certificate; called by any thread, only if the names are needed
   * @param watch is called for each further request of this caller
   * @param mayAdmin whether the caller also has the role {@code admin}
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

  /** Returns the token's or the certificate's name; "anybody" or "unknown" if there is neither. */
  public String name() {
    List<String> names = credential.certificateNames().get();
    return names.isEmpty() ? credential.name() : names.get(0);
  }

  /** Returns a change's author: the token or certificate, else the name {@code claimed}. */
  public String author(String claimed) {
    boolean isKnown =
        kind() != CallerKind.ANYBODY || !credential.certificateNames().get().isEmpty();
    return isKnown ? name() : claimed;
  }

  /** Returns how the caller was identified, as a word in the audit log. */
  String by() {
    boolean hasCertificate = !credential.certificateNames().get().isEmpty();
    CallerKind shown = hasCertificate ? CallerKind.CERTIFICATE : credential.kind();
    return shown.name().toLowerCase(Locale.ROOT);
  }

  /**
   * Returns a copy of this caller. If a request of the copied caller is refused, the audit log
   * records {@code newActs}.
   *
   * @param newActs the requested operations, one line of the audit log each; empty if the audit log
   *     does not record the request
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

  public String address() {
    return address;
  }

  /** Whether the caller has a role, or the server has no access control. */
  boolean has(Role role) {
    return rights.roles().contains(role);
  }

  public boolean may(Permission need) {
    Role role = need.role();
    return role == null || has(role);
  }

  /** Whether the caller's line in the tokens file names this limit or no limits. */
  public boolean mayUse(String limit) {
    return rights.scopes().contain(limit);
  }

  /** Whether the caller may use all current and future limits: its line names no limits. */
  public boolean mayUseAll() {
    return rights.scopes().containAll();
  }

  /**
   * Returns an object that identifies the set of limits that the caller may use. The objects of two
   * callers are equal if the callers share a line of the tokens file, or if both may use all
   * limits.
   */
  public Object usableLimits() {
    return mayUseAll() ? Scopes.ALL : rights.scopes();
  }

  /** Counts a further request, or throws a {@link RefusedException} for too many. */
  public void countRequest() {
    watch.asks().run();
  }

  /**
   * Looks up limits for the caller. If a name is misspelled, the error message never suggests a
   * limit that the caller may not use.
   *
   * @param lookUp looks up the limits, and throws for an unknown name
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

  /** Counts a refusal that another class decided, and records the refusal in the audit log. */
  void tellRefused(String why) {
    watch.refused().accept(this, why);
  }

  private RefusedException refused(String why, @Nullable String role) {
    tellRefused(why);
    return RefusedException.forbidden(why, role);
  }

  /** Requires a permission, or throws a {@link RefusedException}. */
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

  /** Requires the role for an operation, and the right to use a limit. */
  public void require(Act act, String limit) {
    require(Permission.ofAct(act));
    requireLimit(limit);
  }

  /** Requires the role for an operation, and the right to use the limits. */
  public void require(Act act, List<Transaction> transactions) {
    require(Permission.ofAct(act));
    for (Transaction transaction : transactions) {
      requireLimit(transaction.name().name());
    }
  }

  /** Requires the right to use a limit. */
  public void requireLimit(String limit) {
    if (!mayUse(limit)) {
      throw refused(
          "%s may not use the limit %s: its line in the tokens file names other limits"
              .formatted(credential.name(), limit),
          null);
    }
  }
}

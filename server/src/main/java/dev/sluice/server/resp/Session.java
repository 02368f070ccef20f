// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.resp;

import dev.sluice.server.access.AuditLog.Noted;
import dev.sluice.server.access.Caller;
import dev.sluice.server.access.Identity;
import dev.sluice.server.access.Permission;
import java.net.SocketAddress;
import java.util.List;

/** The state of a connection's client. Belongs to the connection's thread. */
final class Session {

  private final long id;
  private final SocketAddress remote;
  private final Replies replies;
  private final Identity identity;
  private Caller caller;
  private String clientName = "";
  private boolean ending;

  Session(long id, SocketAddress remote, Replies replies, Identity identity) {
    this.id = id;
    this.remote = remote;
    this.replies = replies;
    this.identity = identity;
    this.caller = identity.anybody();
  }

  /** A number that no other connection of this server has had. */
  long id() {
    return id;
  }

  SocketAddress remote() {
    return remote;
  }

  /** The client, as far as it has shown who it is. */
  Identity identity() {
    return identity;
  }

  /** The sender of the command that is being answered. */
  Caller caller() {
    return caller;
  }

  /**
   * Finds out who sends a command.
   *
   * @param acts what it asks for, if the audit log has a line for that
   * @throws dev.sluice.server.base.RefusedException if it may not
   */
  void admit(Permission need, List<Noted> acts) {
    if (identity.isOpen()) {
      identity.admitStranger();
      caller = acts.isEmpty() ? identity.anybody() : identity.caller(need, acts);
    } else {
      caller = identity.caller(need, acts);
    }
    identity.require(caller, need);
  }

  /** Notes that the acts of the command are refused, if it has any. */
  void noteRefused(String why) {
    identity.audit().refused(caller, "resp", why);
  }

  Replies replies() {
    return replies;
  }

  /** The name that the client gave itself, empty if it gave none. */
  String clientName() {
    return clientName;
  }

  void clientName(String newName) {
    clientName = newName;
  }

  /** Ends the connection when the replies up to now have been sent. */
  void end() {
    ending = true;
  }

  boolean isEnding() {
    return ending;
  }
}

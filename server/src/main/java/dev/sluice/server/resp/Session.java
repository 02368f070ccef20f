// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.resp;

import dev.sluice.server.access.AuditLog.Noted;
import dev.sluice.server.access.Caller;
import dev.sluice.server.access.Identity;
import dev.sluice.server.access.Permission;
import java.net.SocketAddress;
import java.util.List;

/** The data of one connection's client. Only the connection's thread may use it. */
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

  /** Returns a number that is unique among the connections of this server. */
  long id() {
    return id;
  }

  SocketAddress remote() {
    return remote;
  }

  Identity identity() {
    return identity;
  }

  Caller caller() {
    return caller;
  }

  /**
   * Identifies the caller of a command, and requires a permission.
   *
   * @throws dev.sluice.server.base.RefusedException if the caller lacks the permission
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

  /**
   * Records in the audit log that the operations of the last admitted command were refused. Does
   * nothing if the command has no operations.
   */
  void noteRefused(String why) {
    identity.audit().refused(caller, "resp", why);
  }

  Replies replies() {
    return replies;
  }

  /** Returns the name that the client set, empty if the client set no name. */
  String clientName() {
    return clientName;
  }

  void clientName(String newName) {
    clientName = newName;
  }

  /** Ends the connection after all replies to earlier requests are sent. */
  void end() {
    ending = true;
  }

  boolean isEnding() {
    return ending;
  }
}

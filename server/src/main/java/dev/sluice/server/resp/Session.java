package dev.sluice.server.resp;

import java.net.SocketAddress;

/** What a connection knows of its client. Belongs to the connection's thread. */
final class Session {

  private final long id;
  private final SocketAddress remote;
  private final Replies replies;
  private String clientName = "";
  private boolean ending;

  Session(long id, SocketAddress remote, Replies replies) {
    this.id = id;
    this.remote = remote;
    this.replies = replies;
  }

  /** A number that no other connection of this server has had. */
  long id() {
    return id;
  }

  SocketAddress remote() {
    return remote;
  }

  Replies replies() {
    return replies;
  }

  /** What the client calls itself, empty if it has not said. */
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

// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.resp;

import dev.sluice.direct.Spends;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.UnknownLimitException;

/** Spends from a limit that is configured. */
final class LimitRun extends SpendRun {

  private static final int ID = 2;

  private final byte[] name;
  private final String text;

  LimitRun(String limit, byte[] name, Spends spends) {
    super(spends);
    this.text = limit;
    this.name = name;
  }

  /** Whether an argument names the limit. */
  boolean isNamed(Request request, int index) {
    return request.is(index, name);
  }

  /** The limit's name. */
  String limit() {
    return text;
  }

  /**
   * Adds a command.
   *
   * @return false if the limiter itself has to decide; nothing was added then
   */
  boolean add(Replies replies, Request request, long cost) {
    try {
      return add(replies, request, ID, null, cost) >= 0;
    } catch (UnknownLimitException e) { // it was there when the run was made
      return false;
    }
  }

  @Override
  public void decided(
      int index,
      Quota quota,
      boolean allowed,
      long remaining,
      long retryInNanos,
      long resetInNanos) {
    write(allowed, remaining, retryInNanos, resetInNanos, LimitCommands.STORE);
  }

  @Override
  public void degraded(
      int index,
      String rule,
      Quota quota,
      boolean allowed,
      long remaining,
      long retryInNanos,
      long resetInNanos) {
    write(allowed, remaining, retryInNanos, resetInNanos, rule);
  }

  private void write(
      boolean allowed, long remaining, long retryInNanos, long resetInNanos, String decidedBy) {
    writer().map(LimitCommands.FIELDS);
    LimitCommands.writeFields(allowed, remaining, retryInNanos, resetInNanos, decidedBy, writer());
  }
}

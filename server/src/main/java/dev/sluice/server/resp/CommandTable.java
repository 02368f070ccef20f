// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.resp;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Commands by name, found in the bytes of a request without making a text of them. Immutable and
 * thread-safe.
 */
final class CommandTable {

  private final List<Command> commands;
  private final @Nullable Command[] slots;

  CommandTable(List<Command> commands) {
    this.commands = List.copyOf(commands);
    this.slots = new @Nullable Command[Integer.highestOneBit(commands.size()) * 4];
    for (Command command : commands) {
      int slot = hash(command.name());
      while (slots[slot & slots.length - 1] != null) {
        slot++;
      }
      slots[slot & slots.length - 1] = command;
    }
  }

  List<Command> all() {
    return commands;
  }

  /** The command that an argument names, in capitals or not. */
  @Nullable Command find(Request request, int index) {
    int slot = hash(request, index);
    Command found = slots[slot & slots.length - 1];
    while (found != null && !request.is(index, found.name())) {
      slot++;
      found = slots[slot & slots.length - 1];
    }
    return found;
  }

  private static int hash(String name) {
    int hash = 0;
    for (int i = 0; i < name.length(); i++) {
      hash = 31 * hash + name.charAt(i);
    }
    return hash;
  }

  private static int hash(Request request, int index) {
    byte[] bytes = request.bytes();
    int start = request.start(index);
    int end = start + request.length(index);
    int hash = 0;
    for (int i = start; i < end; i++) {
      hash = 31 * hash + Request.upper(bytes[i]);
    }
    return hash;
  }
}

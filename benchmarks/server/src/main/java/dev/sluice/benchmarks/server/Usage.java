// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.server;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Reads the resource usage of a process from the kernel's files. */
final class Usage {

  private static final Pattern RESIDENT = Pattern.compile("VmRSS:\\s*(\\d+) kB");
  private static final int KIB_PER_MIB = 1_024;
  private static final int USER_TICKS =
      11; // the field's index after the program's name, which may contain spaces
  private static final int SYSTEM_TICKS = 12;
  private static final double MICROS_PER_TICK = 10_000; // 100 ticks a second on every Linux

  private Usage() {}

  /** Returns the processor time that a process has used, in microseconds. */
  static double processorMicros(long pid) throws IOException {
    String stat = Files.readString(Path.of("/proc", String.valueOf(pid), "stat"));
    List<String> fields = List.of(stat.substring(stat.lastIndexOf(')') + 2).split(" ", -1));
    long ticks = Long.parseLong(fields.get(USER_TICKS)) + Long.parseLong(fields.get(SYSTEM_TICKS));
    return ticks * MICROS_PER_TICK;
  }

  /** Returns the resident memory of a process, in MiB. */
  static long residentMib(long pid) throws IOException {
    String status = Files.readString(Path.of("/proc", String.valueOf(pid), "status"));
    Matcher resident = RESIDENT.matcher(status);
    return resident.find() ? Long.parseLong(resident.group(1)) / KIB_PER_MIB : -1;
  }
}

// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.production;

import dev.sluice.proof.BrokenPromise;
import dev.sluice.proof.Client;
import dev.sluice.proof.Client.Answers;
import dev.sluice.proof.Door;
import dev.sluice.proof.Folder;
import dev.sluice.proof.Programs;
import dev.sluice.proof.Report;
import dev.sluice.proof.Report.NotTried;
import dev.sluice.proof.Server;
import java.io.IOException;
import java.io.OutputStream;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * A drill in which the disk with the snapshot, the audit log and the overrides file is full. The
 * promise: The server continues to decide requests. A metric and one log line report each failed
 * write of the snapshot, the audit log and the overrides. A change that cannot be saved is rejected
 * with 503 and has no effect. When the disk has free space, saving works again, and no temporary
 * files remain.
 */
final class FullDisk implements ProductionReport.Drill {

  private static final long BURST = 100_000;
  private static final int LEAST_REFUSED = 20;
  private static final int DECISIONS_PER_CHANGE = 50;
  private static final int PATIENCE_SECONDS = 60;
  private static final String OVERRIDE = "/v1/admin/overrides/" + Door.LIMIT + "/";
  private static final String BODY = "{\"burst\":5,\"count\":5,\"period\":\"24h\"}";

  private long decisions;
  private long lines;
  private int refused;

  private interface Maker {
    Disk make() throws Exception;
  }

  @Override
  public String text() {
    return "a full disk for the snapshot, the audit log and the overrides, during %s changes or more"
        .formatted(LEAST_REFUSED);
  }

  @Override
  public String seen() throws Exception {
    List<String> ways = new ArrayList<>();
    tryOn("ulimit -f", Disk::limited, ways);
    tryOn("a tmpfs of 1 MB", Disk::mounted, ways);
    return Report.text(
        "%s: %,d decisions while the disk was full, %s changes were rejected with 503 and not "
            + "applied, %s log lines besides the lines about these changes; afterwards, "
            + "the snapshot, the audit log and the overrides recovered",
        String.join("; ", ways), decisions, refused, lines);
  }

  private void tryOn(String way, Maker maker, List<String> ways) throws Exception {
    try (Disk disk = maker.make()) {
      tryOn(disk);
      ways.add(way);
    } catch (NotTried e) {
      ways.add(way + " was not tried: " + e.getMessage());
    } catch (BrokenPromise e) {
      throw new BrokenPromise(way + ": " + e.getMessage());
    }
  }

  private void tryOn(Disk disk) throws Exception {
    Folder folder = disk.folder();
    String[] options = {
      "--limits",
      folder.limits(BURST, 1, "24h"),
      "--snapshot",
      folder.file("buckets"),
      "--snapshot-interval",
      "250ms",
      "--audit-log",
      folder.file("audit.jsonl"),
      "--override-store",
      folder.file("set.yml")
    };
    try (Server server = Server.start(options)) {
      BrokenPromise.unlessStatus(
          200, server.ask("PUT", OVERRIDE + "before", BODY), "a change before");
      long before = server.log().size();
      disk.fill(server);
      whileFull(server);
      long changes = server.logged("a change could not be saved");
      long said = server.log().size() - before - changes;
      lines += said;
      BrokenPromise.unless(
          said == 2 && changes <= refused,
          "found %s log lines, expected one line for the snapshot and one for the audit log: %s",
          said,
          server.log());
      disk.free(server);
      await(server, "snapshots are written again");
      BrokenPromise.unlessStatus(
          200, server.ask("PUT", OVERRIDE + "after", BODY), "a change after");
      await(server, "is written again");
      List<Path> leftOver = // the file of penalties and the lock file are allowed to remain
          folder.named("set.yml.").stream()
              .filter(file -> file.toString().endsWith(".tmp"))
              .toList();
      BrokenPromise.unless(
          leftOver.isEmpty(), "temporary files of the overrides remain: %s", leftOver);
      server.terminate();
      BrokenPromise.unless(server.exitCode() == Server.STOPPED, "the server did not stop");
    }
    try (Server server = Server.start(options)) {
      BrokenPromise.unlessStatus(
          200, server.ask("GET", OVERRIDE + "before", ""), "the change before");
      BrokenPromise.unlessStatus(
          404, server.ask("GET", OVERRIDE + "while", ""), "the rejected change");
      BrokenPromise.unlessStatus(
          200, server.ask("GET", OVERRIDE + "after", ""), "the change after");
    }
  }

  private void whileFull(Server server) throws Exception {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
    try (Client client = Door.HTTP.open(server)) {
      String missing = "no rejected change";
      for (int changes = 0; changes < LEAST_REFUSED || !missing.isEmpty(); changes++) {
        BrokenPromise.unless(
            System.nanoTime() < end,
            "after %s changes in %s s, the server reported %s",
            changes,
            PATIENCE_SECONDS,
            missing);
        for (int i = 0; i < DECISIONS_PER_CHANGE; i++) {
          Answers answer = client.ask("k", 1);
          BrokenPromise.unless(answer.allowed() == 1, "unexpected response to a spend: %s", answer);
          decisions++;
        }
        requireRefused(server.ask("PUT", OVERRIDE + "while", BODY));
        refused++;
        BrokenPromise.unlessStatus(
            404, server.ask("GET", OVERRIDE + "while", ""), "the rejected change");
        String reset = "{\"limit\":\"%s\",\"id\":\"r\"}".formatted(Door.LIMIT);
        BrokenPromise.unlessStatus(200, server.ask("POST", "/v1/reset", reset), "a reset");
        missing = uncounted(server);
      }
    }
    String bucket =
        server.ask("GET", "/v1/limits/%s/buckets/while".formatted(Door.LIMIT), "").body();
    BrokenPromise.unless(
        bucket.contains("\"burst\":" + BURST), "the rejected change is in force: %s", bucket);
  }

  /**
   * Returns a failure that the server has not reported yet; empty if the server has reported all
   * failures. On a full tmpfs, the audit log can still grow to the end of its last page. The audit
   * log therefore loses lines only after several changes, and a longer wait does not help.
   */
  private static String uncounted(Server server) throws Exception {
    if (server.metric("sluice_snapshot_failures_total") == 0) {
      return "no failed snapshot in the metric sluice_snapshot_failures_total";
    }
    if (server.metric("sluice_audit_lost_total") == 0) {
      return "no lost audit log line in the metric sluice_audit_lost_total";
    }
    if (server.logged("snapshot not written") == 0) {
      return "no failed snapshot in the log";
    }
    return server.logged("its lines are lost") == 0 ? "no lost audit log line in the log" : "";
  }

  private static void requireRefused(HttpResponse<String> answer) throws BrokenPromise {
    BrokenPromise.unlessStatus(503, answer, "a change");
    BrokenPromise.unless(
        answer.body().contains("not-kept"), "unexpected response to a change: %s", answer.body());
  }

  private static void await(Server server, String line) throws Exception {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
    while (server.logged(line) == 0) {
      BrokenPromise.unless(
          System.nanoTime() < end,
          "the log does not contain \"%s\" after %s s",
          line,
          PATIENCE_SECONDS);
      TimeUnit.MILLISECONDS.sleep(50);
    }
  }

  /** A disk that can be filled and freed. */
  private interface Disk extends AutoCloseable {

    /** Returns the folder to which the server writes. */
    Folder folder();

    void fill(Server server) throws Exception;

    void free(Server server) throws Exception;

    @Override
    void close() throws Exception;

    /**
     * Returns a disk that is in fact not full: a limit on the size of the server's files makes the
     * disk seem full. Needs no privileges.
     */
    static Disk limited() throws IOException {
      Folder folder = Folder.make();
      return new Disk() {
        @Override
        public Folder folder() {
          return folder;
        }

        @Override
        public void fill(Server server) throws Exception {
          bound(server, "1");
        }

        @Override
        public void free(Server server) throws Exception {
          bound(server, "unlimited");
        }

        private void bound(Server server, String bytes) throws Exception {
          String unused =
              Programs.run(
                  "prlimit", "--pid", "" + server.pid(), "--fsize=" + bytes + ":unlimited");
        }

        @Override
        public void close() throws Exception {
          folder.close();
        }
      };
    }

    /** Mounts and returns a file system of 1 MB in memory. Only a privileged process can mount. */
    static Disk mounted() throws Exception {
      Folder folder = Folder.make();
      String path = folder.path().toString();
      if (!Programs.works("mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", path)) {
        folder.close();
        throw new NotTried("mounting is not allowed here");
      }
      Path filler = folder.path().resolve("filler");
      return new Disk() {
        @Override
        public Folder folder() {
          return folder;
        }

        @Override
        public void fill(Server server) throws IOException {
          try (OutputStream out = Files.newOutputStream(filler)) {
            while (true) {
              out.write(0);
            }
          } catch (IOException e) {
            // The disk is now full.
          }
        }

        @Override
        public void free(Server server) throws IOException {
          Files.delete(filler);
        }

        @Override
        public void close() throws Exception {
          String unused = Programs.run("umount", path);
          folder.close();
        }
      };
    }
  }
}

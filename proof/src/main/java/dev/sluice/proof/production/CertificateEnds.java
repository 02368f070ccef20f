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
import dev.sluice.proof.TlsIdentity;
import dev.sluice.proof.Trust;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Pattern;

/**
 * A drill in which the server's certificate expires under load. The promise: Open connections
 * continue to work. New clients reject the certificate and report the reason. The server's log and
 * a metric report the expiry, both in advance and afterwards. New certificate files take effect
 * without a restart, and no open connection is closed.
 */
final class CertificateEnds implements ProductionReport.Drill {

  private static final int LIFE_SECONDS = Integer.getInteger("production.certificate", 90);
  private static final int PAUSE_MILLIS = 20;
  private static final int PATIENCE_SECONDS = 20;
  private static final long BURST = 100_000;
  private static final Pattern EXPIRED = Pattern.compile("certificate has expired");
  // Once the client trusts only the new certificate, it can also report the old one as unknown.
  private static final Pattern EXPIRED_OR_UNKNOWN = Pattern.compile(EXPIRED + "|self-signed");
  private static final List<Door> DOORS = List.of(Door.HTTP, Door.HTTP2, Door.GRPC, Door.RESP);

  private volatile boolean over;
  private volatile String failure = "";
  private final AtomicInteger answers = new AtomicInteger();

  @Override
  public String text() {
    return "a certificate that expires under load and is replaced";
  }

  @Override
  public String seen() throws Exception {
    if (!Programs.works("openssl", "version")) {
      throw new NotTried("install openssl");
    }
    try (Folder folder = Folder.make()) {
      TlsIdentity next = TlsIdentity.make(folder);
      TlsIdentity first = TlsIdentity.endingIn(LIFE_SECONDS, folder);
      first.install(folder);
      try (Server server =
          Server.Launch.SMALL
              .withTls(folder, Trust.in(first, next))
              .start("--limits", folder.limits(BURST, 1, "24h"))) {
        return seen(server, folder, first, next);
      }
    }
  }

  private String seen(Server server, Folder folder, TlsIdentity first, TlsIdentity next)
      throws Exception {
    List<Thread> load = new ArrayList<>();
    for (Door door : DOORS) {
      Client client = door.open(server);
      Thread thread = new Thread(() -> ask(door, client), "load");
      load.add(thread);
      thread.start();
    }
    BrokenPromise.unless(
        connects(server, folder, EXPIRED),
        "a client could not connect before the certificate expired");
    BrokenPromise.unless(
        server.logged("this certificate ends in") > 0,
        "the log has no warning before the certificate expires");
    requireEnd(server, first);
    long end = first.end().toEpochMilli();
    TimeUnit.MILLISECONDS.sleep(Math.max(0, end + 1_500 - System.currentTimeMillis()));

    int answersAtTheEnd = answers.get();
    BrokenPromise.unless(
        !connects(server, folder, EXPIRED), "a client connected after the certificate had expired");
    BrokenPromise.unlessStatus(
        200, server.ask("POST", "/v1/admin/reload", ""), "a reload after the expiry");
    BrokenPromise.unless(
        server.logged("this certificate ended at") > 0,
        "the log has no warning after the certificate expired");
    requireEnd(server, first);
    int answersAfterTheEnd = answers.get() - answersAtTheEnd;

    next.install(folder);
    long start = System.nanoTime();
    while (!connects(server, folder, EXPIRED_OR_UNKNOWN)) {
      BrokenPromise.unless(
          System.nanoTime() - start < TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS),
          "the server does not use the new certificate");
    }
    requireEnd(server, next);
    long takenMillis = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start);
    over = true;
    for (Thread thread : load) {
      thread.join();
    }
    BrokenPromise.unless(failure.isEmpty(), "an open connection failed: %s", failure);
    BrokenPromise.unless(
        answersAfterTheEnd > 0, "no responses arrived after the certificate expired");
    return Report.text(
        "%,d responses on %s connections that stayed open, %,d of them between the expiry and the "
            + "new files; a new client reported \"certificate has expired\"; the log warned before and after; "
            + "new files took effect within %,d ms",
        answers.get(), DOORS.size(), answersAfterTheEnd, takenMillis);
  }

  private void ask(Door door, Client client) {
    try (client) {
      while (!over) {
        Answers all = client.ask("k", 1);
        if (all.allowed() != 1 || all.goodbye()) {
          throw new IOException("unexpected responses: " + all);
        }
        answers.incrementAndGet();
        TimeUnit.MILLISECONDS.sleep(PAUSE_MILLIS);
      }
    } catch (Throwable e) { // also a response that cannot be parsed
      failure = door + ": " + e;
    }
  }

  /**
   * Returns whether a client that trusts the certificate in the file can connect. Throws if the
   * client fails with another error than the expected one.
   */
  private static boolean connects(Server server, Folder folder, Pattern error) throws Exception {
    Process client =
        new ProcessBuilder(
                "openssl",
                "s_client",
                "-connect",
                "127.0.0.1:" + server.httpPort(),
                "-CAfile",
                folder.file("tls.crt"),
                "-verify_return_error",
                "-brief")
            .redirectErrorStream(true)
            .start();
    client.getOutputStream().close();
    String said = new String(client.getInputStream().readAllBytes(), StandardCharsets.US_ASCII);
    boolean connected = client.waitFor() == 0;
    BrokenPromise.unless(
        connected || error.matcher(said).find(), "unexpected output of a client: %s", said);
    return connected;
  }

  private static void requireEnd(Server server, TlsIdentity certificate) throws Exception {
    double told = server.metric("sluice_tls_certificate_end_timestamp_seconds");
    double end = certificate.end().getEpochSecond();
    BrokenPromise.unless(
        told == end, "the metric reports the expiry %s, the certificate has %s", told, end);
  }
}

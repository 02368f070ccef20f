// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.internal.async.Stages;
import dev.sluice.internal.text.SafeText;
import dev.sluice.remote.ChargeOutcome;
import dev.sluice.remote.Fault;
import dev.sluice.remote.RemoteCall.NotSentException;
import dev.sluice.store.StoreException;
import io.lettuce.core.RedisCommandExecutionException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeoutException;
import java.util.regex.Pattern;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/**
 * The cause of a failed call, and what it means for the charges. Immutable.
 *
 * @param cause the exception of Lettuce, the Redis client
 * @param code the first word of the server's error message; empty if the server sent no error
 */
record ServerFault(Throwable cause, String code) implements Fault {

  /** TLS 1.2 servers send handshake_failure if the client has no certificate. */
  private static final Pattern ALERT_ABOUT_A_CERTIFICATE =
      Pattern.compile("certificate|unknown_ca|decrypt_error|access_denied|handshake_failure");

  /** Lettuce's message if the server closes a new connection before Lettuce examines it. */
  private static final String GONE_AT_ONCE = "RedisHandshakeHandler not registered";

  static ServerFault of(@Nullable Throwable failure) {
    Throwable cause = failure == null ? new IllegalStateException("no answer") : failure;
    RedisCommandExecutionException words = among(cause, RedisCommandExecutionException.class);
    return new ServerFault(
        cause, words == null ? "" : String.valueOf(words.getMessage()).split(" ", 2)[0]);
  }

  /**
   * Returns a stage that fails with a {@link StoreException} that names the server. Use this method
   * only for stages that charge no tokens.
   */
  static <T> CompletableFuture<T> named(String server, CompletionStage<T> stage) {
    return stage
        .handle(
            (value, failure) -> {
              if (failure == null) {
                return CompletableFuture.completedFuture(value);
              }
              ServerFault fault = ServerFault.of(Stages.cause(failure));
              String message =
                  fault.cause() instanceof TimeoutException
                      ? "timed out on " + server
                      : server + ": " + fault.words();
              StoreException exception = new StoreException(message, fault.cause());
              return CompletableFuture.<T>failedFuture(exception);
            })
        .thenCompose(result -> result)
        .toCompletableFuture();
  }

  private static <T extends Throwable> @Nullable T among(Throwable failure, Class<T> wanted) {
    for (Throwable at = failure; at != null; at = at.getCause()) {
      if (wanted.isInstance(at)) {
        return wanted.cast(at);
      }
    }
    return null;
  }

  /**
   * Whether the server rejected the call, because of one of the call's keys, before the call
   * charged anything.
   */
  @Override
  public boolean wasNotBegun() {
    return code.equals("TRYAGAIN") || (code.equals("NOPERM") && !neverLeft());
  }

  /** Whether the fault is transient: a slot is moving from one master to another master. */
  @Override
  public boolean passes() {
    return code.equals("TRYAGAIN");
  }

  /**
   * Whether the call was not sent, since there was no connection or the server rejected the
   * greeting.
   */
  private boolean neverLeft() {
    return among(cause, NotSentException.class) != null;
  }

  /** Whether the server is unreachable or rejects this client, so that a retry would not help. */
  @Override
  public boolean isOutage() {
    if (neverLeft()) {
      return true; // every reason counts: "max number of clients", "DENIED", an unknown database
    }
    return switch (code) {
      case "", "LOADING", "BUSY", "MASTERDOWN", "CLUSTERDOWN", "NOAUTH", "WRONGPASS" -> true;
      default -> false;
    };
  }

  /** Whether the call failed without an error from the server. */
  boolean isSilence() {
    return code.isEmpty();
  }

  @Override
  public StoreException exception(String server) {
    boolean refused = !code.isEmpty() || neverLeft();
    return ChargeOutcome.by(refused).exception(server + ": " + words(), cause);
  }

  /**
   * Returns a message on one line, with invisible characters escaped. Removes the full stop at the
   * end, the names and numbers of system calls, and the credentials and options of addresses.
   */
  static String oneLine(String message) {
    return SafeText.line(
        message
            .replaceAll("\\w+\\(\\.\\.\\) failed(?: with error\\(-?\\d+\\))?: ", "")
            .replace("Connection refused", "connection refused")
            .replaceAll("(rediss?://)[^@\\s]*@", "$1")
            .replaceAll("(rediss?://[^?\\s\\]]*)[?][^\\s\\],]*", "$1"));
  }

  /**
   * Returns the message of the innermost exception, which says the most, such as "connection
   * refused" or "WRONGPASS …".
   */
  @Override
  public String words() {
    Throwable root = cause;
    while (root.getCause() != null) {
      root = root.getCause();
    }
    String message = root.getMessage();
    String said = message == null ? root.getClass().getSimpleName() : oneLine(message);
    if (said.equals(GONE_AT_ONCE)) {
      return "the server closed the connection directly after the greeting";
    }
    if (among(cause, SSLException.class) == null) {
      return said;
    }
    if (!said.contains("Received fatal alert")) { // this process refused the server
      return "the TLS handshake failed (%s), expected a certificate of a trusted authority (option ca) for this host (option verify)"
          .formatted(said);
    }
    String refused = "the server refused the TLS handshake (%s)".formatted(said);
    return ALERT_ABOUT_A_CERTIFICATE.matcher(said).find()
        ? refused + ", expected a client certificate that the server trusts (options cert and key)"
        : refused;
  }
}

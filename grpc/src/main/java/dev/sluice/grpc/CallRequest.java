// SPDX-License-Identifier: Apache-2.0
package dev.sluice.grpc;

import dev.sluice.web.WebRequest;
import io.grpc.Grpc;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** Lets rules read a gRPC call as an HTTP/2 POST request; as thread-safe as the gRPC call. */
final class CallRequest implements WebRequest {

  private final ServerCall<?, ?> call;
  private final Metadata metadata;

  CallRequest(ServerCall<?, ?> call, Metadata metadata) {
    this.call = call;
    this.metadata = metadata;
  }

  @Override
  public String method() {
    return "POST";
  }

  @Override
  public String path() {
    return "/" + call.getMethodDescriptor().getFullMethodName();
  }

  @Override
  public List<String> headers(String name) {
    String key = name.toLowerCase(Locale.ROOT);
    if (key.equals("host")) {
      String authority = call.getAuthority(); // HTTP/2 replaces the Host header by the authority
      return authority == null ? List.of() : List.of(authority);
    }
    return values(metadata, key);
  }

  static List<String> values(Metadata metadata, String key) {
    if (key.endsWith(Metadata.BINARY_HEADER_SUFFIX)) {
      return List.of();
    }
    Iterable<String> values =
        metadata.getAll(Metadata.Key.of(key, Metadata.ASCII_STRING_MARSHALLER));
    if (values == null) {
      return List.of();
    }
    List<String> list = new ArrayList<>();
    values.forEach(list::add);
    return list;
  }

  @Override
  public List<String> cookies(String name) {
    return List.of();
  }

  @Override
  public @Nullable String query() {
    return null;
  }

  @Override
  public @Nullable String peer() {
    if (call.getAttributes().get(Grpc.TRANSPORT_ATTR_REMOTE_ADDR)
        instanceof InetSocketAddress peer) {
      InetAddress address = peer.getAddress();
      return address == null ? peer.getHostString() : address.getHostAddress();
    }
    return null; // an in-process call, or a Unix socket
  }

  @Override
  public @Nullable String user() {
    return null;
  }

  @Override
  public <T> T unwrap(Class<T> type) {
    if (type.isInstance(call)) {
      return type.cast(call);
    }
    return type.isInstance(metadata) ? type.cast(metadata) : WebRequest.super.unwrap(type);
  }
}

/**
 * Requests that leave keep to a limit, and to what the other side asks for. OkHttp, Spring and
 * Reactor are needed only by the classes for their clients, and have no descriptors of their own.
 */
@SuppressWarnings({"requires-automatic", "requires-transitive-automatic"})
module dev.sluice.outbound {
  requires transitive dev.sluice;
  requires dev.sluice.web;
  requires transitive java.net.http;
  requires static transitive okhttp3;
  requires static transitive spring.web;
  requires static transitive spring.webflux;
  requires static reactor.core;
  requires static spring.core;

  exports dev.sluice.outbound;
}

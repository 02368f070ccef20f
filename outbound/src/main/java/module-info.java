/** Requests that leave keep to a limit, and to what the other side asks for. */
module dev.sluice.outbound {
  requires transitive dev.sluice;
  requires dev.sluice.web;
  requires transitive java.net.http;

  exports dev.sluice.outbound;
}

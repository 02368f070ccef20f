package dev.sluice.servlet;

/** A request that can not be charged as it stands; the detail is for the client. */
final class UnusableRequestException extends RuntimeException {

  private static final long serialVersionUID = 1;

  private final String detail;

  UnusableRequestException(String detail) {
    super(detail, null, false, false);
    this.detail = detail;
  }

  String detail() {
    return detail;
  }
}

// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit.web;

import java.util.List;

/**
 * Different spellings of the same request, which tests send as raw bytes. Some applications treat
 * an unusual spelling like the plain request, so no spelling may bypass a limit.
 */
public final class Spellings {

  private static final List<String> PATHS =
      List.of(
          "/login",
          "/login/",
          "//login",
          "///login",
          "/login//",
          "/./login",
          "/login/.",
          "/x/../login",
          "/x/..//login",
          "/x/./../login",
          "/../login",
          "/../../login",
          "/%2e/login",
          "/%2E/login/",
          "/x/%2e%2e/login",
          "/x/%2E%2e/login",
          "/x/.%2e/login",
          "/x/%2e./login",
          "/x/..;/login",
          "/x/..;a=b/login",
          "/login;",
          "/login;a=b",
          "/login;a=b/",
          "/;a=b/login",
          "/;/login",
          "/logi%6e",
          "/%6cogin",
          "/%6C%6f%67%69%6e",
          "/login?",
          "/login?a=b",
          "/login?/../other",
          "/login?a#b",
          "/%2Flogin",
          "/%2flogin",
          "/login%2F",
          "/login%2f",
          "/%2F%2Flogin",
          "/x%2F../login",
          "/x/..%2Flogin",
          "/x%2F..%2Flogin",
          "/login%2F.",
          "/login%5C",
          "/%5Clogin",
          "/\\login",
          "/login\\",
          "/x\\..\\login",
          "/x%5C..%5Clogin",
          "//x/login",
          "///x/login",
          "//x:80/login",
          "//u@x/login",
          "/\\x/login",
          "//x\\login",
          "/%5Cx/login",
          "/%2Fx/login",
          "/.//x/login",
          "/y/..//x/login",
          "/login#",
          "/login#a",
          "/login#/../b",
          "/login%00",
          "/%0Flogin",
          "/login%0A",
          "/%0Elogin%0F");

  private static final List<String> METHODS =
      List.of(
          "delete /login HTTP/1.1",
          "Delete /login HTTP/1.1",
          "dELETE /login HTTP/1.1",
          "DeLeTe /login/ HTTP/1.1",
          "POST /login HTTP/1.1\r\nX-HTTP-Method-Override: DELETE",
          "POST /login HTTP/1.1\r\nx-http-method-override: delete",
          "post /login HTTP/1.1\r\nX-HTTP-METHOD-OVERRIDE:  Delete ",
          "POST /login HTTP/1.1\r\nX-HTTP-Method-Override: DELETE, PUT",
          "POST /login HTTP/1.1\r\nX-HTTP-Method-Override: PUT, DELETE",
          "POST /login HTTP/1.1\r\nX-HTTP-Method-Override: PUT\r\nX-HTTP-Method-Override: DELETE",
          "POST /login HTTP/1.1\r\nX-HTTP-Method: DELETE",
          "POST /login HTTP/1.1\r\nx-http-method: delete",
          "POST /login HTTP/1.1\r\nX-Method-Override: DELETE",
          "PUT /login HTTP/1.1\r\nX-Method-Override: delete",
          "POST /login?_method=DELETE HTTP/1.1",
          "POST /login?_method=delete HTTP/1.1",
          "POST /login?a=b&_method=DELETE HTTP/1.1",
          "POST /login?%5Fmethod=DELETE HTTP/1.1",
          "POST /login?_method=%44ELETE HTTP/1.1",
          "POST /login?_method=PUT&_method=DELETE HTTP/1.1",
          "POST /login?_method=+DELETE HTTP/1.1",
          "POST /login?_m%65thod=DELETE HTTP/1.1",
          "POST /login HTTP/1.1\r\nX-HTTP-Method-Override: DELETE\u00a0",
          "GET /login?_method=DELETE HTTP/1.1");

  private static final List<String> COOKIES =
      List.of(
          "e1",
          "\"e1\"",
          "%651",
          "e%31",
          "%65%31",
          "\"%651\"",
          "\"%65%31\"",
          "\"\\1451\"",
          "\"\\145\\061\"",
          "\"e\\061\"",
          "\"\\e1\"",
          "  e1  ",
          "\te1\t",
          "e%31 ",
          "e1;",
          "e1,2",
          "e1 ;other=1",
          "\"e1\";",
          "e1; other=%65",
          "e1; other=\"",
          "e1; $Path=/",
          "e1; S=e2",
          "e1; s=e2",
          "e2; S=%651",
          "e2; @s=e1",
          "e2; x s=e1",
          "e2; y=a s=e1");

  private static final List<String> CREDENTIALS =
      List.of(
          "Bearer t1",
          "bearer t1",
          "BEARER t1",
          "bEARER  t1",
          "Bearer	t1",
          "Bearer  	 t1 ",
          "  bearer t1");

  private static final List<String> ADDRESSES =
      List.of(
          "2001:db8:7:7::1",
          "2001:db8:7:7::2",
          "2001:0DB8:0007:0007::1",
          "2001:db8:7:7:ffff:ffff:ffff:ffff",
          "[2001:db8:7:7::3]",
          "[2001:db8:7:7::3]:4711",
          "2001:db8:7:7:0:0:0:4",
          "2001:db8:7:7::192.0.2.1",
          "198.51.100.1, 2001:db8:7:7::5",
          "unknown, 2001:db8:7:7::6",
          "2001:DB8:7:7::A",
          "2001:db8:7:7:1:2:3:4",
          "2001:db8:007:07::",
          "[2001:db8:7:7::8]:1",
          " 2001:db8:7:7::9\t",
          "unknown,2001:db8:7:7::a",
          ",2001:db8:7:7::b",
          "198.51.100.1,198.51.100.2,2001:db8:7:7::d",
          "2001:db8:7:7::198.51.100.7",
          "2001:db8:8:8::1,2001:db8:7:7::e");

  private Spellings() {}

  /**
   * Returns targets that some applications interpret as {@code /login}.
   *
   * @return at least 60 targets, some of them with a query
   */
  public static List<String> ofPath() {
    return PATHS;
  }

  /**
   * Returns requests that some applications interpret as {@code DELETE /login}.
   *
   * @return at least 20 request lines, some of them followed by header lines
   */
  public static List<String> ofMethod() {
    return METHODS;
  }

  /**
   * Returns values of a cookie that some applications interpret as {@code e1}.
   *
   * @return the values, each without the name of the cookie and the equals sign
   */
  public static List<String> ofCookie() {
    return COOKIES;
  }

  /**
   * Returns values of the header {@code Authorization} that are equivalent to {@code Bearer t1}.
   *
   * @return the values
   */
  public static List<String> ofCredentials() {
    return CREDENTIALS;
  }

  /**
   * Returns values of {@code X-Forwarded-For} that a trusted proxy can send for clients in one IPv6
   * /64 network.
   *
   * @return values whose last address is in {@code 2001:db8:7:7::/64}
   */
  public static List<String> ofAddress() {
    return ADDRESSES;
  }
}
